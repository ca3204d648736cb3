"""`retentive extract`, as a person or cron runs it."""

import asyncio
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from extraction_rig import Scripted, model_that_says, said

from retentive import Memory
from retentive.cli import extract
from retentive.cli.app import main
from retentive.extraction import Extraction, ExtractionLimits, LLMExtractor
from retentive.stores.jsonl_threads import JsonlThreadStore
from retentive.threads import open_thread

Run = Callable[..., Any]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RETENTIVE_HOME", str(tmp_path))
    monkeypatch.delenv("RETENTIVE_URL", raising=False)
    return tmp_path


@pytest.fixture
def run(home: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*args: str, code: int = 0) -> Any:
        assert main(["extract", *args, "--json"]) == code
        read = capsys.readouterr()
        return json.loads((read.out or read.err).splitlines()[-1])

    return call


def prepare(home: Path, *users: str | None, namespace: str = "default", turns: int = 1) -> None:
    async def go() -> None:
        threads = JsonlThreadStore(home / "threads")
        async with Memory(namespace, store=f"sqlite:///{(home / 'memory.db').as_posix()}") as memory:
            for user in users:
                name = f"of-{user}"
                await Extraction(memory, threads=threads).begin_thread(namespace, name, user_id=user)
                thread = await open_thread(name, namespace, home=home)
                await thread.append_many(f"The code of {user} is {number + 417}." for number in range(turns))

    asyncio.run(go())


def kill_a_window(home: Path) -> None:
    async def go() -> None:
        threads = JsonlThreadStore(home / "threads")
        async with Memory(store=f"sqlite:///{(home / 'memory.db').as_posix()}") as memory:
            limits = ExtractionLimits(attempts=1)
            extraction = Extraction(memory, Scripted(ValueError("bad")), threads=threads, limits=limits)
            (backlog,) = await extraction.backlogs()
            assert (await extraction.extract(backlog)).dead

    asyncio.run(go())


def test_all_backlogs_of_a_namespace_are_finished(home: Path, run: Run) -> None:
    prepare(home, "ada", "bob", None, turns=3)
    prepare(home, "eve", namespace="other")
    done = run("--verbatim")
    assert (done["turns"], len(done["memories"]), done["failures"]) == (9, 9, [])
    assert {item["user_id"] for item in done["memories"]} == {"ada", "bob", None}
    assert run("--verbatim")["turns"] == 0
    assert run("--verbatim", "--namespace", "other")["turns"] == 1


def test_one_user_or_one_thread_can_be_picked(home: Path, run: Run) -> None:
    prepare(home, "ada", "bob", "cat")
    assert {item["user_id"] for item in run("--verbatim", "--user", "bob")["memories"]} == {"bob"}
    assert {item["user_id"] for item in run("--verbatim", "--thread", "of-ada")["memories"]} == {"ada"}
    assert {item["user_id"] for item in run("--verbatim")["memories"]} == {"cat"}


def test_a_thread_without_any_run_is_begun_when_it_is_named(home: Path, run: Run) -> None:
    assert main(["append", "notes", "I only eat plants."]) == 0
    assert run("--verbatim")["turns"] == 0
    (item,) = run("--verbatim", "--thread", "notes", "--user", "ada")["memories"]
    assert (item["content"], item["user_id"]) == ("I only eat plants.", "ada")
    assert run("--verbatim", "--thread", "notes")["turns"] == 0
    assert run("--verbatim", "--thread", "nothing", code=3)["error"]["type"] == "NotFound"


def test_a_model_is_asked_by_its_name(home: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare(home, "ada")
    model = model_that_says([said("Ada's code is 417.", 1)])

    def named(name: str) -> LLMExtractor:
        return LLMExtractor({"my:model": model}[name])

    monkeypatch.setattr(extract, "LLMExtractor", named)
    assert [item["content"] for item in run("--model", "my:model")["memories"]] == ["Ada's code is 417."]


@pytest.mark.parametrize("args", [(), ("--verbatim", "--model", "a:b"), ("--retry",)])
def test_what_to_ask_has_to_be_said(home: Path, run: Run, args: tuple[str, ...]) -> None:
    assert "--verbatim" in run(*args, code=2)["error"]["message"]


def test_a_failure_has_its_exit_code_and_too_many_in_a_row_end_it(
    home: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare(home, *(f"user-{number}" for number in range(7)))
    monkeypatch.setattr(extract, "VerbatimExtractor", lambda: Scripted(*[ValueError("bad")] * 7))
    done = run("--verbatim", code=8)
    assert (len(done["failures"]), done["not_tried"]) == (5, 2)
    assert "bad" in done["failures"][0]["error"]


def test_dead_letters_are_listed_and_tried_again(
    home: Path, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    prepare(home, "ada", turns=2)
    kill_a_window(home)
    (letter,) = run("--dead-letters")["dead_letters"]
    assert (letter["user_id"], letter["thread"], letter["first"], letter["last"]) == ("ada", "of-ada", 1, 2)
    assert datetime.fromisoformat(letter["at"]).tzinfo == UTC
    assert run("--dead-letters", "--user", "bob")["dead_letters"] == []
    assert main(["extract", "--dead-letters"]) == 0
    shown = capsys.readouterr()
    assert "thread of-ada" in shown.out
    assert "1-2" in shown.out
    assert "--retry" in shown.err
    assert run("--verbatim")["turns"] == 0
    assert run("--verbatim", "--retry")["turns"] == 2
    assert run("--dead-letters")["dead_letters"] == []


def test_a_person_sees_what_was_drawn(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    prepare(home, "ada")
    assert main(["extract", "--verbatim"]) == 0
    shown = capsys.readouterr().out
    assert "The code of ada is 417." in shown
    assert "turns extracted 1: 1 new, 0 known, 0 superseded" in shown
    assert main(["extract", "--verbatim"]) == 0
    assert "nothing waits" in capsys.readouterr().out
    assert main(["extract", "--dead-letters"]) == 0
    assert "nothing was given up" in capsys.readouterr().out
