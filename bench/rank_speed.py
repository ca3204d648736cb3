"""How long `rank` and `ScopeIndex.apply` take, alone, warm, over made-up text of real words.

    python bench/rank_speed.py [--sizes 1000 10000 100000] [--json FILE]

Words are drawn by Zipf's law from the default embedder's vocabulary (seed 7), 15 to 20 a memory and 6 to 8 a
question. Half of the runs have every memory a turn of a thread of 20 turns by two speakers, half none.
"""

import argparse
import asyncio
import json
import time
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from retentive.embedders.base import embed_checked, fingerprint
from retentive.embedders.static import StaticEmbedder
from retentive.ranking.features import features, pack
from retentive.ranking.profiles import RECALL
from retentive.ranking.question import question
from retentive.ranking.scope_index import ScopeIndex
from retentive.ranking.score import Wanted, rank
from retentive.stores.base import IndexRow, Scan
from retentive.types import MemoryItem, MemoryKind, Scope, Source

SEED = 7
THREAD_TURNS = 20
QUESTIONS = 60
REPEATS = 5
NOW = datetime(2026, 6, 1, tzinfo=UTC)


class Text:
    """Made-up sentences of real words."""

    def __init__(self) -> None:
        pieces = (
            (files("retentive.embedders") / "static_minilm" / "vocab.txt").read_text(encoding="utf-8").split()
        )
        self._words = np.array([piece for piece in pieces if piece.isascii() and piece.isalpha()])
        weights = 1.0 / (np.arange(len(self._words)) + 2.7)
        self._until = np.cumsum(weights / weights.sum())
        self._random = np.random.default_rng(SEED)

    def sentence(self, least: int, most: int) -> str:
        drawn = np.searchsorted(self._until, self._random.random(self._random.integers(least, most + 1)))
        return " ".join(self._words[np.minimum(drawn, len(self._words) - 1)])


def rows(text: Text, count: int, *, turns: bool) -> list[IndexRow]:
    """So many memories as a store would give them."""
    embedder = StaticEmbedder()
    sentences = [text.sentence(15, 20) for _ in range(count)]
    vectors = asyncio.run(embed_checked(embedder, sentences, "document"))
    made: list[IndexRow] = []
    for number, (sentence, vector) in enumerate(zip(sentences, vectors, strict=True)):
        thread, turn = divmod(number, THREAD_TURNS)
        at = NOW - timedelta(minutes=count - number)
        item = MemoryItem(
            id=f"{number:026d}",
            scope=Scope("bench"),
            kind=MemoryKind.EPISODIC if turns else MemoryKind.SEMANTIC,
            content=sentence,
            created_at=at,
            updated_at=at,
            source=Source(thread=f"t{thread}", turns=(turn + 1,), speaker=("Ann", "Bob")[turn % 2])
            if turns
            else None,
        )
        made.append(
            IndexRow(
                id=item.id,
                packed=pack(features(item)),
                vector=vector.tobytes(),
                embedder=fingerprint(embedder),
            )
        )
    return made


def measure(count: int, *, turns: bool) -> dict[str, Any]:
    """Milliseconds: cold apply of all, of 100 more, of one more; a view; `rank` median and p95 over
    questions, each the best of `REPEATS` runs, since the machine may be shared."""
    text, embedder = Text(), StaticEmbedder()
    made = rows(text, count + 140, turns=turns)
    index = ScopeIndex(embedder, fingerprint(embedder))
    cold = _ms(lambda: index.apply(Scan(position=1, rows=made[:count], reset=True)))
    hundred = _ms(lambda: index.apply(Scan(position=2, rows=made[count : count + 100])))
    single = [
        _ms(lambda n=n: index.apply(Scan(position=3, rows=made[count + n : count + n + 1])))
        for n in range(100, 140)
    ]
    view_ms = _ms(index.view)
    view = index.view()
    asked = [text.sentence(6, 8) for _ in range(QUESTIONS)]
    vectors = asyncio.run(embed_checked(embedder, asked, "query"))
    prepared = [question(one, vector) for one, vector in zip(asked, vectors, strict=True)]
    for one in prepared[:5]:
        rank(view, one, RECALL, Wanted(now=NOW))
    runs = [
        [_ms(lambda one=one: rank(view, one, RECALL, Wanted(now=NOW))) for one in prepared]
        for _ in range(REPEATS)
    ]
    times = [min(each) for each in zip(*runs, strict=True)]
    return {
        "rows": count,
        "turns": turns,
        "apply_all_ms": cold,
        "apply_100_ms": hundred,
        "apply_one_ms": median(single),
        "view_ms": view_ms,
        "rank_ms": median(times),
        "rank_p95_ms": float(np.percentile(times, 95)),
        "mb": index.nbytes / 1e6,
    }


def _ms(call: Any) -> float:
    begin = time.perf_counter()
    call()
    return 1e3 * (time.perf_counter() - begin)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 1_000, 10_000, 100_000])
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    arguments = parser.parse_args()
    results = [measure(size, turns=turns) for size in arguments.sizes for turns in (False, True)]
    for result in results:
        print(
            "  ".join(
                f"{name} {value:.2f}" if isinstance(value, float) else f"{name} {value}"
                for name, value in result.items()
            )
        )
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
