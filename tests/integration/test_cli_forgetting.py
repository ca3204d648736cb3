"""`retentive forget`, `forget-user` and `clear`: what they print, and what their codes say."""

from pathlib import Path

from cli_runs import Cli


def test_a_user_is_forgotten_with_memories_and_threads_and_that_is_verified(
    here: Cli, tmp_path: Path
) -> None:
    here("remember", "The quixotic code is 4711 for the vault.", "--user", "ada")
    here("append", "t", "The quixotic code is 4711.", "--metadata", '{"user_id": "ada"}')
    here("remember", "The cat sleeps.", "--user", "bob")
    done = here("forget-user", "ada", "--yes", "--verify", "--json")
    assert done.code == 0, done
    data = done.json()
    assert (len(data["forgotten"]), data["threads"]) == (1, ["default/t"])
    assert (data["removed"]["turns"], data["verdict"]["forgotten"]) == (1, True)
    assert any(checked["unit"] == "bytes" for checked in data["verdict"]["checked"])
    assert b"quixotic" not in b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert here("stats", "--json").json()["memories"] == 1
    assert here("forget-user", "ada", "--yes").out == "forgot 0 memories\n"


def test_forget_user_asks_first(cli: Cli, here: Cli) -> None:
    here("remember", "mine", "--user", "ada")
    assert cli("forget-user", "ada", stdin=b"n\n").code == 130
    assert here("stats", "--json").json()["memories"] == 1
    assert here("forget-user", "ada", "--yes", "--threads", "nowhere").code == 2


def test_what_is_still_there_has_a_code_of_its_own(here: Cli, tmp_path: Path) -> None:
    item = here("remember", "The quixotic code is 4711 for the vault.", "--json").json()["item"]
    database = next(tmp_path.rglob("memory.db"))
    database.with_name("memory.db.v1.bak").write_bytes(b"\0" * 999 + item["content"].encode())
    done = here("forget", item["id"], "--verify")
    assert done.code == 10
    assert "still there: file" in done.err
    assert "memory.db.v1.bak" in done.err.replace("\n", "")


def test_the_source_is_redacted_when_asked(here: Cli) -> None:
    here("append", "t", "The quixotic code is 4711.")
    here("remember", "The quixotic code is 4711.")
    done = here("clear", "--yes", "--redact-source", "--verify")
    assert (done.code, "verified: nothing found" in done.out) == (0, True)
