"""A coding helper that learns from how its tasks went: it looks before it acts, and records the outcome.

Run it: python examples/agents/coding_helper.py [provider:model]
"""

import asyncio

from pydantic_ai.messages import ToolCallPart
from scripted import Request, model_or

from retentive import Memory
from retentive.agent import Agent, working_memory

FIX = "pin the clock in the test"


def answer(asked: Request) -> str | ToolCallPart:
    task, done = asked.said, list(asked.answered)
    if not done:
        return ToolCallPart("similar_episodes", {"task": task, "only_successful": False})
    way = FIX if "retry" in done[0] else "retry the test"  # retrying failed before
    if len(done) == 1:
        return ToolCallPart("run_tests", {"change": way})
    passed = "passed" in done[1]
    if len(done) == 2:
        outcome = f"{way}: {done[1]}"
        episode = {"task": task, "outcome": outcome, "success": passed, "steps": [way]}
        return ToolCallPart("record_episode", episode)
    return f"I tried to {way}. " + ("The tests pass." if passed else "The test still fails.")


async def run_tests(change: str) -> str:
    """Apply a change in words to the code, and run its tests.

    Args:
        change: What to change.
    """
    await working_memory().remember(f"Tried: {change}")  # for this run alone
    return "passed" if "clock" in change else "failed: it depends on the time of day"


class CodingHelper(Agent):
    model = model_or(answer)
    instructions = (
        "You mend tests. First look up similar episodes, also failed ones, and do not repeat what failed. "
        "Make one change with run_tests. Record the episode with its outcome. Answer in one sentence."
    )
    tools = (run_tests,)
    memory_tools = ("episodes",)
    memory_autosave = False
    memory_options = {"kinds": ["semantic"]}  # episodes are the model's to look up


async def main() -> None:
    memory = Memory()  # RETENTIVE_URL, else ./.retentive
    async with memory, CodingHelper(memory=memory) as helper:
        for task in ["Mend the flaky test of the scheduler.", "Mend the flaky test of the calendar."]:
            print(f"task: {task}")
            result = await helper.run(task, user_id="team")
            for hit in result.recalled:
                print(f"  {'worked' if hit.item.success else 'failed'} before: {hit.content.splitlines()[1]}")
            print(f"  {result.output}")

        print("what was learnt:")
        for item in list(await memory.list(user_id="team"))[::-1]:
            print(f"  {item.content.splitlines()[1]}")
        print(f"notes left over from the runs: {await memory.count(user_id='team', kinds='working')}")


asyncio.run(main())
