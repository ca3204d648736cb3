"""Runs the command: in a process of its own, or in this one, with a home of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from retentive.cli.app import main

Cli = Callable[..., "Ran"]


@dataclass(frozen=True)
class Ran:
    """What a run of the command left."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        """The one JSON value on stdout."""
        assert self.out.count("\n") == 1, self
        return json.loads(self.out, parse_constant=pytest.fail)

    def error(self) -> Any:
        """The error on stderr; stdout is empty."""
        assert not self.out, self
        return json.loads(self.err)["error"]

    def ids(self) -> list[str]:
        """The ids of the hits."""
        return [hit["id"] for hit in self.json()["hits"]]


def environment(home: Path, **more: str) -> dict[str, str]:
    """The variables of a run: this process's, without what would steer the command."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("RETENTIVE_") and k != "FORCE_COLOR"}
    return {**kept, "RETENTIVE_HOME": str(home), "COLUMNS": "80", **more}


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """Run `retentive` in a process of its own."""

    def run(*args: str, stdin: bytes = b"", **env: str) -> Ran:
        done = subprocess.run(
            [sys.executable, "-m", "retentive.cli", *args],
            input=stdin,
            capture_output=True,
            env=environment(tmp_path / "home", **env),
            cwd=tmp_path,
            timeout=60,
            check=False,
        )
        out, err = done.stdout.decode(), done.stderr.decode()
        assert "Traceback" not in err, err
        return Ran(done.returncode, out.replace("\r\n", "\n"), err.replace("\r\n", "\n"))

    return run


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    """Run `retentive` in this process, in the same home: quicker where many runs are needed."""
    monkeypatch.setenv("RETENTIVE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("RETENTIVE_URL", raising=False)
    monkeypatch.chdir(tmp_path)

    def run(*args: str) -> Ran:
        code = main(list(args))
        done = capsys.readouterr()
        return Ran(code, done.out, done.err)

    return run
