"""Bulk input, turns, and how the command ends when it is cut short."""

import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from cli_runs import Cli, environment

from retentive import Memory, MemoryItem, NewMemory, StoreUnavailable


def test_lines_from_stdin_are_each_kept_or_named(cli: Cli, here: Cli) -> None:
    first: dict[str, object] = {
        "content": "Ana owes 40 euros.",
        "kind": "episodic",
        "tags": ["money"],
        "key": "a",
    }
    first |= {
        "occurred_at": "2026-03-01T09:00:00Z",
        "source": {"thread": "t", "turns": [2], "speaker": "Ana"},
    }
    lines = [
        json.dumps(first),
        "",
        "not json",
        '{"content": "Ben has a cat.", "ttl": "7d", "importance": 1, "metadata": {"n": 9007199254740993}}',
        '{"content": "ben has a cat"}',
        '{"content": "x", "importance": NaN}',
        '{"content": "x", "occurred_at": "2026-03-01T09:00:00"}',
        '{"content": "x", "colour": "red"}',
        '{"content": "x", "source": {"thread": "../evil"}}',
        '{"content": 5}',
        "[" * 5_000,
        '{"content": "Cleo speaks Thai. แมว"}',
    ]
    told = cli("remember", "-", "--jsonl", "--tag", "import", "--json", stdin="\n".join(lines).encode())
    assert told.code == 2
    assert told.err == ""
    made = told.json()
    assert (made["stored"], made["restated"], len(made["ids"])) == (3, 1, 4)
    assert made["ids"][1] == made["ids"][2]
    assert [line["line"] for line in made["refused"]] == [3, 6, 7, 8, 9, 10, 11]
    items = {item["content"]: item for item in here("list", "--json").json()["items"]}
    assert set(items) == {"Ana owes 40 euros.", "Ben has a cat.", "Cleo speaks Thai. แมว"}
    assert items["Ana owes 40 euros."]["source"] == {"thread": "t", "speaker": "Ana", "turns": [2]}
    assert items["Ana owes 40 euros."]["tags"] == ["money"]
    assert items["Ben has a cat."]["tags"] == ["import"]
    assert items["Ben has a cat."]["metadata"] == {"n": 9007199254740993}


def test_plain_lines_from_stdin_take_the_options_given(cli: Cli, here: Cli) -> None:
    facts = "".join(f"Locker {n} belongs to guest {n * 7}.\n" for n in range(1, 601))
    told = cli("remember", "-", "--kind", "procedural", stdin=facts.encode())
    assert (told.code, told.out, told.err) == (0, "stored 600\n", "")
    again = cli("remember", "-", "--kind", "procedural", stdin=facts.encode() + b"\xff\n")
    assert again.code == 2
    assert again.out == "stored 0, restated 600, not taken 1\n"
    assert "line 601 was not taken: not UTF-8" in again.err
    assert here("stats", "--json").json()["scopes"][0]["memories"] == {"procedural": 600}


def test_bulk_options_that_cannot_hold_for_all_lines_are_refused_before_reading(cli: Cli, here: Cli) -> None:
    assert "--key names one memory" in cli("remember", "-", "--key", "k", stdin=b"a\n").err
    refused = cli("remember", "-", "--kind", "opinion", stdin=b"a\n")
    assert (refused.code, refused.out) == (2, "")
    assert refused.err.startswith("error: kind must be one of")
    assert here("list", "--json").json()["items"] == []


def test_turns_are_appended_shown_and_listed(cli: Cli, here: Cli) -> None:
    turn = cli("append", "t", "Hallo?", "--metadata", '{"speaker": "Mara"}', "--json").json()["turn"]
    assert (turn["seq"], turn["role"], turn["metadata"]) == (1, "user", {"speaker": "Mara"})
    many = cli("append", "t", "-", "--role", "assistant", stdin=b"one\n\ntwo\n", LC_ALL="C")
    assert (many.code, many.out) == (0, "appended 2\n")
    lines = b'{"content": "done", "role": "tool", "metadata": {"n": 1}}\n{"content": ""}\n{"role": "user"}\n'
    mixed = cli("append", "t", "-", "--jsonl", "--json", stdin=lines)
    assert mixed.code == 2
    assert (mixed.json()["appended"], [line["line"] for line in mixed.json()["refused"]]) == (1, [2, 3])
    shown = here("show", "t", "--json").json()
    assert [(t["seq"], t["role"], t["content"]) for t in shown["turns"]] == [
        (1, "user", "Hallo?"),
        (2, "assistant", "one"),
        (3, "assistant", "two"),
        (4, "tool", "done"),
    ]
    assert "Mara" in here("show", "t").out
    assert here("threads", "--json").json()["threads"][0]["turns"] == 4
    assert here("show", "nobody").code == 3


def test_a_reader_that_goes_away_ends_it_quietly(cli: Cli, tmp_path: Path) -> None:
    lines = "".join(f"Locker {n} belongs to guest {n * 7}.\n" for n in range(1, 900))
    cli("remember", "-", stdin=lines.encode())
    with subprocess.Popen(
        [sys.executable, "-m", "retentive.cli", "list", "--limit", "1000"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(tmp_path / "home"),
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 141


def test_an_error_in_the_middle_says_what_was_kept(here: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    remember_many = Memory.remember_many
    batches: list[int] = []

    async def failing(self: Memory, memories: list[NewMemory], **more: str | None) -> list[MemoryItem]:
        batches.append(len(memories))
        if len(batches) == 2:
            raise StoreUnavailable("the disk is full")
        return await remember_many(self, memories, **more)

    monkeypatch.setattr(Memory, "remember_many", failing)
    lines = "".join(f"Locker {n} belongs to guest {n * 7}.\n" for n in range(600))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(lines.encode())))
    told = here("remember", "-")
    assert (told.code, batches) == (5, [500, 100])
    assert told.err.splitlines() == [
        "error: the disk is full",
        "500 lines were kept before it; go on from line 501",
    ]
    assert here("stats", "--json").json()["memories"] == 500


class _Interrupted(io.BytesIO):
    """A stdin that Ctrl-C hits while it is being read."""

    was_read_on = False

    def readline(self, size: int | None = -1, /) -> bytes:
        """Send the signal; with the handler in place this does not return."""
        signal.raise_signal(signal.SIGINT)
        self.was_read_on = True
        return b""


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_does_not_wait_for_stdin(here: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    stdin = _Interrupted()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(stdin))
    assert here("remember", "-").code == 130
    assert not stdin.was_read_on
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.usefixtures("interruptible")
@pytest.mark.skipif(os.name == "nt", reason="no SIGINT to another process on Windows")
def test_ctrl_c_ends_it_quietly(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "retentive.cli", "append", "t", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(tmp_path / "home"),
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(b"one\n" * 600)
        process.stdin.flush()
        log = tmp_path / "home" / "threads" / "default" / "t.jsonl"
        while not log.exists() and process.poll() is None:
            os.sched_yield()
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        assert process.stderr.read() == b""
