"""What of an answer can be used, whatever a model says."""

import math
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from retentive.drafts import NewMemory
from retentive.extraction import Decision, Excerpt, ExtractionLimits, Statement
from retentive.extraction.statements import Settled, adds_fact, origin_of, settle
from retentive.types import MemoryItem, MemoryKind, Origin, Scope, Turn

START = datetime(2026, 1, 1, tzinfo=UTC)
LIMITS = ExtractionLimits()


def turn(seq: int, role: str = "user", content: str = "I moved to Oslo.") -> Turn:
    return Turn(seq=seq, id=str(seq), role=role, content=content, at=START + timedelta(hours=seq))


def item(id: str, content: str, origin: Origin = Origin.USER) -> MemoryItem:
    return MemoryItem(
        id=id,
        scope=Scope("n", "u"),
        kind=MemoryKind.SEMANTIC,
        content=content,
        created_at=START,
        updated_at=START,
        origin=origin,
    )


TURNS = (turn(5), turn(6, "assistant"), turn(7), turn(8, "tool"))


def settled(
    *statements: Statement, known: Sequence[MemoryItem] = (), limits: ExtractionLimits = LIMITS
) -> Settled:
    return settle(statements, Excerpt(turns=TURNS, known=known), limits, thread="t")


def one(**fields: Any) -> NewMemory:
    defaults: dict[str, Any] = {"content": "The user lives in Oslo.", "turns": (5,)}
    found = settled(Statement(**(defaults | fields)))
    assert not found.refused
    return found.new[0]


def test_a_statement_becomes_a_memory_with_its_source_and_time() -> None:
    draft = one(importance=0.8, subject=" where the\nuser lives ", turns=(7, 5), tags=["home"])
    assert (draft.content, draft.importance, list(draft.tags)) == ("The user lives in Oslo.", 0.8, ["home"])
    assert draft.source is not None
    assert (draft.source.thread, draft.source.turns) == ("t", (5, 7))
    assert draft.occurred_at == turn(7).at
    assert draft.metadata == {"subject": "where the user lives"}


@pytest.mark.parametrize(
    ("turns", "origin"),
    [
        ((5,), Origin.USER),
        ((5, 7), Origin.USER),
        ((6,), Origin.ASSISTANT),
        ((5, 6), Origin.ASSISTANT),
        ((5, 8), Origin.TOOL),
        ((6, 8), Origin.TOOL),
    ],
)
def test_the_origin_follows_from_who_spoke_the_turns(turns: tuple[int, ...], origin: Origin) -> None:
    assert one(turns=turns).origin is origin


def test_no_turns_are_nobody_known() -> None:
    assert origin_of([]) is Origin.IMPORTED


def test_invented_turns_are_dropped_and_a_statement_without_any_other_is_refused() -> None:
    draft = one(turns=(99, 7, -1, 0))
    assert draft.source is not None
    assert draft.source.turns == (7,)
    found = settled(Statement(content="x", turns=(99,)), Statement(content="y"))
    assert not found.new
    assert len(found.refused) == 2
    assert found.is_unusable


@pytest.mark.parametrize("kind", ["working", "short_term", "system", "", "SEMANTIC", 7])
def test_a_kind_that_is_not_to_be_extracted_is_refused(kind: Any) -> None:
    found = settled(Statement(content="x", kind=kind, turns=(5,)))
    assert not found.new
    assert "semantic, episodic, procedural" in found.refused[0]


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        (2, 1.0),
        (-1, 0.0),
        (math.nan, 0.5),
        (math.inf, 0.5),
        ("high", 0.5),
        (True, 0.5),
        (None, 0.5),
        (0.3, 0.3),
    ],
)
def test_importance_is_brought_between_0_and_1(given: Any, taken: float) -> None:
    assert one(importance=given).importance == taken


@pytest.mark.parametrize("content", ["", "  ", "x" * 1_001, "a\x00b", "\ud800", 5, None])
def test_a_content_that_cannot_be_kept_is_refused_alone(content: Any) -> None:
    found = settled(Statement(content=content, turns=(5,)), Statement(content="fine", turns=(5,)))
    assert [draft.content for draft in found.new] == ["fine"]
    assert len(found.refused) == 1
    assert not found.is_unusable


def test_a_statement_may_be_as_long_as_the_turn_it_comes_from() -> None:
    long = turn(5, content="y" * 5_000)
    found = settle([Statement(content="y" * 5_000, turns=(5,))], Excerpt(turns=[long]), LIMITS)
    assert len(found.new) == 1


def test_a_subject_that_cannot_be_used_is_left_out() -> None:
    assert one(subject="x" * 500).metadata == {}
    assert one(subject="\x00").metadata == {}


def test_more_statements_than_the_limit_are_refused_by_count() -> None:
    found = settled(
        *(Statement(content=f"fact {n}", turns=(5,)) for n in range(5)), limits=ExtractionLimits(statements=3)
    )
    assert [draft.content for draft in found.new] == ["fact 0", "fact 1", "fact 2"]
    assert found.refused == ("2 statements over the limit",)


def test_what_is_known_already_is_restated_whatever_the_extractor_says() -> None:
    known = [item("a", "The user lives in Oslo.")]
    for decision in Decision:
        found = settled(
            Statement(content="The user lives in Oslo", turns=(6,), decision=decision, target="a"),
            known=known,
        )
        assert (found.new, found.restated) == ((), ("a",))


@pytest.mark.parametrize("claimed", [None, "a"])
def test_what_a_less_trusted_one_said_does_not_swallow_the_users_word(claimed: str | None) -> None:
    known = [item("a", "The user lives in Oslo.", Origin.TOOL)]
    statement = Statement(content="The user lives in Oslo.", turns=(5,), decision="restates", target=claimed)
    found = settled(statement, known=known)
    assert [(draft.content, draft.origin) for draft in found.new] == [(statement.content, Origin.USER)]
    assert found.restated == ()


def test_a_paraphrase_is_restated_on_the_extractors_word() -> None:
    found = settled(
        Statement(content="Mail is what the user likes best.", turns=(5,), decision="restates", target="a"),
        known=[item("a", "The user prefers email.")],
    )
    assert (found.new, found.restated) == ((), ("a",))


@pytest.mark.parametrize(
    "content",
    ["The user prefers email before 9.", "The user prefers email to Bob.", "The user never reads email."],
)
def test_a_restatement_that_adds_a_number_name_or_negation_is_kept(content: str) -> None:
    found = settled(
        Statement(content=content, turns=(5,), decision="restates", target="a"),
        known=[item("a", "The user prefers email.")],
    )
    assert [draft.content for draft in found.new] == [content]
    assert found.restated == ()


def test_an_addition_is_told_from_a_paraphrase() -> None:
    assert not adds_fact("I like it", "Liked by me")
    assert adds_fact("They don't eat it", "They eat it")
    assert not adds_fact("Oslo is home", "Lives in Oslo")
    assert adds_fact("Lives in Oslo", "Lives abroad")


def test_a_handle_that_was_not_shown_makes_a_statement_new() -> None:
    for decision in ("restates", "supersedes"):
        found = settled(Statement(content="z", turns=(5,), decision=decision, target="nobody"))
        assert len(found.new) == 1
        assert not found.supersedes


@pytest.mark.parametrize(
    ("turns", "origin", "may"),
    [
        ((5,), Origin.USER, True),
        ((6,), Origin.USER, False),
        ((8,), Origin.ASSISTANT, False),
        ((6,), Origin.ASSISTANT, True),
        ((5,), Origin.DOCUMENT, True),
        ((5, 6), Origin.USER, False),
    ],
)
def test_a_memory_gives_way_only_to_an_equal_or_more_trusted_origin(
    turns: tuple[int, ...], origin: Origin, may: bool
) -> None:
    found = settled(
        Statement(content="The user lives in Rome.", turns=turns, decision="supersedes", target="a"),
        known=[item("a", "The user lives in Oslo.", origin)],
    )
    assert len(found.new) == 1
    assert found.supersedes == (((0, "a"),) if may else ())


def test_a_memory_is_superseded_once_in_an_answer() -> None:
    found = settled(
        *(
            Statement(content=c, turns=(5,), decision="supersedes", target="a")
            for c in ("in Rome", "in Bern")
        ),
        known=[item("a", "The user lives in Oslo.")],
    )
    assert len(found.new) == 2
    assert found.supersedes == ((0, "a"),)
