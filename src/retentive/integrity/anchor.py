"""The anchor: where it is kept, outside the store, how far each scope and thread has come."""

import json
from dataclasses import asdict, dataclass
from typing import Any, Protocol, runtime_checkable

from retentive.errors import StoreCorrupt


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """How far one scope or thread has come: its version, and the keyed hash of all it holds.

    `base` is the version at which a thread began, `going` that it is being deleted, `adopted` how many of its
    first turns were taken as they were found. `label` says in JSON what it is; "" once nothing is left of it.
    """

    version: int
    mac: str
    base: int = 0
    going: bool = False
    adopted: int = 0
    label: str = ""

    def is_beyond(self, other: "Head | None") -> bool:
        """Whether it comes after the other."""
        return other is None or (self.version, self.going) > (other.version, other.going)

    def to_json(self) -> str:
        """One line of JSON; what is at its default is left out."""
        fields = {name: value for name, value in asdict(self).items() if value not in (0, "")}
        return json.dumps({"version": self.version, "mac": self.mac, **fields}, ensure_ascii=False)


def head_from_json(text: str) -> Head:
    """The head again.

    Raises:
        StoreCorrupt: it is none.
    """
    try:
        data: dict[str, Any] = json.loads(text)
        head = Head(**data)
    except (TypeError, ValueError) as error:
        raise StoreCorrupt(f"an anchor is damaged: {error}; restore it, or seal the store anew") from error
    if type(head.version) is not int or not isinstance(head.mac, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise StoreCorrupt("an anchor is damaged; restore it, or seal the store anew")
    return head


class Anchor(Protocol):
    """Keeps heads by name, where who can write the store cannot write."""

    async def read(self, name: str) -> Head | None:
        """The head kept under the name; None if there never was one.

        Raises:
            StoreUnavailable, StoreCorrupt: it cannot be read.
        """
        ...

    async def advance(self, name: str, head: Head) -> Head:
        """Keep the head if it is beyond the one kept, durable before this returns; never go back.

        Gives the one that is kept now. Several processes may call this at once.

        Raises:
            StoreUnavailable: it cannot be written.
        """
        ...


@runtime_checkable
class ListsHeads(Protocol):
    """An anchor that can say what it keeps, so that an audit finds what has vanished whole."""

    async def heads(self) -> dict[str, Head]:
        """All heads by name."""
        ...


class InMemoryAnchor:
    """Heads in this process: for tests, and for stores that live no longer."""

    def __init__(self) -> None:
        self._heads: dict[str, Head] = {}

    async def read(self, name: str) -> Head | None:
        """See `Anchor.read`."""
        return self._heads.get(name)

    async def advance(self, name: str, head: Head) -> Head:
        """See `Anchor.advance`."""
        kept = self._heads.get(name)
        if head.is_beyond(kept):
            self._heads[name] = kept = head
        return kept or head

    async def heads(self) -> dict[str, Head]:
        """See `ListsHeads.heads`."""
        return dict(self._heads)
