"""`retentive chat`: what it shows, what it keeps, and how it ends."""

import contextlib
import io
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import pytest
from cli_runs import Cli, Ran, environment

from retentive.testing.openai_server import Answer, Gate, OpenAIServer

Chat = Callable[..., Ran]

ADA = ("--user", "ada")
SCRIPTED = ("--model", "scripted", *ADA)
needs_signals = pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C is sent as a signal")


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(otherwise="Noted.") as server:
        yield server


@pytest.fixture
def chat(here: Cli, monkeypatch: pytest.MonkeyPatch) -> Chat:
    """Run `retentive chat` in this process, typing these lines."""

    def run(*args: str, typed: tuple[str, ...] = ()) -> Ran:
        monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in typed)))
        return here("chat", *args)

    return run


def test_without_a_key_a_scripted_model_shows_how_it_goes_and_says_what_it_is(chat: Chat, here: Cli) -> None:
    first = chat(*SCRIPTED, typed=("My boiler is from 1998.", "/quit"))
    assert first.code == 0
    assert "This is no real model" in first.out
    assert "remembered  My boiler is from 1998." in first.out
    second = chat(*SCRIPTED, typed=("How old is my boiler?",))
    assert "This may bear on it: My boiler is from 1998." in second.out
    assert "recalled    My boiler is from 1998.  (" in second.out
    other = chat("--model", "scripted", "--user", "bob", typed=("How old is my boiler?",))
    assert "1998" not in other.out


def test_in_mode_llm_the_model_keeps_and_looks_up_and_the_tools_are_shown(chat: Chat, here: Cli) -> None:
    first = chat(*SCRIPTED, "--mode", "llm", typed=("My boiler is from 1998.",))
    assert first.out.index("[search_memory]") < first.out.index("[remember]")
    assert "remembered  My boiler is from 1998." in first.out
    second = chat(*SCRIPTED, "--mode", "llm", typed=("How old is my boiler?",))
    assert "recalled    My boiler is from 1998." in second.out
    assert "[remember]" not in second.out


def test_in_mode_off_nothing_is_recalled_or_kept(chat: Chat, here: Cli) -> None:
    here("remember", "My boiler is from 1998.", *ADA)
    said = chat(*SCRIPTED, "--mode", "off", typed=("My boiler is old.", "How old is my boiler?"))
    assert "1998" not in said.out
    assert len(here("list", "--json", *ADA).json()["items"]) == 1


def test_the_commands_list_forget_and_help_and_a_wrong_one_is_said(chat: Chat, here: Cli) -> None:
    kept = here("remember", "My boiler is from 1998.", "--json", *ADA).json()["item"]["id"]
    said = chat(
        *SCRIPTED,
        typed=(
            "/help",
            "/memories",
            "/forget",
            f"/forget {kept}",
            f"/forget {kept}",
            "/memories",
            "/fly",
            "",
        ),
    )
    assert said.code == 0
    assert "/forget ID" in said.out
    assert said.out.count("My boiler is from 1998.") == 1
    assert "name what to forget" in said.out
    assert said.out.index("\nforgotten") < said.out.index(f"there is no memory {kept}")
    assert "nothing is remembered" in said.out
    assert "no such command" in said.out
    assert here("list", "--json", *ADA).json()["items"] == []


def test_a_thread_is_gone_on_with(chat: Chat, here: Cli, server: OpenAIServer) -> None:
    options = ("--model", "small", "--base-url", server.base_url, "--thread", "t", "--mode", "off")
    chat(*options, typed=("I am Petra.",))
    last = chat(*options, typed=("Who am I?",))
    assert "4 turns in thread t" in last.out
    assert [message["content"] for message in server.chats[-1].messages][1:] == [
        "I am Petra.",
        "Noted.",
        "Who am I?",
    ]
    assert [turn["role"] for turn in here("show", "t", "--json").json()["turns"]] == ["user", "assistant"] * 2


def test_a_service_behind_a_base_url_answers_and_what_was_recalled_stands_beside(
    chat: Chat, here: Cli, server: OpenAIServer
) -> None:
    here("remember", "The boiler man is called Sven.", *ADA)
    statement = {"content": "The user's boiler leaks.", "turns": [1], "decision": "new"}
    server.chat("Call Sven.", Answer(output={"statements": [statement]}))
    said = chat(
        *("--model", "openai:small", "--base-url", server.base_url, *ADA),
        typed=("My boiler leaks, who is the boiler man?",),
    )
    assert said.code == 0, said
    answer, recalled = (
        said.out.index("Call Sven."),
        said.out.index("recalled    The boiler man is called Sven."),
    )
    assert answer < recalled < said.out.index("remembered  The user's boiler leaks.")
    assert server.chats[0].body["model"] == "small"
    assert server.chats[0].body["stream"] is True


def test_a_service_that_fails_is_said_and_the_chat_goes_on(
    chat: Chat, here: Cli, server: OpenAIServer
) -> None:
    server.chat(Answer(status=401))
    said = chat(
        *("--model", "small", "--base-url", server.base_url, "--thread", "t", "--mode", "off"),
        typed=("Hello.", "Are you there?"),
    )
    assert said.code == 0
    assert "the model failed: Model" in said.out
    assert "Noted." in said.out
    turns = here("show", "t", "--json").json()["turns"]
    assert [turn["content"] for turn in turns] == ["Hello.", "Are you there?", "Noted."]


class Running:
    """A chat that is being typed into."""

    def __init__(self, home: Path, *args: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "retentive.cli", "chat", *args],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(home),
            bufsize=0,
        )

    def type(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line.encode() + b"\n")

    def ctrl_c(self) -> None:
        self.process.send_signal(signal.SIGINT)

    def until(self, text: str) -> str:
        """What it prints up to and with this."""
        assert self.process.stdout is not None
        return read_until(self.process.stdout, text)

    def end(self) -> tuple[int, str]:
        out, err = self.process.communicate(timeout=60)
        assert b"Traceback" not in err, err.decode()
        return self.process.returncode, out.decode()


def read_until(stream: IO[bytes], text: str) -> str:
    seen = b""
    while text.encode() not in seen:
        piece = stream.read(1)
        assert piece, f"it ended before {text!r}: {seen.decode()}"
        seen += piece
    return seen.decode()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Running]]:
    running: list[Running] = []

    def begin(*args: str) -> Running:
        running.append(Running(tmp_path / "home", *args))
        return running[-1]

    yield begin
    for one in running:
        one.process.kill()
        one.process.communicate()


@needs_signals
def test_ctrl_c_stops_the_answer_and_the_thread_keeps_what_had_come(
    cli: Cli, start: Callable[..., Running], server: OpenAIServer
) -> None:
    gate = Gate()
    server.chat(Answer(text="It is on its way to you.", gate=gate, gate_at=4))
    chat = start("--model", "small", "--base-url", server.base_url, "--thread", "t", "--mode", "off")
    chat.type("Where is my parcel?")
    chat.until("It is on")
    assert gate.reached.wait(60)
    chat.ctrl_c()
    chat.until("(stopped; the thread keeps what had come)")
    gate.open()
    chat.type("And now?")
    chat.until("Noted.")
    chat.type("/quit")
    assert chat.end()[0] == 0
    turns = cli("show", "t", "--json").json()["turns"]
    assert [turn["role"] for turn in turns] == ["user", "assistant"] * 2
    assert turns[1]["content"].startswith("It is on")
    assert "to you" not in turns[1]["content"]
    assert turns[1]["metadata"]["state"] == "interrupted"
    assert turns[3]["content"] == "Noted."


class Terminal:
    """A chat in a terminal of its own."""

    def __init__(self, home: Path) -> None:
        self.ours, theirs = pytest.importorskip("pty").openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "retentive.cli", "chat", *SCRIPTED],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=environment(home, TERM="dumb"),
        )
        os.close(theirs)
        self._screen = os.fdopen(os.dup(self.ours), "rb", buffering=0)
        self._watchdog = threading.Timer(60, self.process.kill)
        self._watchdog.start()

    def until(self, text: str) -> str:
        return read_until(self._screen, text)

    def type(self, keys: str) -> None:
        os.write(self.ours, keys.encode())

    def close(self) -> None:
        self._watchdog.cancel()
        self.process.kill()
        self.process.wait()
        self._screen.close()
        os.close(self.ours)


@pytest.fixture
def terminal(tmp_path: Path, interruptible: None) -> Iterator[Terminal]:
    terminal = Terminal(tmp_path / "home")
    yield terminal
    terminal.close()


@needs_signals
def test_in_a_terminal_there_is_a_prompt_and_ctrl_d_leaves(terminal: Terminal) -> None:
    terminal.until("you> ")
    terminal.type("My boiler is from 1998.\n")
    terminal.until("remembered  My boiler is from 1998.")
    terminal.until("you> ")
    terminal.type("\x04")
    terminal.until("2 turns in thread chat-")
    assert terminal.process.wait(60) == 0


@needs_signals
def test_ctrl_c_at_the_prompt_leaves(terminal: Terminal) -> None:
    terminal.until("you> ")
    code = None
    while code is None:  # a signal between the prompt and the read is not seen before the next one
        terminal.process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = terminal.process.wait(5)
    assert code in {0, 130}


@pytest.mark.parametrize(
    ("args", "why"),
    [
        ((), "name a model"),
        (("--model", "nobody:knows"), "cannot be used"),
        (("--model", "scripted", "--mode", "on"), "mode must be one of"),
        (("--model", "scripted", "--thread", "a/b\n"), "thread id"),
    ],
)
def test_what_cannot_be_used_is_said_before_anything_is_asked(
    chat: Chat, args: tuple[str, ...], why: str
) -> None:
    done = chat(*args)
    assert done.code == 2
    assert why in done.err


def test_the_model_may_be_named_by_the_environment(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RETENTIVE_MODEL", "scripted")
    done = chat(typed=("Hello there, boiler.",))
    assert done.code == 0
    assert "This is no real model" in done.out


def test_a_thread_of_another_user_is_refused(chat: Chat) -> None:
    chat(*SCRIPTED, "--thread", "t", typed=("I am Ada.",))
    done = chat("--model", "scripted", "--user", "bob", "--thread", "t", typed=("Who am I?",))
    assert done.code == 4
    assert "Ada" not in done.out


def test_what_a_terminal_would_obey_is_shown_instead(chat: Chat, server: OpenAIServer) -> None:
    server.chat("\x1b[2J bells \x07")
    done = chat("--model", "small", "--base-url", server.base_url, "--mode", "off", typed=("Hello.",))
    assert "\x1b[2J" not in done.out
    assert "\\x1b[2J bells \\x07" in done.out
