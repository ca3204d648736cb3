"""`retentive bench`: measures Retentive on data that you choose."""

import platform
import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Annotated

import typer

from retentive._version import __version__
from retentive.cli import options
from retentive.cli.command import Answer, Where, add_command
from retentive.cli.lines import progress
from retentive.embedders.base import Embedder, resolve
from retentive.evaluation import ablation, dataset, peers, plot
from retentive.evaluation.contenders import Contender, Retentive
from retentive.evaluation.dataset import Dataset
from retentive.evaluation.report import Measured, Report
from retentive.evaluation.run import Outcome, run, steps
from retentive.ranking.profiles import RECALL
from retentive.stores.base import MemoryStore
from retentive.stores.urls import open_store

app = typer.Typer(
    name="bench", help="Measure how well and how fast memories are found.", no_args_is_help=True
)


async def recall(
    where: Where,
    data: Annotated[
        Path,
        typer.Option(help="Folder with memories.jsonl and questions.jsonl.", metavar="FOLDER"),
    ],
    corpus: Annotated[
        list[str] | None,
        typer.Option(help="Only this corpus; repeat for more.", metavar="ID"),
    ] = None,
    audited: Annotated[
        bool, typer.Option("--audited", help="Judge by evidence_audit where a question has it.")
    ] = False,
    ablate: Annotated[
        bool, typer.Option("--ablate", help="Also leave out each part of the ranking in turn.")
    ] = False,
    peer: Annotated[
        list[str] | None,
        typer.Option(
            help=f"Also ask this one; repeat for more: {', '.join(peers.PEERS)}, or {peers.ALL}.",
            metavar="NAME",
        ),
    ] = None,
    plot_to: Annotated[
        Path | None, typer.Option("--plot", help="Draw a bar chart into this .png file.", metavar="FILE")
    ] = None,
    store: Annotated[
        str | None,
        typer.Option(help="Store to measure on; else SQLite in a temporary folder.", metavar="URL"),
    ] = None,
    embedder: Annotated[
        str | None, typer.Option(help="Embedder to use; else the one in the package.", metavar="NAME")
    ] = None,
    seed: Annotated[str, typer.Option(help="Seed of the bootstrap.", metavar="N")] = "0",
) -> Answer:
    """Recall quality: NDCG, recall, hits, MRR, with intervals, on a folder of memories and questions."""
    del where
    if plot_to is not None:
        plot.check(plot_to)
    peer_names, left_out = peers.chosen(peer or ())
    seed_number = options.whole_number("seed", seed, maximum=2**32 - 1)
    model, loaded = resolve(embedder), dataset.load(data, corpus or (), audited=audited)
    with _folder() as folder:
        memories = open_store(store or f"sqlite:///{(folder / 'memory.db').as_posix()}", home=folder)
        try:
            own = Retentive(memories, model)
            parts: list[Contender] = [*ablation.ablated(own)] if ablate else []
            others = [peers.PEERS[name].make(model, _inside(folder, name)) for name in peer_names]
            outcomes = await _run(loaded, [own, *parts, *others])
        finally:
            await memories.close()
    report = Report(
        own=Measured.of(outcomes[0], seed_number),
        counts=_counts(loaded, own),
        versions=_versions(peer_names),
        profile=_Setting(store=memories, embedder=model).described(),
        seed=seed_number,
        parts=outcomes[1 : 1 + len(parts)],
        peers=[Measured.of(outcome, seed_number) for outcome in outcomes[1 + len(parts) :]],
        left_out=left_out,
    )
    if plot_to is not None:
        plot.draw([report.own, *report.peers], plot_to)
    return Answer(data=report.to_json(), show=report.show, notes=report.notes())


async def _run(loaded: Dataset, contenders: list[Contender]) -> list[Outcome]:
    with progress("measuring", steps(loaded.corpora, len(contenders))) as advance:
        return await run(loaded.corpora, contenders, advance)


@contextmanager
def _folder() -> Generator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="retentive-bench-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _inside(folder: Path, name: str) -> Path:
    made = folder / name
    made.mkdir()
    return made


def _counts(loaded: Dataset, own: Retentive) -> dict[str, int]:
    return {
        "corpora": len(loaded.corpora),
        "memories": sum(len(corpus.rows) for corpus in loaded.corpora),
        "questions": sum(len(corpus.questions) for corpus in loaded.corpora),
        **loaded.skipped,
        "restated": own.restated,
    }


def _versions(peer_names: list[str]) -> dict[str, str]:
    found = {"retentive": __version__, "python": platform.python_version()}
    found |= {name: metadata.version(name) for name in ("numpy", "apsw")}
    for name in peer_names:
        found |= peers.PEERS[name].versions()
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class _Setting:
    """What was measured on."""

    store: MemoryStore
    embedder: Embedder

    def described(self) -> dict[str, str]:
        return {
            "turns": RECALL.turns.name,
            "others": RECALL.others.name,
            "embedder": self.embedder.name,
            "store": self.store.url.partition("://")[0],
        }


add_command(app, recall, "json")
