"""One benchmark from the wish to the report: what `retentive bench recall` runs."""

import platform
import shutil
import tempfile
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TypeAlias

from retentive._version import __version__
from retentive.embedders.base import Embedder, resolve
from retentive.engine import default_profiles
from retentive.evaluation import ablation, dataset, peers, plot
from retentive.evaluation.abstention import Doubting
from retentive.evaluation.contenders import Contender, Retentive
from retentive.evaluation.dataset import Dataset
from retentive.evaluation.report import Measured, Report
from retentive.evaluation.run import run, steps
from retentive.stores.base import MemoryStore
from retentive.stores.urls import open_store

Progress: TypeAlias = Callable[[int], AbstractContextManager[Callable[[int], None]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What to measure.

    Attributes:
        data: folder with memories.jsonl and questions.jsonl.
        corpora: only these; empty is all.
        audited: judge by `evidence_audit` where a question has it.
        ablate: also leave out each part of the ranking in turn.
        confidence: also measure what `min_confidence` would lose and catch.
        peers: names of `peers.PEERS`, or "all".
        plot: where to draw the chart; None draws none.
        store: URL of the store to measure on; None is SQLite in a temporary folder.
        embedder: its name; None is the default.
        seed: of the bootstrap.
    """

    data: Path
    corpora: Sequence[str] = ()
    audited: bool = False
    ablate: bool = False
    confidence: bool = False
    peers: Sequence[str] = ()
    plot: Path | None = None
    store: str | None = None
    embedder: str | None = None
    seed: int = 0


async def benchmark(wish: Wish, progress: Progress) -> Report:
    """What was found. The store is left as it was, and the chart drawn where one was asked for.

    `progress(steps)` frames the measuring; what it gives is called with each number of steps done.

    Raises:
        InvalidInput: something of the wish or the data cannot be used; found before anything is measured.
        StoreError, EmbedderError: as `Memory.remember` and `Memory.recall`.
    """
    if wish.plot is not None:
        plot.check(wish.plot)
    names, left_out = peers.chosen(wish.peers)
    embedder = resolve(wish.embedder)
    loaded = dataset.load(wish.data, wish.corpora, audited=wish.audited)
    with _temporary_folder() as folder:
        store = open_store(wish.store or f"sqlite:///{(folder / 'memory.db').as_posix()}", home=folder)
        try:
            own = Retentive(store, embedder)
            parts: list[Contender] = [*ablation.ablated(own)] if wish.ablate else []
            others = [peers.PEERS[name].make(embedder, _made(folder / name)) for name in names]
            doubting = Doubting(own, loaded.corpora) if wish.confidence else None
            contenders = [own, *parts, *others, *([doubting] if doubting else [])]
            with progress(steps(loaded.corpora, len(contenders))) as advance:
                outcomes = await run(loaded.corpora, contenders, advance)
        finally:
            await store.close()
    report = Report(
        own=Measured.of(outcomes[0], wish.seed),
        counts=_counts(loaded, own),
        versions=_versions(names),
        profile=_profile(store, embedder),
        seed=wish.seed,
        parts=outcomes[1 : 1 + len(parts)],
        peers=[Measured.of(one, wish.seed) for one in outcomes[1 + len(parts) :][: len(others)]],
        confidence=doubting.curve if doubting else None,
        left_out=left_out,
    )
    if wish.plot is not None:
        plot.draw([report.own, *report.peers], wish.plot)
    return report


@contextmanager
def _temporary_folder() -> Generator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="retentive-bench-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def _counts(loaded: Dataset, own: Retentive) -> dict[str, int]:
    return {
        "corpora": len(loaded.corpora),
        "memories": sum(len(corpus.rows) for corpus in loaded.corpora),
        "questions": sum(len(corpus.questions) for corpus in loaded.corpora),
        **loaded.skipped,
        "restated": own.restated,
    }


def _versions(names: Sequence[str]) -> dict[str, str]:
    found = {"retentive": __version__, "python": platform.python_version()}
    found |= {package: metadata.version(package) for package in ("numpy", "apsw")}
    for name in names:
        found |= peers.PEERS[name].versions()
    return found


def _profile(store: MemoryStore, embedder: Embedder) -> dict[str, str]:
    profiles = default_profiles(embedder)
    return {
        "turns": profiles.turns.name,
        "others": profiles.others.name,
        "embedder": embedder.name,
        "store": store.url.partition("://")[0],
    }
