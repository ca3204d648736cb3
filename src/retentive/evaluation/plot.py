"""The bar chart: each category, Retentive and its peers side by side, with their intervals."""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from retentive.errors import InvalidInput, StoreUnavailable
from retentive.evaluation.bootstrap import LEVEL, Bounds
from retentive.evaluation.metrics import Values
from retentive.evaluation.report import Measured

SHOWN = {"ndcg@10": "NDCG@10", "recall@10": "Recall@10"}
_COLOURS = ("#0b5fa5", "#9aa5b1", "#d98c3f", "#5aa469", "#8d6bb8", "#c25b6e", "#c9b458")
_GROUP = 0.8


def check(path: Path) -> None:
    """Refuse what could not be drawn or written, before the long run.

    Raises:
        InvalidInput: matplotlib is not installed, the file is not a .png, or its folder does not exist.
    """
    if path.suffix.lower() != ".png":
        raise InvalidInput(f"--plot writes a .png file, not {path.name!r}")
    if not path.absolute().parent.is_dir():
        raise InvalidInput(f"--plot: there is no folder {path.absolute().parent}")
    _figure_class()


def _figure_class() -> Any:
    try:
        return import_module("matplotlib.figure").Figure
    except ImportError as error:
        raise InvalidInput("--plot needs matplotlib: pip install 'retentive[bench]'") from error


def draw(rows: Sequence[Measured], path: Path) -> None:
    """Write the chart of the rows, the first being our own.

    Raises:
        InvalidInput: matplotlib is not installed.
        StoreUnavailable: the file cannot be written.
    """
    groups = ["macro", *rows[0].table.per_category]
    width = max(7.0, 0.35 * len(groups) * (len(rows) + 1))
    figure: Any = _figure_class()(figsize=(width, 8.0), layout="constrained")
    panels: Any = figure.subplots(len(SHOWN), 1, sharex=True)
    for panel, (metric, title) in zip(panels, SHOWN.items(), strict=True):
        _panel(panel, rows, groups, metric)
        panel.set_ylabel(f"{title}, %")
    panels[-1].set_xticks(range(len(groups)), groups)
    figure.suptitle(f"Recall quality by category, with {LEVEL}% bootstrap intervals")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(len(rows), 7), frameon=False)
    try:
        figure.savefig(path, dpi=150)
    except OSError as error:
        raise StoreUnavailable(f"{path} cannot be written: {error.strerror or error}") from error


def _panel(panel: Any, rows: Sequence[Measured], groups: Sequence[str], metric: str) -> None:
    bar = _GROUP / len(rows)
    for number, row in enumerate(rows):
        means = [_means(row, group)[metric] for group in groups]
        bounds = [_bounds(row, group)[metric] for group in groups]
        off = [
            [max(mean - low, 0.0) for mean, (low, _) in zip(means, bounds, strict=True)],
            [max(high - mean, 0.0) for mean, (_, high) in zip(means, bounds, strict=True)],
        ]
        places = [at - _GROUP / 2 + bar * (number + 0.5) for at in range(len(groups))]
        panel.bar(
            places,
            means,
            bar * 0.92,
            yerr=off,
            label=row.outcome.name,
            color=_COLOURS[number % len(_COLOURS)],
            error_kw={"elinewidth": 0.8, "capsize": 1.5, "ecolor": "#333333"},
        )
    panel.set_ylim(0, 100)
    panel.grid(axis="y", color="#e5e5e5")
    panel.set_axisbelow(True)
    panel.spines[["top", "right"]].set_visible(False)


def _means(row: Measured, group: str) -> Values:
    return row.table.macro if group == "macro" else row.table.per_category[group]


def _bounds(row: Measured, group: str) -> Bounds:
    return row.intervals.macro if group == "macro" else row.intervals.per_category[group]
