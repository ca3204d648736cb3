"""`retentive prune`, `consolidate`, `unmerge` and `audit`."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cli_runs import Cli

from retentive import AuditLog, Memory
from retentive.testing.clocks import FakeClock

LONG_AGO = datetime.now(UTC) - timedelta(days=100)


@pytest.fixture
def filled(tmp_path: Path) -> None:
    async def remember() -> None:
        store = f"sqlite:///{tmp_path / 'home' / 'memory.db'}"
        log = AuditLog(tmp_path / "home" / "audit.jsonl", actor="api")
        async with Memory(store=store, clock=FakeClock(LONG_AGO), audit=log) as memory:
            await memory.remember("Trivia.", importance=0.1)
            await memory.remember("Rent is 900.", importance=0.9)
            await memory.remember("Ana likes tea.", user_id="ana", kind="episodic")
            await memory.remember("Tea is at five.", user_id="ana", origin="tool")
            await memory.remember("Tea is at five.", user_id="ana")

    asyncio.run(remember())


@pytest.mark.usefixtures("filled")
def test_prune_says_what_it_would_do_and_does_it_when_told(here: Cli) -> None:
    said = here("prune", "--older-than", "90d", "--json").json()
    assert (said["dry_run"], said["total"], said["removed"], said["scopes"]) == (True, 5, {"age": 5}, 2)
    assert "--apply" in said["hint"]
    ran = here("prune", "--min-importance", ".2", "--apply")
    assert (ran.code, ran.out.strip()) == (0, "removed 1 of 5 memories: importance 1")
    assert here("prune", "--older-than", "90d", "--shared", "--json").json()["total"] == 1
    assert here("prune", "--keep", "0", "--user", "ana", "--kind", "episodic", "--json").json()["total"] == 1
    assert here("prune", "--older-than", "90d", "--min-age", "101d", "--json").json()["total"] == 0
    assert here("prune", "--min-importance", ".6", "--half-life", "30d", "--json").json()["total"] == 4
    assert here("prune", "--idle", "99d", "--apply", "--json").json()["total"] == 4
    assert here("prune", "--older-than", "90d").out.strip() == "would remove 0 of 0 memories"


@pytest.mark.parametrize(
    "wrong",
    [
        ("--older-than", "soon"),
        ("--older-than", "0d"),
        ("--keep", "-1"),
        ("--min-importance", "2"),
        ("--kind", "dreams"),
        ("--user", "ana", "--shared"),
    ],
)
def test_prune_refuses_what_means_nothing(here: Cli, wrong: tuple[str, ...]) -> None:
    assert here("prune", *wrong).code == 2


@pytest.mark.usefixtures("filled")
def test_consolidate_and_its_undoing(here: Cli) -> None:
    assert here("consolidate", "--json").json()["merged"][0]["id"] is None
    done = here("consolidate", "--apply", "--json").json()
    assert (done["total"], done["merged"][0]["why"]) == (1, "same")
    assert here("consolidate", "--apply", "--json").json()["total"] == 0
    id = done["merged"][0]["id"]
    assert here("unmerge", id).code == 3
    back = here("unmerge", id, "--user", "ana", "--json").json()["items"]
    assert [item["id"] for item in back] == done["merged"][0]["sources"]
    assert "would make 1" in here("consolidate", "--user", "ana").out


@pytest.mark.usefixtures("filled")
def test_audit_shows_the_latest_and_finds(here: Cli, tmp_path: Path) -> None:
    found = here("audit", "--json").json()
    assert (found["found"], found["unreadable"]) == (5, 0)
    assert {entry["verb"] for entry in found["entries"]} == {"remember"}
    assert "content" not in json.dumps(found)
    assert here("audit", "--user", "ana", "--json").json()["found"] == 3
    assert here("audit", "--verb", "forget").out.strip() == "nothing was found"
    id = found["entries"][0]["ids"][0]
    assert here("audit", "--id", id, "--json").json()["found"] == 1
    assert here("audit", "--since", datetime.now(UTC).isoformat(), "--json").json()["found"] == 0
    assert here("audit", "--until", datetime.now(UTC).isoformat(), "--json").json()["found"] == 5
    latest = here("audit", "--limit", "2", "--json").json()
    assert (len(latest["entries"]), latest["hint"]) == (2, "3 earlier ones are not shown")
    assert latest["entries"] == found["entries"][-2:]
    log = tmp_path / "home" / "audit.jsonl"
    log.write_bytes(log.read_bytes()[:-5])
    shown = here("audit", str(log))
    assert "api" in shown.out
    assert "1 lines could not be read" in shown.err


def test_an_audit_log_that_is_not_there_is_said(here: Cli) -> None:
    ran = here("audit")
    assert ran.code == 5
    assert "no audit log" in ran.err
