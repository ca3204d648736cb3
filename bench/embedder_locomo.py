"""How well an embedder alone finds the turns that answer LoCoMo's questions.

    python bench/embedder_locomo.py --data DIR [--table DIR] [--json FILE]

DIR holds memories.jsonl and questions.jsonl (bench data is never part of this repository). A turn is
"speaker: text"; turns are ranked by cosine within their conversation, ties in order; gold is `evidence`.
"""

import argparse
import asyncio
import json
import platform
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from retentive.embedders.base import Vectors, embed_checked, fingerprint
from retentive.embedders.static import FOLDER, StaticEmbedder

K = 10
FIRST_HALF = frozenset({"conv-26", "conv-30", "conv-41", "conv-42", "conv-43"})
RESAMPLES, SEED = 2_000, 0
DISCOUNTS = 1 / np.log2(np.arange(2, K + 2))


class Score(NamedTuple):
    corpus: str
    category: str
    ndcg: float
    recall: float


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def score_one(question: Mapping[str, Any], order: Sequence[str]) -> Score:
    """NDCG@10 and recall@10 with binary gold."""
    gold = set(question["evidence"])
    hit = np.array([turn in gold for turn in order[:K]], dtype=float)
    ideal = DISCOUNTS[: min(K, len(gold))].sum()
    ndcg = (hit * DISCOUNTS[: len(hit)]).sum() / ideal
    return Score(question["corpus"], question["category"], ndcg, hit.sum() / len(gold))


def rank(turns: Vectors, question: Vectors) -> list[int]:
    return np.argsort(-(turns @ question), kind="stable")[:K].tolist()


async def evaluate(embedder: StaticEmbedder, data: Path) -> list[Score]:
    corpora: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for turn in read(data / "memories.jsonl"):
        corpora[turn["corpus"]].append(turn)
    questions = [question for question in read(data / "questions.jsonl") if question["evidence"]]
    scores: list[Score] = []
    for corpus, turns in corpora.items():
        asked = [question for question in questions if question["corpus"] == corpus]
        texts = [f"{turn['speaker']}: {turn['text']}" for turn in turns]
        rows = await embed_checked(embedder, texts, "document")
        queries = await embed_checked(embedder, [question["question"] for question in asked], "query")
        for question, query in zip(asked, queries, strict=True):
            scores.append(score_one(question, [turns[at]["id"] for at in rank(rows, query)]))
    return scores


def macro(scores: Iterable[Score]) -> tuple[float, float]:
    """The mean over categories of (NDCG, recall), in percent."""
    by_category: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for score in scores:
        by_category[score.category].append((score.ndcg, score.recall))
    ndcg, recall = 100 * np.mean([np.mean(values, axis=0) for values in by_category.values()], axis=0)
    return float(ndcg), float(recall)


def interval(scores: Sequence[Score]) -> list[list[float]]:
    """The 95 % intervals of macro NDCG and recall, by bootstrap over conversations."""
    by_corpus: dict[str, list[Score]] = defaultdict(list)
    for score in scores:
        by_corpus[score.corpus].append(score)
    names, random = sorted(by_corpus), np.random.default_rng(SEED)
    drawn = [
        macro(score for name in random.choice(names, len(names)) for score in by_corpus[name])
        for _ in range(RESAMPLES)
    ]
    return np.percentile(drawn, [2.5, 97.5], axis=0).T.round(1).tolist()


def summary(scores: Sequence[Score]) -> dict[str, Any]:
    plain = [score for score in scores if score.category != "adversarial"]
    groups = {
        "all, macro of 5 categories": macro(scores),
        "first half": macro(score for score in scores if score.corpus in FIRST_HALF),
        "second half": macro(score for score in scores if score.corpus not in FIRST_HALF),
        "micro without adversarial": macro(score._replace(category="") for score in plain),
    }
    for category in sorted({score.category for score in scores}):
        groups[category] = macro(score for score in scores if score.category == category)
    return {name: [round(figure, 1) for figure in pair] for name, pair in groups.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description="An embedder alone on LoCoMo.")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--table", type=Path, default=FOLDER, help="a folder made by tools/distill_static.py")
    parser.add_argument("--json", type=Path, help="write the result here too")
    given = parser.parse_args()

    embedder = StaticEmbedder(given.table)
    scores = asyncio.run(evaluate(embedder, given.data))
    groups, bounds = summary(scores), interval(scores)
    print(f"{fingerprint(embedder)}: {len(scores):,} questions, NDCG@{K} / R@{K} in percent")
    for name, (ndcg, recall) in groups.items():
        print(f"  {name:28} {ndcg:5.1f} / {recall:5.1f}")
    print(f"  95 % of the first line        {bounds[0]} / {bounds[1]}")
    if given.json:
        result = {
            "embedder": fingerprint(embedder),
            "figures": groups,
            "interval": bounds,
            "seed": SEED,
            "machine": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
        }
        given.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
