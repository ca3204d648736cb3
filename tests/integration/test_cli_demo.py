"""`retentive demo` keeps its promises, and notices when one is broken."""

from pathlib import Path

import pytest
from cli_runs import Cli

from retentive.cli import demo_steps, demo_story


def test_the_demo_keeps_its_promises_and_says_so(cli: Cli, tmp_path: Path) -> None:
    told = cli("demo", "--json", "--home", str(tmp_path / "kept"))
    assert told.code == 0, told
    data = told.json()
    assert len(data["promises"]) == 7
    assert all(data["promises"].values())
    assert sum(row["rank"] in (1, 2, 3) for row in data["questions"]) >= 9
    assert data["remembered"]["turns"] == len(demo_story.turns())
    assert len(data["remembered"]["restated"]) >= 3
    assert data["thread"]["equal"] is True
    assert "found its family" in data["thread"]["printed"]
    assert data["other_tenant"]["hits"] == 0
    kept = cli("show", "landlord", "--namespace", "flat", "--json", RETENTIVE_HOME=str(tmp_path / "kept"))
    assert kept.json()["length"] == data["questions"][2]["expects"]["turns"][0] + 5
    again = cli("demo", "--home", str(tmp_path / "kept"))
    assert again.code == 2
    assert "is not empty" in again.err


def test_the_demo_reads_well_in_a_pipe_and_leaves_nothing_behind(cli: Cli, tmp_path: Path) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    told = cli("demo", NO_COLOR="1", TMPDIR=str(temporary), TEMP=str(temporary), TMP=str(temporary))
    assert told.code == 0
    assert told.err == ""
    assert "\x1b" not in told.out
    assert told.out.count("✓") >= 13
    assert "✗" not in told.out
    assert max(map(len, told.out.splitlines())) <= 80
    assert list(temporary.iterdir()) == []


def test_the_demo_fails_when_a_promise_is_broken(here: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    async def three_hits(*_: object) -> int:
        return 3

    async def something_else(*_: object) -> str:
        return "{}"

    monkeypatch.setattr(demo_steps, "ask_as_another", three_hits)
    monkeypatch.setattr(demo_steps, "_second_process", something_else)
    told = here("demo")
    assert told.code == 7
    assert "✗ it read something else" in told.out
    assert "✗ 3 hits" in told.out
    assert "✗ broken: a second process reads the same thread" in told.out
    assert "✗ broken: another tenant sees nothing" in told.out
    assert told.out.count("✗ broken") == 2
