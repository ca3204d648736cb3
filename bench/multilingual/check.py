"""Checks the multilingual set: enough of everything, and no question that simply repeats its answer.

    python bench/multilingual/check.py

The figures come from `retentive bench recall --data bench/multilingual`: each category is a language.
"""

import sys
from difflib import SequenceMatcher
from pathlib import Path

from retentive.evaluation.dataset import Corpus, load

LEAST_MEMORIES, LEAST_QUESTIONS = 20, 10
MOST_SHARED = 0.8


def shared(question: str, memory: str) -> float:
    """The longest run of characters that the two have in common, as a share of the question."""
    match = SequenceMatcher(None, question, memory, autojunk=False).find_longest_match()
    return match.size / len(question)


def problems(corpus: Corpus) -> list[str]:
    """What is wrong with one language."""
    texts = {row.id: row.text for row in corpus.rows}
    found: list[str] = []
    if len(texts) < LEAST_MEMORIES or len(corpus.questions) < LEAST_QUESTIONS:
        found.append(f"{len(texts)} memories and {len(corpus.questions)} questions")
    for question in corpus.questions:
        for memory in question.gold:
            if memory not in texts:
                found.append(f"{question.text!r}: no memory {memory!r}")
            elif shared(question.text, texts[memory]) > MOST_SHARED:
                found.append(f"{question.text!r} is a part of {texts[memory]!r}")
    return found


def main() -> int:
    wrong = 0
    for corpus in load(Path(__file__).parent).corpora:
        print(f"{corpus.name}: {len(corpus.rows)} memories, {len(corpus.questions)} questions")
        for problem in problems(corpus):
            wrong += 1
            print(f"  {problem}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
