"""Which older wording a new memory is linked to, and what it may be lost in, by who said them."""

from datetime import UTC, datetime

import pytest

from retentive import MemoryItem, MemoryKind, Origin, Scope
from retentive.ranking.near import Near
from retentive.ranking.restatement import settled

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def item(id: str, content: str, origin: Origin) -> MemoryItem:
    return MemoryItem(
        id=id,
        scope=Scope("d"),
        kind=MemoryKind.SEMANTIC,
        content=content,
        created_at=NOW,
        updated_at=NOW,
        origin=origin,
    )


def near_of(new: MemoryItem, *old: MemoryItem) -> MemoryItem:
    """What the new one comes to; the old ones are near, the nearest first."""
    near = [Near(id=one.id, index=None, cosine=0.99 - place / 100) for place, one in enumerate(old)]
    return settled([new], [near], {one.id: one for one in old})[0]


NEW = item("new", "The team has 7 members in Oslo.", Origin.TOOL)


def test_of_several_wordings_the_most_trusted_is_linked() -> None:
    tool = item("tool", "The team has 5 members in Oslo.", Origin.TOOL)
    user = item("user", "The team has 4 members in Oslo.", Origin.USER)
    document = item("document", "The team has 6 members in Oslo.", Origin.DOCUMENT)
    assert near_of(NEW, tool, document, user).near == "user"


def test_of_equally_trusted_wordings_the_nearest_is_linked() -> None:
    wordings = [item(f"m{n}", f"The team has {n} members in Oslo.", Origin.TOOL) for n in (4, 5, 6)]
    assert near_of(NEW, *wordings).near == "m4"


@pytest.mark.parametrize(
    ("new", "old", "is_lost"),
    [
        (Origin.USER, Origin.TOOL, False),
        (Origin.TOOL, Origin.USER, True),
        (Origin.DOCUMENT, Origin.DOCUMENT, True),
        (Origin.DOCUMENT, Origin.IMPORTED, False),
    ],
)
def test_a_word_is_lost_only_in_one_of_its_trust_or_more(new: Origin, old: Origin, is_lost: bool) -> None:
    there = item("old", "The team has 4 members in Oslo.", old)
    settled_on = near_of(item("new", "the team has 4 members in Oslo", new), there)
    assert (settled_on.id == "old") is is_lost
