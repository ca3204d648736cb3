"""The examples of agents run as people run them, and show what they are there to show."""

from pathlib import Path

import pytest
from transcripts import EXAMPLES, NAMES, PAGE, rewritten, shown, transcript

from retentive.testing.openai_server import Answer, Asked, OpenAIServer


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return {name: transcript(name, tmp_path_factory.mktemp(name)) for name in NAMES}


def after(text: str, mark: str) -> str:
    """What comes after the mark, which is there."""
    before, found, rest = text.partition(mark)
    assert found, before
    return rest


def test_the_page_shows_what_the_examples_print(printed: dict[str, str]) -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert set(shown(page)) == set(NAMES)
    assert rewritten(page, printed) == page, "run: python tests/examples/transcripts.py"


def test_every_example_is_run_and_short() -> None:
    files = {path.stem: path for path in EXAMPLES.glob("*.py")}
    assert set(files) == {*NAMES, "scripted"}
    for path in files.values():
        assert len(path.read_text(encoding="utf-8").splitlines()) <= 80, path


def test_the_second_process_knows_what_the_first_was_told(printed: dict[str, str]) -> None:
    first, second = printed["support_agent"].split("--- process 2\n")
    assert "remembered: The user only speaks Japanese." in first
    assert "recalled" not in first
    assert "recalled:   The user only speaks Japanese." in second
    assert "ご注文" in after(second, "assistant:")


def test_the_model_keeps_looks_up_and_removes_by_itself(printed: dict[str, str]) -> None:
    told = printed["model_decides"]
    dinner = after(told, "What shall I cook for dinner?")
    assert "without peanuts" in dinner.partition("The doctor")[0]
    last = after(told, "dinner tomorrow?")
    assert "without peanuts" not in last
    assert last.rstrip().endswith("[]")


def test_a_stopped_answer_is_kept_as_far_as_it_had_come(printed: dict[str, str]) -> None:
    kept = after(printed["streaming"], "What the thread keeps:")
    assert "2 assistant [interrupted]: For an omelette, beat three eggs with a\n" in kept
    assert "4 assistant: Beat the eggs" in kept


def test_the_second_task_does_not_repeat_what_failed_in_the_first(printed: dict[str, str]) -> None:
    first, second = printed["coding_helper"].split("task: Mend the flaky test of the calendar.")
    assert "still fails" in first
    assert "failed before" in second
    assert "The tests pass" in second
    assert "notes left over from the runs: 0" in second


def test_each_user_has_their_own_and_a_forgotten_one_has_nothing(printed: dict[str, str]) -> None:
    told = printed["service"]
    assert "aisle" in after(told, "ada: ").partition("bob: ")[0]
    assert "window" in after(told, "bob: ").partition("eve: ")[0]
    assert "no wish" in after(told, "eve: ")
    assert "refused" in told
    assert "{'ada': 1, 'bob': 0, 'eve': 0}" in told


def test_a_second_run_on_the_same_store_still_knows(tmp_path: Path) -> None:
    transcript("support_agent", tmp_path)
    again = transcript("support_agent", tmp_path)
    assert "recalled:   The user only speaks Japanese." in again.partition("--- process 2")[0]


def answered(asked: Asked) -> Answer:
    """What a model answers that has nothing to say."""
    names = [tool["function"]["name"] for tool in asked.body.get("tools", [])]
    wants_output = any(name in {"final_result", "keep"} for name in names)
    nothing: list[str] = []
    return Answer(output={"statements": nothing}) if wants_output else Answer(text="Well then.")


@pytest.mark.parametrize("name", NAMES)
def test_an_example_runs_unchanged_with_a_model_over_http(name: str, tmp_path: Path) -> None:
    with OpenAIServer() as server:
        server.script_chat(answered)
        printed = transcript(
            name,
            tmp_path,
            RETENTIVE_MODEL="openai-chat:small",
            OPENAI_BASE_URL=server.base_url,
            OPENAI_API_KEY="x",
        )
        assert {chat.body["model"] for chat in server.chats} == {"small"}
    assert "Well then." in printed or name == "service"
