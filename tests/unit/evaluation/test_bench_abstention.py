"""The curve of `min_confidence`: how it is counted, and what is asked of whom."""

import pytest

from retentive.errors import InvalidInput
from retentive.evaluation.abstention import Curve, Doubting, speakers, swapped
from retentive.evaluation.contenders import Retentive
from retentive.evaluation.dataset import Asked, Corpus, Row
from retentive.evaluation.run import run, steps
from retentive.stores.in_memory import InMemoryStore
from retentive.testing.embedders import HashingEmbedder


def corpus(name: str, speaker: str, text: str, question: str) -> Corpus:
    row = Row(id="r", text=text, session="1", turn=1, speaker=speaker)
    return Corpus(name=name, rows=(row,), questions=(Asked(text=question, gold=frozenset({"r"})),))


def test_lost_and_caught_are_the_shares_below() -> None:
    curve = Curve([0.1, 0.5, 0.9, 0.9], [0.05, 0.5])
    assert [curve.lost(least) for least in (0.1, 0.11, 0.5, 0.6)] == [0.0, 25.0, 25.0, 50.0]
    assert [curve.caught(least) for least in (0.05, 0.1, 0.5, 0.6)] == [0.0, 50.0, 50.0, 100.0]


@pytest.mark.parametrize(
    ("answered", "off_topic", "auc"),
    [
        ([0.9, 0.8], [0.1, 0.2], 1.0),
        ([0.1], [0.9], 0.0),
        ([0.5], [0.5], 0.5),
        ([0.1, 0.9], [0.5, 0.9], 0.375),
    ],
)
def test_auc_counts_pairs_in_the_right_order_and_ties_as_half(
    answered: list[float], off_topic: list[float], auc: float
) -> None:
    assert Curve(answered, off_topic).auc() == pytest.approx(auc)


def test_names_are_swapped_as_whole_words_in_any_case() -> None:
    assert swapped("Did Ana tell ANANAS about ben's ana?", ["Ana", "Ben"], ["Mia", "Jo"]) == (
        "Did Mia tell ANANAS about Jo's Mia?"
    )
    assert swapped("Ana, Ben, Cy", ["Ana", "Ben", "Cy"], ["Mia"]) == "Mia, Mia, Mia"
    assert swapped("Ana?", [], ["Mia"]) == swapped("Ana?", ["Ana"], []) == "Ana?"
    assert speakers(corpus("a", "Ana", "Hi.", "Hi?")) == ["Ana"]


async def test_each_corpus_is_asked_its_own_questions_and_those_of_the_next() -> None:
    corpora = [
        corpus("a", "Ana", "I play the violin.", "Which instrument does Ana play, the violin?"),
        corpus("b", "Ben", "The kitchen was painted green.", "Was the kitchen of Ben painted green?"),
    ]
    own = Retentive(InMemoryStore(), HashingEmbedder())
    doubting = Doubting(own, corpora)
    told: list[int] = []
    outcomes = await run(corpora, [own, doubting], told.append)
    assert sum(told) == steps(corpora, 2)
    assert outcomes[1].judged == outcomes[0].judged
    assert len(doubting.curve.answered) == len(doubting.curve.off_topic) == 2
    assert doubting.curve.auc() == 1.0


def test_one_corpus_alone_cannot_be_measured() -> None:
    alone = [corpus("a", "Ana", "Hi.", "Hi?"), Corpus(name="b", rows=(), questions=())]
    with pytest.raises(InvalidInput, match="two or more"):
        Doubting(Retentive(InMemoryStore(), HashingEmbedder()), alone)
