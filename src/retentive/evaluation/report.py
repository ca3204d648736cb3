"""What a run found, as one value: its JSON form and its tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rich.console import Console
from rich.table import Table as Grid

from retentive.checks import Json
from retentive.evaluation.abstention import THRESHOLDS, Curve
from retentive.evaluation.bootstrap import LEVEL, RESAMPLES, Bounds, Intervals, intervals
from retentive.evaluation.metrics import METRICS, Table, Values, table
from retentive.evaluation.run import Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A contender's outcome with its means and how far they could be off."""

    outcome: Outcome
    table: Table
    intervals: Intervals

    @staticmethod
    def of(outcome: Outcome, seed: int) -> "Measured":
        """The outcome, averaged."""
        return Measured(
            outcome=outcome,
            table=table(outcome.judged),
            intervals=intervals(outcome.judged, seed=seed),
        )

    def to_json(self) -> dict[str, Json]:
        """The means, the times and the intervals."""
        return {
            "macro": dict(self.table.macro),
            "micro": dict(self.table.micro),
            "per_category": {name: dict(row) for name, row in self.table.per_category.items()},
            "latency_ms": {**self.outcome.latency_ms()},
            "throughput": {**self.outcome.throughput()},
            "intervals": _intervals_json(self.intervals),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The whole run.

    `parts` are the outcomes without each part; `confidence` is None where it was not asked for; `left_out`
    says why a peer did not run.
    """

    own: Measured
    counts: Mapping[str, int]
    versions: Mapping[str, str]
    profile: Mapping[str, str]
    seed: int
    parts: Sequence[Outcome] = ()
    confidence: Curve | None = None
    peers: Sequence[Measured] = ()
    left_out: Mapping[str, str] = field(default_factory=dict[str, str])

    def to_json(self) -> dict[str, Json]:
        """One JSON object; `ablation`, `confidence` and `peers` are there where they were asked for."""
        out = self.own.to_json()
        out["intervals"] = {**_intervals_json(self.own.intervals), "seed": self.seed}
        out["counts"] = dict(self.counts)
        out["versions"] = dict(self.versions)
        out["profile"] = dict(self.profile)
        if self.parts:
            out["ablation"] = {part.name: _part_json(part, self.own.table) for part in self.parts}
        if self.confidence is not None:
            out["confidence"] = self.confidence.to_json()
        if self.peers or self.left_out:
            skipped: dict[str, Json] = {name: {"skipped": why} for name, why in self.left_out.items()}
            out["peers"] = {**{peer.outcome.name: peer.to_json() for peer in self.peers}, **skipped}
        return out

    def notes(self) -> tuple[str, ...]:
        """What a reader should know: peers that did not run, and what was left out."""
        told = [f"{name}: {why}" for name, why in self.left_out.items()]
        left = ("memories_without_text", "questions_without_evidence", "evidence_not_in_corpus")
        told += [
            f"{name.replace('_', ' ')}: {count:,}" for name in left if (count := self.counts.get(name, 0))
        ]
        return tuple(told)

    def show(self, out: Console) -> None:
        """Print the tables."""
        out.print(_means_table(self.own))
        latency, speed = self.own.outcome.latency_ms(), self.own.outcome.throughput()
        out.print(
            f"{self.counts['questions']:,} questions over {self.counts['memories']:,} memories in "
            f"{self.counts['corpora']:,} corpora; recall p50 {latency['p50']:.2f} ms, "
            f"p95 {latency['p95']:.2f} ms; "
            f"{speed['remember_per_s']:,.0f} remembered and {speed['recall_per_s']:,.0f} recalled a second",
            soft_wrap=True,
        )
        over = self.own.intervals.over["macro"]
        out.print(
            f"Ranges: {LEVEL}% bootstrap intervals over {over}, {RESAMPLES:,} draws, seed {self.seed}"
            + (" (one corpus only: they are too narrow)" if over == "questions" else ""),
            style="dim",
            soft_wrap=True,
        )
        if self.parts:
            out.print()
            out.print(_parts_table(self.parts, self.own.table))
        if self.confidence is not None:
            out.print()
            out.print(_confidence_table(self.confidence))
        if self.peers:
            out.print()
            out.print(_peers_table([self.own, *self.peers]))


def _intervals_json(found: Intervals) -> dict[str, Json]:
    return {
        "level": LEVEL,
        "resamples": RESAMPLES,
        "over": {**found.over},
        "macro": _bounds_json(found.macro),
        "micro": _bounds_json(found.micro),
        "per_category": {name: _bounds_json(row) for name, row in found.per_category.items()},
    }


def _bounds_json(bounds: Bounds) -> dict[str, Json]:
    return {name: [low, high] for name, (low, high) in bounds.items()}


def _part_json(part: Outcome, whole: Table) -> dict[str, Json]:
    """The means without the part, and how much is lost (below 0) or won."""
    own = table(part.judged)
    return {
        "macro": dict(own.macro),
        "micro": dict(own.micro),
        "change": {"macro": _change(own.macro, whole.macro), "micro": _change(own.micro, whole.micro)},
    }


def _change(now: Values, before: Values) -> dict[str, Json]:
    return {name: round(now[name] - before[name], 2) for name in METRICS}


def _grid(first: str, *columns: str) -> Grid:
    grid = Grid(box=None, pad_edge=False, header_style="dim", padding=(0, 1, 0, 0))
    grid.add_column(first, overflow="fold")
    for column in columns:
        grid.add_column(column, justify="right", no_wrap=True)
    return grid


def _means_table(own: Measured) -> Grid:
    """A line for macro, micro and each category, with intervals for the two main metrics."""
    grid = _grid("", "n", "NDCG@10", "", "R@5", "R@10", "", "R@20", "hit@10", "MRR")
    counts: dict[str, int] = {}
    for one in own.outcome.judged:
        counts[one.category] = counts.get(one.category, 0) + 1
    total = sum(counts.values())
    grid.add_row("macro", f"{total:,}", *_cells(own.table.macro, own.intervals.macro), style="bold")
    grid.add_row("micro", "", *_cells(own.table.micro, own.intervals.micro), style="bold")
    for name, row in own.table.per_category.items():
        cells = _cells(row, own.intervals.per_category[name])
        grid.add_row(name, f"{counts[name]:,}", *cells)
    return grid


def _cells(row: Values, bounds: Bounds) -> list[str]:
    cells: list[str] = []
    for name in METRICS:
        cells.append(f"{row[name]:.1f}")
        if name in ("ndcg@10", "recall@10"):
            low, high = bounds[name]
            cells.append(f"{low:.1f}-{high:.1f}")
    return cells


def _parts_table(parts: Sequence[Outcome], whole: Table) -> Grid:
    grid = _grid("without", "macro NDCG@10", "R@10", "micro NDCG@10", "R@10")
    for part in parts:
        own = table(part.judged)
        changes = [
            f"{now[name] - before[name]:+.1f}"
            for now, before in ((own.macro, whole.macro), (own.micro, whole.micro))
            for name in ("ndcg@10", "recall@10")
        ]
        grid.add_row(part.name, *changes)
    return grid


def _confidence_table(curve: Curve) -> Grid:
    grid = _grid(f"min_confidence (AUC {curve.auc():.2f})", "questions lost %", "off-topic caught %")
    for least in THRESHOLDS:
        grid.add_row(f"{least:g}", f"{curve.lost(least):.1f}", f"{curve.caught(least):.1f}")
    return grid


def _peers_table(rows: Sequence[Measured]) -> Grid:
    grid = _grid("", "macro NDCG@10", "R@10", "micro NDCG@10", "R@10", "p50 ms", "remembered/s")
    for row in rows:
        macro, micro = row.table.macro, row.table.micro
        grid.add_row(
            row.outcome.name,
            *(f"{value[name]:.1f}" for value in (macro, micro) for name in ("ndcg@10", "recall@10")),
            f"{row.outcome.latency_ms()['p50']:.2f}",
            f"{row.outcome.throughput()['remember_per_s']:,.0f}",
        )
    return grid
