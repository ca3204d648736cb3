"""What is known, checked, of one thread's redactions: a chain of keyed hashes, one link a redacted turn.

A redacted turn keeps the seal it had, of words that are gone, so that the thread's own chain goes on through
it. Behind that stand its number among the redacted ones and a keyed hash of what is left of it: only who has
the key can redact, and the anchored head of this chain tells when what was taken out is back.
"""

import struct
from dataclasses import dataclass, replace

from retentive.errors import Tampered
from retentive.integrity.anchor import Head
from retentive.integrity.mac import Mac

_PARTS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Redaction:
    """The seal of a redacted turn: the one it had, which was the `nth` after `after` turns; then its own."""

    after: int
    nth: int
    had: bytes
    ordinal: int
    tag: bytes = b""

    def to_text(self) -> str:
        """As it stands in the turn's metadata."""
        return f"{self.after}.{self.nth}.{self.had.hex()}.{self.ordinal}.{self.tag.hex()}"


def redaction_from(seal: object) -> Redaction | None:
    """The redaction that the text tells; None if it is another seal, or none."""
    parts = seal.split(".") if isinstance(seal, str) else []
    if len(parts) != _PARTS:
        return None
    after, nth, had, ordinal, tag = parts
    try:
        return Redaction(
            after=int(after),
            nth=int(nth),
            had=bytes.fromhex(had),
            ordinal=int(ordinal),
            tag=bytes.fromhex(tag),
        )
    except ValueError:
        return None


class Redactions:
    """The redactions of one thread that began at the anchor's version `base`. Not thread-safe."""

    def __init__(self, mac: Mac, names: tuple[bytes, bytes], base: int, place: str) -> None:
        """None is known yet."""
        self._mac = mac
        self._life = (*names, struct.pack("<Q", base))
        self._place = place
        self._numbers: dict[int, int] = {}
        self._tags: dict[int, bytes] = {}

    def __len__(self) -> int:
        return len(self._tags)

    def __contains__(self, number: int) -> bool:
        return number in self._numbers

    def sealed(self, made: Redaction, number: int, says: bytes) -> Redaction:
        """The redaction of the turn of this number, of which `says` is what is left, with its hash."""
        place = struct.pack("<QQQQ", made.after, made.nth, made.ordinal, number)
        tag = self._mac.of("redaction", *self._life, place, made.had, says)
        return replace(made, tag=tag)

    def take(self, made: Redaction, number: int) -> None:
        """Take in one that is good.

        Raises:
            Tampered: another turn has its place.
        """
        if self._numbers.get(number, made.ordinal) != made.ordinal or (
            self._tags.get(made.ordinal, made.tag) != made.tag
        ):
            why = f"turn {number} was redacted in the place of another"
            raise Tampered.of("replaced", self._place, why, record=str(number))
        self._numbers[number] = made.ordinal
        self._tags[made.ordinal] = made.tag

    def head(self, label: str) -> Head:
        """Where the chain ends."""
        return Head(version=len(self), mac=self._link(len(self)), label=label)

    def check(self, anchored: Head | None) -> None:
        """See that the chain has no hole and passes through the anchored head.

        Raises:
            Tampered: it does not.
        """
        kept = anchored.version if anchored else 0
        if len(self) < kept or self._tags.keys() != set(range(1, len(self) + 1)):
            why = f"of the {max(kept, *self._tags, 0)} turns that were redacted, one is there again or gone"
            raise Tampered.of("rolled back", self._place, why)
        if anchored is not None and self._link(kept) != anchored.mac:
            raise Tampered.of("replaced", self._place, "other turns were redacted than it says")

    def _link(self, count: int) -> str:
        link = self._mac.of("redactions", *self._life)
        for ordinal in range(1, count + 1):
            link = self._mac.of("redactions", link, self._tags[ordinal])
        return link.hex()
