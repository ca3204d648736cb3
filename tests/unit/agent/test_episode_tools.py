"""Episodes, facts and procedures as a model's tools: one scope, the assistant's own words, data back."""

import pytest
from pydantic_ai import Agent
from pydantic_ai.exceptions import ModelRetry
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from retentive import Memory, Origin
from retentive.agent.tools_episodes import NOTHING, EpisodeTools, episode_tools
from retentive.ranking.render import parse

CALLS = [
    ToolCallPart(
        "record_episode", {"task": "Deploy", "outcome": "live", "success": True, "steps": ["build"]}
    ),
    ToolCallPart("remember_fact", {"content": "Ada likes tea.", "subject": "Ada"}),
    ToolCallPart("remember_procedure", {"name": "Deploy", "steps": ["build", "upload"]}),
    ToolCallPart("similar_episodes", {"task": "deploy"}),
    ToolCallPart("facts_about", {"topic": "Ada"}),
    ToolCallPart("procedures_for", {"task": "deploy"}),
]


async def test_a_model_can_use_all_six() -> None:
    answers: list[str] = []
    described: dict[str, str | None] = {}

    def scripted(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        described.update({tool.name: tool.description for tool in info.function_tools})
        answers.extend(str(part.content) for part in messages[-1].parts if isinstance(part, ToolReturnPart))
        left = CALLS[len(answers) :]
        return ModelResponse(parts=[left[0] if left else TextPart("done")])

    async with Memory(store="memory://") as memory:
        agent = Agent(FunctionModel(scripted), tools=episode_tools(memory, "ada"))
        assert (await agent.run("Deploy.")).output == "done"
        items = list(await memory.list(user_id="ada"))
        assert await memory.count() == 0
    assert [item.origin for item in items] == [Origin.ASSISTANT] * 3
    assert all(answer.startswith("Recorded as ") for answer in answers[:3])
    assert parse(answers[3]) == ["Task: Deploy\nOutcome (succeeded): live\nSteps:\n1. build"]
    assert parse(answers[4]) == ["Ada likes tea."]
    assert parse(answers[5]) == ["Deploy\n1. build\n2. upload"]
    assert set(described) == {call.tool_name for call in CALLS}
    assert all(described.values())


async def test_what_is_not_there_is_told() -> None:
    async with Memory(store="memory://") as memory:
        tools = EpisodeTools(memory, lambda: "ada")
        assert await tools.facts_about("Ada") == await tools.similar_episodes("deploy") == NOTHING
        assert await tools.procedures_for("deploy") == NOTHING


async def test_failed_episodes_are_found_only_when_asked_for() -> None:
    async with Memory(store="memory://") as memory:
        tools = EpisodeTools(memory, lambda: None)
        await tools.record_episode("Deploy the site", "down", False, [])
        assert await tools.similar_episodes("deploy the site") == NOTHING
        assert len(parse(await tools.similar_episodes("deploy the site", only_successful=False))) == 1


async def test_a_mistake_is_for_the_model_to_mend() -> None:
    async with Memory(store="memory://") as memory:
        with pytest.raises(ModelRetry, match="step"):
            await EpisodeTools(memory, lambda: "ada").remember_procedure("Deploy", [])


async def test_a_memory_that_fails_does_not_end_the_run() -> None:
    memory = Memory(store="memory://")
    await memory.remember_procedure("Deploy", ["build"], user_id="ada")
    tools = EpisodeTools(memory, lambda: "ada")
    assert "not recorded" in await tools.remember_procedure("Deploy", ["wipe all"])  # the user's own stands
    await memory.close()
    assert "not recorded" in await tools.remember_fact("Ada likes tea.")
    assert "cannot be read" in await tools.facts_about("Ada")


@pytest.mark.parametrize("limit", [-5, 0, 1_000_000])
async def test_any_limit_of_a_model_is_brought_into_bounds(limit: int) -> None:
    async with Memory(store="memory://") as memory:
        tools = EpisodeTools(memory, lambda: None)
        await tools.remember_fact("Ada likes tea.")
        assert len(parse(await tools.facts_about("Ada tea", limit))) == 1
