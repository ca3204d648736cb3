"""What a run of the benchmark found: figures against their targets, as a table and as JSON."""

import json
import os
import platform
import subprocess
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Literal

from rich.table import Table

LIBRARIES = ("retentive", "apsw", "numpy", "PyStemmer", "anyio")


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One measured number. `value` is a median where there were many; `target` is what it must reach.

    `better` says on which side of the target it must lie. `note` says how it came about.
    """

    row: str
    name: str
    value: float
    unit: str
    p95: float | None = None
    target: float | None = None
    better: Literal["less", "more"] = "less"
    note: str = ""

    @property
    def met(self) -> bool | None:
        """Whether the target is reached; None where there is none."""
        if self.target is None:
            return None
        return self.value <= self.target if self.better == "less" else self.value >= self.target


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """All that is needed to compare this run with another."""

    command: str
    commit: str
    at: str
    machine: dict[str, str | int | float]
    python: str
    libraries: dict[str, str]
    seed: int
    figures: Sequence[Figure]

    def to_json(self) -> str:
        """The run, readable, with whether each target was met."""
        figures = [asdict(figure) | {"met": figure.met} for figure in self.figures]
        return json.dumps(asdict(self) | {"figures": figures}, indent=2) + "\n"


def run(figures: Sequence[Figure], *, options: Sequence[str], seed: int, load: Sequence[float]) -> Run:
    """The figures with where and from what they came; `load` is the machine's load before and after."""
    return Run(
        command=" ".join(["python -m bench", *options]),
        commit=_commit(),
        at=datetime.now(UTC).isoformat(timespec="seconds"),
        machine=_machine() | {"load_before": round(load[0], 2), "load_after": round(load[-1], 2)},
        python=f"{platform.python_implementation()} {platform.python_version()}",
        libraries={name: version(name) for name in LIBRARIES},
        seed=seed,
        figures=figures,
    )


def table(figures: Sequence[Figure]) -> Table:
    """The figures for a terminal."""
    drawn = Table(title="Speed, measured in one run")
    for name in ("row", "figure", "median", "p95", "target", "", "note"):
        drawn.add_column(name, justify="right" if name in {"median", "p95", "target"} else "left")
    for one in figures:
        mark = {True: "[green]met[/]", False: "[red]short[/]", None: ""}[one.met]
        drawn.add_row(
            one.row,
            one.name,
            f"{_shown(one.value)} {one.unit}",
            "" if one.p95 is None else _shown(one.p95),
            _target(one),
            mark,
            one.note,
        )
    return drawn


def markdown(found: Run) -> str:
    """The run as docs/guide/speed.md shows it."""
    lines = ["| what | median | 95 % | target | reached | note |", "|---|---|---|---|---|---|"]
    for one in found.figures:
        reached = {True: "yes", False: "**no**", None: ""}[one.met]
        p95 = "" if one.p95 is None else _shown(one.p95)
        value = f"{_shown(one.value)} {one.unit}".strip()
        lines.append(f"| {one.name} | {value} | {p95} | {_target(one)} | {reached} | {one.note} |")
    machine = found.machine
    how = (
        f"Measured {found.at} with `{found.command}` on {machine['cores']} cores of an "
        f"{machine['processor']}, {machine['system']}, "
        f"while {machine['load_before']} to {machine['load_after']} "
        f"processes wanted to run on it; {found.python}, "
        f"{', '.join(f'{name} {number}' for name, number in found.libraries.items())}; "
        f"commit {found.commit}; seed {found.seed}."
    )
    return "\n".join([*lines, "", how, ""])


def load() -> float:
    """How many processes want to run, over the last minute; 0 where the system does not tell."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0


def _target(one: Figure) -> str:
    return "" if one.target is None else f"{'≤' if one.better == 'less' else '≥'} {_shown(one.target)}"


def _shown(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _commit() -> str:
    def git(*words: str) -> str:
        asked = ["git", "-C", str(Path(__file__).parent), *words]
        return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()

    try:
        return git("rev-parse", "HEAD") + (" with changes" if git("status", "--porcelain") else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _machine() -> dict[str, str | int | float]:
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": os.cpu_count() or 0,
    }


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor()
