"""One agent for many users at once: each has a memory and a thread of their own, and nothing crosses.

Run it: python examples/agents/service.py [provider:model]
"""

import asyncio

from scripted import Request, model_or

from retentive import Memory
from retentive.agent import Agent
from retentive.clock import new_id
from retentive.errors import Conflict


def answer(asked: Request) -> str:
    if "seat" not in asked.said:
        return "Noted."
    wish = next((text for text in asked.recalled if "seat" in text), None)
    return f"As you wish: {wish}" if wish else "I know of no wish of yours."


def keep(said: str) -> str | None:
    return said.replace("I always take", "The user takes") if "I always take" in said else None


WISHES = {
    "ada": "I always take an aisle seat at the front.",
    "bob": "I always take a window seat near the wing.",
    "eve": "Hello there, I am new here.",
}


async def main() -> None:
    memory = Memory("travel")  # RETENTIVE_URL, else ./.retentive
    desk = Agent(
        name="desk",
        model=model_or(answer, keep),
        instructions="You book flights. Use what you know of the user. Answer in one sentence.",
        memory=memory,
        memory_autosave=False,
        extractor="model",
    )
    async with memory, desk:
        day = new_id()  # a new thread for each conversation

        async def request(user: str, text: str) -> str:
            """What a web handler does: the user it has checked, their thread, one run."""
            return (await desk.run(text, user_id=user, thread=f"{user}-{day}")).output

        await asyncio.gather(*(request(user, wish) for user, wish in WISHES.items()))
        question = "Which seat do you book for me?"
        day = new_id()
        answers = await asyncio.gather(*(request(user, question) for user in WISHES))
        for user, told in zip(WISHES, answers, strict=True):
            print(f"{user}: {question}\n  desk: {told}")

        try:
            await desk.run("What did ada say?", user_id="eve", thread=f"ada-{day}")
        except Conflict:
            print("eve in ada's thread: refused, and nothing of it was sent")

        await memory.clear(user_id="bob")
        counts = {user: await memory.count(user_id=user) for user in WISHES}
        print(f"bob asks to be forgotten; memories left: {counts}")


asyncio.run(main())
