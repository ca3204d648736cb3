"""What is asked: how rows become memories, and the plain rankings that Retentive is compared with."""

from collections.abc import Sequence
from dataclasses import fields
from datetime import UTC, datetime
from math import log
from pathlib import Path

import pytest

from retentive.cli import bench
from retentive.embedders.base import resolve
from retentive.errors import InvalidInput
from retentive.evaluation.ablation import PARTS, without
from retentive.evaluation.contenders import Retentive, Reweighted, drafts_of
from retentive.evaluation.dataset import Asked, Corpus, Row
from retentive.evaluation.peers import ALL, PEERS, Bm25, Cosine, Peer, chosen
from retentive.evaluation.run import run, steps
from retentive.ranking.profiles import CONVERSATION, RankingProfile
from retentive.stores.in_memory import InMemoryStore
from retentive.testing.embedders import HashingEmbedder
from retentive.types import MemoryKind, Origin, Scope, Source

AT = datetime(2023, 5, 8, tzinfo=UTC)


def corpus_of(*texts: str, name: str = "c", turns: bool = False) -> Corpus:
    rows = tuple(
        Row(id=f"r{n}", text=text, session="1" if turns else None, turn=n + 1 if turns else None)
        for n, text in enumerate(texts)
    )
    return Corpus(name=name, rows=rows, questions=(Asked(text=texts[0], gold=frozenset({"r0"})),))


def test_a_row_with_a_session_becomes_a_turn_and_one_without_a_fact() -> None:
    drafts = drafts_of(
        [
            Row(id="D1:1", text="Hi!", session="a/b", turn=1, at=AT, speaker="Ana"),
            Row(id="D2:1", text="Yes?", session="2", turn=1, speaker="assistant"),
            Row(id="D1:2", text="Well.", session="a/b", turn=2, speaker="user"),
            Row(id="f", text="Ana likes tea."),
        ]
    )
    assert [draft.source for draft in drafts] == [
        Source(thread="session-1", turns=(1,), speaker="Ana"),
        Source(thread="session-2", turns=(1,), speaker="assistant"),
        Source(thread="session-1", turns=(2,), speaker="user"),
        None,
    ]
    assert [draft.kind for draft in drafts] == [MemoryKind.EPISODIC] * 3 + [MemoryKind.SEMANTIC]
    assert [draft.origin for draft in drafts] == [Origin.USER, Origin.ASSISTANT, Origin.USER, Origin.USER]
    assert [draft.metadata for draft in drafts] == [{"turn": name} for name in ("D1:1", "D2:1", "D1:2", "f")]
    assert drafts[0].occurred_at == AT


async def test_turns_with_the_same_words_stay_apart_and_merged_facts_answer_for_each_other() -> None:
    own = Retentive(InMemoryStore(), HashingEmbedder())
    await own.remember(corpus_of("Thanks!", "Thanks!", turns=True))
    assert sorted(await own.recall("thanks", 20)) == ["r0", "r1"]
    assert own.restated == 0
    await own.remember(corpus_of("Ana likes tea.", "ana likes tea", "Ben has a cat."))
    assert (await own.recall("who likes tea", 20))[:2] == ["r0", "r1"]
    assert own.restated == 1


async def test_nothing_is_left_in_the_store() -> None:
    store = InMemoryStore()
    own = Retentive(store, HashingEmbedder())
    await own.remember(corpus_of("Ana likes tea."))
    scope = Scope(own.namespace)
    assert len((await store.scan(scope, 0)).rows) == 1
    await own.forget()
    assert list((await store.scan(scope, 0)).rows) == []


async def test_a_corpus_sees_only_its_own_memories() -> None:
    own = Retentive(InMemoryStore(), HashingEmbedder())
    await own.remember(corpus_of("Ana likes tea.", "Tea is hot."))
    await own.remember(corpus_of("Ben likes tea."))
    assert await own.recall("tea", 20) == ["r0"]


async def test_reweighting_ranks_the_same_memories_by_other_profiles() -> None:
    base = Retentive(InMemoryStore(), HashingEmbedder())
    corpus = corpus_of("Ana likes tea.", "Ben has a cat.")
    await base.remember(corpus)
    silent = Reweighted("silent", base, without("words"))
    await silent.remember(corpus)
    assert set(await silent.recall("tea", 20)) <= {"r0", "r1"}
    await silent.forget()
    assert await base.recall("tea", 20)


def test_each_weight_of_the_profiles_belongs_to_a_part() -> None:
    shape = {"name", "saturation", "length", "length_floor", "soft_words", "neighbour_words"}
    shape |= {"min_cosine", "pair_distance", "half_life_s", "told_enough"}
    shape |= {"fading", "fading_half_life_s"}  # off unless asked for
    switched = {name for off in PARTS.values() for name in off}
    assert switched == {field.name for field in fields(RankingProfile)} - shape


@pytest.mark.parametrize("part", PARTS)
def test_a_part_that_is_switched_off_weighs_nothing(part: str) -> None:
    turns = without(part).turns
    changed = {f.name for f in fields(turns) if getattr(turns, f.name) != getattr(CONVERSATION, f.name)}
    assert changed == set(PARTS[part])
    assert not any(getattr(turns, name) for name in changed)


def test_an_unknown_part_is_refused() -> None:
    with pytest.raises(InvalidInput, match="no part is called 'luck'"):
        without("luck")


async def test_bm25_is_what_the_formula_says() -> None:
    peer = Bm25()
    await peer.remember(corpus_of("cat cat dog", "cat", "bird fish horse", "the of"))
    mean = 7 / 4
    cat, fish = log(1 + 2.5 / 2.5), log(1 + 3.5 / 1.5)

    def part(weight: float, times: int, length: int) -> float:
        return weight * times * 2.2 / (times + 1.2 * (0.25 + 0.75 * length / mean))

    expected = [part(cat, 2, 3), part(cat, 1, 1), part(fish, 1, 3), 0.0]
    assert peer.scores("Cats, a fish, cats?").tolist() == pytest.approx(expected)
    assert await peer.recall("Cats?", 10) == ["r1", "r0"]
    assert await peer.recall("Cats?", 1) == ["r1"]
    assert await peer.recall("unicorn", 10) == await peer.recall("of the", 10) == []


async def test_bm25_keeps_the_order_of_the_file_among_equals() -> None:
    peer = Bm25()
    await peer.remember(corpus_of("tea", "cake", "tea", "tea"))
    assert await peer.recall("tea", 2) == ["r0", "r2"]


async def test_the_embedder_alone_ranks_by_cosine() -> None:
    peer = Cosine(resolve(None))
    await peer.remember(corpus_of("A cat sleeps.", "The bank raised its rates.", "My dog barks."))
    assert (await peer.recall("interest rates of the bank", 3))[0] == "r1"
    await peer.forget()
    assert await peer.recall("cat", 3) == []


@pytest.mark.parametrize("name", [name for name, peer in PEERS.items() if peer.packages])
async def test_a_library_finds_what_is_nearest(name: str, tmp_path: Path) -> None:
    if reason := PEERS[name].why_not():
        pytest.skip(reason)
    library = PEERS[name].make(resolve(None), tmp_path)
    cosine = Cosine(resolve(None))
    for texts in (
        ("A cat sleeps.", "My dog barks."),
        ("The bank raised its rates.", "Birds sing.", "A cat.", "Birds sing."),
    ):
        for peer in (library, cosine):
            await peer.remember(corpus_of(*texts))
        for question in ("interest rates of the bank", "Where is the cat?"):
            assert list(await library.recall(question, 1)) == list(await cosine.recall(question, 1))
    await library.forget()


def test_a_peer_that_is_not_installed_is_skipped_with_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    absent = Peer(make=lambda _e, _f: Bm25(), packages={"no_such_module.inside": "no-such-package"})
    monkeypatch.setattr("retentive.evaluation.peers.PEERS", {"bm25": PEERS["bm25"], "absent": absent})
    skipped = {"absent": "not installed; pip install no-such-package"}
    assert chosen(["all"]) == (["bm25"], skipped)
    assert chosen(["absent"]) == ([], skipped)
    assert chosen([]) == ([], {})


def test_the_help_names_every_peer() -> None:
    assert (*PEERS, ALL) == bench.PEERS


def test_an_unknown_peer_is_refused() -> None:
    with pytest.raises(InvalidInput, match="no peer is called 'oracle'; there are bm25, embedder"):
        chosen(["oracle"])


class Fixed:
    """Answers always the same, and writes down what it was told."""

    name = "fixed"

    def __init__(self) -> None:
        self.told: list[str] = []

    async def remember(self, corpus: Corpus) -> None:
        self.told.append(f"remember {corpus.name}")

    async def recall(self, question: str, limit: int) -> Sequence[str]:
        self.told.append(f"recall {limit}")
        return ["r1", "r0"]

    async def forget(self) -> None:
        self.told.append("forget")


async def test_each_corpus_is_remembered_asked_and_forgotten_in_turn() -> None:
    fixed, moved = Fixed(), list[int]()
    silent = Corpus(name="silent", rows=(Row(id="r0", text="x"),), questions=())
    corpora = [corpus_of("x", name="a"), silent, corpus_of("y", "z", name="b")]
    (outcome,) = await run(corpora, [fixed], moved.append)
    assert fixed.told == ["remember a", "recall 20", "forget", "remember b", "recall 20", "forget"]
    assert sum(moved) == steps(corpora, 1) == 6
    assert outcome.memories == 3
    assert [(one.corpus, one.values[5]) for one in outcome.judged] == [("a", 0.5), ("b", 0.5)]
    assert len(outcome.recall_s) == 2
