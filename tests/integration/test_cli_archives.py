"""`retentive export` and `retentive import`."""

from pathlib import Path

import pytest
from cli_runs import Cli

SAMPLES = Path(__file__).parents[1] / "samples" / "imports"


def test_an_archive_goes_from_home_to_home(
    here: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here("remember", "Ana likes tea.", "--user", "ana")
    here("remember", "The house has two keys.")
    here("append", "t1", "Hallo?")
    assert here("export", "all.zip").out.startswith("exported 2 memories and 1 threads (1 turns), ")
    assert here("export", "ana.zip", "--user", "ana", "--json").json()["users"] == ["ana"]
    assert here("export", "shared.zip", "--shared", "--thread", "t1", "--json").json()["threads"] == 1
    monkeypatch.setenv("RETENTIVE_HOME", str(tmp_path / "other"))
    dry = here("import", "all.zip", "--dry-run")
    assert dry.out == "archive: would be imported 2, threads 1, turns 1\n"
    assert here("import", "all.zip").out == "archive: imported 2, threads 1, turns 1\n"
    again = here("import", "all.zip", "--json").json()
    assert (again["imported"], again["present"], again["threads_present"]) == (0, 2, 1)
    assert here("show", "t1", "--json").json()["length"] == 1
    assert here("import", "ana.zip", "--user", "anna", "--distrust", "--json").json()["imported"] == 1
    items = here("list", "--user", "anna", "--json").json()["items"]
    assert [item["origin"] for item in items] == ["imported"]
    export = here("export", "again.zip", "--no-threads", "--vectors", "--json").json()
    assert (export["memories"], export["threads"]) == (3, 0)


def test_foreign_files_are_told_apart_and_what_is_refused_is_named(here: Cli) -> None:
    for file, format in (
        ("mem0.json", "mem0"),
        ("claude.json", "claude"),
        ("claude-code.jsonl", "claude-code"),
    ):
        told = here("import", str(SAMPLES / file), "--json")
        assert told.code == 2
        assert told.json()["format"] == format
        assert told.json()["refused"] == len(told.json()["refusals"]) > 0
    told = here("import", str(SAMPLES / "mcp.jsonl"), "--from", "mcp", "--user", "ana")
    assert (told.code, told.out) == (2, "mcp: imported 4\n")
    assert "line 4 was not taken: a relation needs" in told.err


def test_what_cannot_be_is_refused(here: Cli, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("[]", encoding="utf-8")
    assert "say which format" in here("import", "x.json").err
    assert here("import", "x.json", "--from", "diary").code == 2
    assert here("import", "x.json", "--from", "archive", "--json").code == 2
    assert here("import", "missing.zip").code == 2
    assert here("export", "a.zip", "--user", "a", "--shared").code == 2
    assert here("export", "a.zip", "--no-threads", "--thread", "t").code == 2
    assert here("import", "x.json", "--user", "a", "--shared").code == 2
    assert not (tmp_path / "a.zip").exists()
