"""NDCG@10 and Recall@10 of the ranking on LoCoMo, and what is lost when one part is left out.

    python bench/recall_locomo.py --data DIR [--ablate] [--json FILE]

DIR holds memories.jsonl and questions.jsonl. Turns go straight into the index, one thread a session; nothing
is stored. Figures are macro means over the five categories, in percent.
"""

import argparse
import asyncio
import json
import math
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import mean, median
from typing import Any

import numpy as np

from retentive.embedders.base import embed_checked, fingerprint
from retentive.embedders.static import StaticEmbedder
from retentive.ranking.features import features, pack
from retentive.ranking.profiles import SEARCH, Profiles, RankingProfile
from retentive.ranking.question import Question, question
from retentive.ranking.scope_index import ScopeIndex
from retentive.ranking.score import Wanted, rank
from retentive.ranking.view import IndexView
from retentive.stores.base import IndexRow, Scan
from retentive.types import MemoryItem, MemoryKind, Scope, Source

FIRST_HALF = ("conv-26", "conv-30", "conv-41", "conv-42", "conv-43")
NOW = datetime(2026, 1, 1, tzinfo=UTC)
ABLATIONS: dict[str, dict[str, Any]] = {
    "neighbours": {"before": 0.0, "after": 0.0, "second": 0.0, "answer": 0.0, "windowed": False},
    "next but one (words)": {"second": 0.0},
    "question to answer": {"answer": 0.0},
    "soft match": {"soft": 0.0},
    "cosine": {"cosine": 0.0},
    "window of the cosine": {"windowed": False},
    "pairs": {"pairs": 0.0},
    "speaker": {"speaker": 0.0},
    "dates": {"dates": 0.0},
    "first person": {"first_person": 0.0},
    "how much is told": {"told": 0.0},
    "questions": {"asking": 0.0, "asking_only": 0.0},
    "time words": {"time_words": 0.0, "when": 0.0},
    "role": {"role": 0.0},
}


@dataclass(frozen=True)
class Corpus:
    """One conversation, indexed, with its prepared questions and their gold turns."""

    name: str
    view: IndexView
    questions: list[tuple[Question, str, frozenset[str]]]


def load(folder: Path) -> list[Corpus]:
    """The corpora, in the order of the file."""
    turns: dict[str, list[dict[str, Any]]] = defaultdict(list)
    asked: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for turn in _lines(folder / "memories.jsonl"):
        turns[turn["corpus"]].append(turn)
    for line in _lines(folder / "questions.jsonl"):
        asked[line["corpus"]].append(line)
    return [_corpus(name, turns[name], asked[name]) for name in turns]


def _lines(path: Path) -> Iterable[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _corpus(name: str, turns: list[dict[str, Any]], asked: list[dict[str, Any]]) -> Corpus:
    embedder = StaticEmbedder()
    texts = [f"{turn['speaker']}: {turn['text']}" for turn in turns]
    vectors = asyncio.run(embed_checked(embedder, texts, "document"))
    numbers: dict[int, int] = defaultdict(int)
    rows: list[IndexRow] = []
    for turn, vector in zip(turns, vectors, strict=True):
        numbers[turn["session"]] += 1
        item = MemoryItem(
            id=turn["id"],
            scope=Scope("bench"),
            kind=MemoryKind.EPISODIC,
            content=turn["text"],
            created_at=NOW,
            updated_at=NOW,
            occurred_at=datetime.fromisoformat(turn["time"]).replace(tzinfo=UTC),
            source=Source(
                thread=f"{turn['session']}", turns=(numbers[turn["session"]],), speaker=turn["speaker"]
            ),
        )
        rows.append(
            IndexRow(
                id=item.id,
                packed=pack(features(item)),
                vector=vector.tobytes(),
                embedder=fingerprint(embedder),
            )
        )
    index = ScopeIndex(embedder, fingerprint(embedder))
    index.apply(Scan(position=1, rows=rows, reset=True))
    kept = [question for question in asked if question["evidence"]]
    asking = asyncio.run(embed_checked(embedder, [one["question"] for one in kept], "query"))
    questions = [
        (question(one["question"], vector), one["category"], frozenset(one["evidence"]))
        for one, vector in zip(kept, asking, strict=True)
    ]
    return Corpus(name, index.view(), questions)


def measure(corpora: list[Corpus], profiles: Profiles) -> dict[str, dict[str, list[tuple[float, float]]]]:
    """(NDCG@10, Recall@10) of each question, by corpus and category."""
    found: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for corpus in corpora:
        scores: dict[str, list[tuple[float, float]]] = defaultdict(list)
        for prepared, category, gold in corpus.questions:
            hits = [hit.id for hit in rank(corpus.view, prepared, profiles, Wanted(now=NOW))]
            scores[category].append(_quality(hits, gold))
        found[corpus.name] = scores
    return found


def _quality(hits: list[str], gold: frozenset[str]) -> tuple[float, float]:
    gains = sum(1 / math.log2(place + 2) for place, hit in enumerate(hits) if hit in gold)
    ideal = sum(1 / math.log2(place + 2) for place in range(min(len(gold), 10)))
    return gains / ideal, len(gold.intersection(hits)) / len(gold)


def macro(
    found: Mapping[str, Mapping[str, list[tuple[float, float]]]], corpora: Iterable[str]
) -> dict[str, tuple[float, float]]:
    """NDCG and Recall in percent for each category and, as "macro", their mean."""
    by_category: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for corpus in corpora:
        for category, scores in found[corpus].items():
            by_category[category] += scores
    table = {
        category: (100 * mean(s[0] for s in scores), 100 * mean(s[1] for s in scores))
        for category, scores in sorted(by_category.items())
    }
    return {"macro": (mean(v[0] for v in table.values()), mean(v[1] for v in table.values()))} | table


def changed(profiles: Profiles, changes: Mapping[str, Any]) -> Profiles:
    """The profiles with these constants changed in both."""

    def change(profile: RankingProfile) -> RankingProfile:
        return replace(profile, **changes)

    return Profiles(turns=change(profiles.turns), others=change(profiles.others))


def latency_ms(corpora: list[Corpus]) -> tuple[float, float]:
    """Median and 95th percentile of `rank` over all questions."""
    times: list[float] = []
    for corpus in corpora:
        for prepared, _, _ in corpus.questions:
            begin = time.perf_counter()
            rank(corpus.view, prepared, SEARCH, Wanted(now=NOW))
            times.append(1e3 * (time.perf_counter() - begin))
    return median(times), float(np.percentile(times, 95))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--data", type=Path, required=True, help="folder with memories.jsonl and questions.jsonl"
    )
    parser.add_argument("--ablate", action="store_true", help="also leave out one part at a time")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    arguments = parser.parse_args()
    corpora = load(arguments.data)
    names = [corpus.name for corpus in corpora]
    halves = {
        "all ten": names,
        "first half": [name for name in names if name in FIRST_HALF],
        "second half": [name for name in names if name not in FIRST_HALF],
    }
    found = measure(corpora, SEARCH)
    result: dict[str, Any] = {"recall": {half: macro(found, members) for half, members in halves.items()}}
    for half, table in result["recall"].items():
        print(
            half
            + ": "
            + "  ".join(f"{name} {ndcg:.1f}/{recall:.1f}" for name, (ndcg, recall) in table.items())
        )
    result["latency_ms"] = latency_ms(corpora)
    print("rank(): median {:.2f} ms, p95 {:.2f} ms".format(*result["latency_ms"]))
    if arguments.ablate:
        result["without"] = {}
        base = result["recall"]["all ten"]["macro"]
        for part, changes in ABLATIONS.items():
            ndcg, recall = macro(measure(corpora, changed(SEARCH, changes)), names)["macro"]
            result["without"][part] = (ndcg - base[0], recall - base[1])
            print(f"without {part:22} {ndcg - base[0]:+.1f} / {recall - base[1]:+.1f}", flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
