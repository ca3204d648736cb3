"""`python -m bench`: measure the speed, print a table, write a JSON result.

Ratios are taken in one run, in turn, and are what to compare between machines; times are of this machine, and
of how busy it was. Data and seed are pinned.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from bench.agent_overhead import agent_overhead
from bench.corpus import SEED
from bench.plan import Plan
from bench.result import Figure, load, markdown, run, table
from bench.speed_recall import memory_held, recall_over_many_scopes, warm_recall
from bench.speed_start import first_recall, import_time
from bench.speed_threads import appends
from bench.speed_write import bulk_writes, concurrent_writes, durable_writes, writes_into_large_scopes
from rich.console import Console

ROWS: Mapping[str, Callable[[Plan], list[Figure]]] = {
    "import": import_time,
    "write": durable_writes,
    "concurrent": concurrent_writes,
    "bulk": bulk_writes,
    "threads": appends,
    "first": first_recall,
    "recall": warm_recall,
    "large": writes_into_large_scopes,
    "resident": memory_held,
    "scopes": recall_over_many_scopes,
    "agent": agent_overhead,
}
KEPT = Path(tempfile.gettempdir()) / "retentive-bench"


def main() -> int:
    """Measure what was asked for; 1 when a target was not met."""
    asked = _arguments()
    console = Console()
    loads, figures = [load()], list[Figure]()
    if asked.data_dir is not None:
        asked.data_dir.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=asked.data_dir, prefix="retentive-bench-") as work:
        plan = Plan(work=Path(work), kept=asked.data_dir or KEPT, quick=asked.quick, seed=SEED)
        for name in asked.only or ROWS:
            figures += ROWS[name](plan)
            console.print(f"{name}: done")
    loads.append(load())
    console.print(table(figures))
    options = ["--quick"] * asked.quick + [f"--only {name}" for name in asked.only or ()]
    found = run(figures, options=options, seed=SEED, load=loads)
    console.print(f"{found.machine}, {found.python}, {found.libraries}, commit {found.commit}")
    for path, text in ((asked.json, found.to_json()), (asked.markdown, markdown(found))):
        if path is not None:
            path.write_text(text, encoding="utf-8")
            console.print(f"Written to {path}")
    return int(any(figure.met is False for figure in figures))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the work and of the data")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the result here as well")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the table here as well")
    parser.add_argument("--only", action="append", choices=list(ROWS), help="just this row; may be repeated")
    parser.add_argument(
        "--data-dir", type=Path, help=f"where data is written and the million memories are kept (else {KEPT})"
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
