"""A support agent over two processes: what the first one was told, the second one knows.

Run it: python examples/agents/support_agent.py [provider:model]
"""

import asyncio
import subprocess
import sys

from scripted import Request, model_or

from retentive.agent import Agent


def answer(asked: Request) -> str:
    if "Japanese" in " ".join(asked.recalled):
        return "ご注文 7714 は発送済みです。(Your order 7714 has been shipped.)"
    if "Japanese" in asked.said:
        return "かしこまりました。(Understood, I will answer in Japanese.)"
    return "Your order 7714 has been shipped."


def keep(said: str) -> str | None:
    return "The user only speaks Japanese." if "Japanese" in said else None


class SupportAgent(Agent):
    name = "support_agent"
    model = model_or(answer, keep)
    instructions = "You are the support agent of a shop. Order 7714 has been shipped. One sentence."
    memory = "auto"  # recalls before each run and extracts after it, in RETENTIVE_URL or ./.retentive


async def say(text: str) -> None:
    """One process: it answers one message, and ends."""
    async with SupportAgent() as support:
        result = await support.run(text, user_id="user-42")
    print(f"user:       {text}")
    for hit in result.recalled:
        print(f"  recalled:   {hit.content}")
    print(f"assistant:  {result.output}")
    for item in result.remembered:
        print(f"  remembered: {item.content}")


def main() -> None:
    model = sys.argv[1] if len(sys.argv) > 1 else ""
    for number, text in enumerate(["I only speak Japanese.", "What is my order status?"], start=1):
        print(f"--- process {number}", flush=True)
        subprocess.run([sys.executable, __file__, model, text], check=True)


if __name__ == "__main__":
    if len(sys.argv) > 2:
        asyncio.run(say(sys.argv[2]))
    else:
        main()
