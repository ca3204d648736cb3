"""The model decides: it looks things up, keeps and removes them by itself; nothing happens unasked.

Run it: python examples/agents/model_decides.py [provider:model]
"""

import asyncio

from pydantic_ai.messages import ToolCallPart, ToolReturnPart
from scripted import Request, model_or

from retentive import Memory
from retentive.agent import Agent, AgentResult
from retentive.ranking.render import parse


def answer(asked: Request) -> str | ToolCallPart:
    said, answered = asked.said, asked.answered
    if "I am allergic" in said and not answered:
        fact = "The user is allergic to peanuts."
        return ToolCallPart("remember", {"content": fact})
    if "dinner" in said and not answered:
        return ToolCallPart("search_memory", {"query": "allergies and tastes in food"})
    if "doctor" in said and not answered:
        return ToolCallPart("search_memory", {"query": "allergic to peanuts"})
    if "doctor" in said and len(answered) == 1:
        return ToolCallPart("forget", {"memory_id": answered[0].split()[-1]})
    if "dinner" in said:
        return "A pad thai without peanuts." if "peanuts" in answered[0] else "A pad thai."
    return "I have removed it." if "doctor" in said else "I will remember that."


class Cook(Agent):
    model = model_or(answer)
    instructions = (
        "You plan meals. Keep what you learn of the user's tastes and allergies, look them up before you "
        "propose a dish, and remove what is no longer true. Answer in one sentence."
    )
    memory_tools = ("remember", "forget")


def show(text: str, result: AgentResult) -> None:
    print(f"user:      {text}")
    for message in result.new_messages():
        for part in message.parts:
            if isinstance(part, ToolCallPart):
                given = [f"{name}={value!r}" for name, value in part.args_as_dict().items()]
                print(f"  calls    {part.tool_name}({', '.join(given)})")
            if isinstance(part, ToolReturnPart):
                print(f"  is told  {parse(part.model_response_str()) or part.content}")
    print(f"assistant: {result.output}")


async def main() -> None:
    memory = Memory()  # RETENTIVE_URL, else ./.retentive
    options = {"mode": "llm"}
    async with memory, Cook(memory=memory, memory_autosave=False, memory_options=options) as cook:
        for text in [
            "I am allergic to peanuts.",
            "What shall I cook for dinner?",
            "The doctor says I am not allergic any more. Forget about the peanuts.",
            "What shall I cook for dinner tomorrow?",
        ]:
            show(text, await cook.run(text, user_id="user-42"))
            kept = [item.content for item in await memory.list(user_id="user-42")]
            print(f"  memory   {kept}")


asyncio.run(main())
