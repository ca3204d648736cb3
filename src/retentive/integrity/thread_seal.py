"""What is known, checked, of one thread: a chain of keyed hashes, one link a turn."""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from retentive.checks import Json
from retentive.errors import InvalidInput, Tampered
from retentive.frozen import frozen
from retentive.integrity.anchor import Head
from retentive.integrity.mac import Mac, turn_bytes
from retentive.integrity.redactions import Redaction, Redactions, redaction_from
from retentive.stores.base import SEAL, NewTurn
from retentive.types import Turn

_UNSEALED: Final = (
    "the anchor knows nothing of it. Restore the anchor; or, if the thread was written without integrity or "
    "was moved, look at what it holds and then take it as genuine: retentive verify --seal"
)


class ThreadSeal:
    """The links of a thread, of its turns 1 to `len`. Not thread-safe.

    A turn's seal binds it to what it says and to all turns that its writer knew of, by the chain's link
    there. The chain binds each turn to its number. `base` is the anchor's version at which it began,
    `rewrites` how often the store says that turns were redacted in what was taken in.
    """

    def __init__(self, mac: Mac, namespace: str, thread: str, anchored: Head | None) -> None:
        """Nothing is known yet but where it begins."""
        self._mac = mac
        self._names = (namespace.encode(), thread.encode())
        self.place = f"thread {thread!r} of namespace {namespace!r}"
        self.base = anchored.base if anchored else 0
        self.adopted = anchored.adopted if anchored else 0
        self.reaches_back_to = 0
        self.rewrites = 0
        self.redactions = Redactions(mac, self._names, self.base, self.place)
        self._is_anchored = anchored is not None
        self._links = [mac.of("chain begins", *self._names, struct.pack("<Q", self.base))]
        self._ids: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._links) - 1

    def seal(self, turns: Sequence[NewTurn]) -> list[NewTurn]:
        """The turns with their seals, to be appended after all that is known."""
        after = len(self)
        sealed: list[NewTurn] = []
        for nth, turn in enumerate(turns):
            if SEAL in turn.metadata:
                raise InvalidInput(f"the metadata name {SEAL!r} is the seal's own; use another name")
            tag = self._tag(turn_bytes(turn, turn.metadata), after, nth)
            metadata = {**turn.metadata, SEAL: f"{after}.{nth}.{tag.hex()}"}
            sealed.append(replace(turn, metadata=metadata))
        return sealed

    def take(self, turns: Sequence[Turn]) -> list[Turn]:
        """Take in the turns that come next, or compare those that are known; gives them without seals.

        Raises:
            Tampered: one is not as it was written, or not in its place.
        """
        return [self._take(turn) for turn in turns]

    def redacted(self, turn: Turn, seal: object, metadata: Mapping[str, Json], left: Turn) -> Redaction:
        """The seal of a turn that is being redacted, and is taken in as such.

        Args:
            turn: as it was taken in, without its seal.
            seal: the one it had.
            metadata: what it keeps in its metadata.
            left: what is left of it.
        """
        after, nth, had = 0, 0, self._adopted_tag(turn_bytes(turn, turn.metadata))
        if turn.seq > self.adopted:
            known, place, tag = str(seal).split(".")
            after, nth, had = int(known), int(place), bytes.fromhex(tag)
        made = Redaction(after=after, nth=nth, had=had, ordinal=len(self.redactions) + 1)
        made = self.redactions.sealed(made, turn.seq, turn_bytes(left, metadata))
        self.redactions.take(made, turn.seq)
        return made

    def link(self, number: int) -> str:
        """The link after so many turns."""
        return self._links[number].hex()

    def _take(self, turn: Turn) -> Turn:
        number = turn.seq
        if number > len(self) + 1:
            raise Tampered.of(
                "missing", self.place, f"turn {len(self) + 1} was cut out", record=str(len(self) + 1)
            )
        seal = turn.metadata.get(SEAL)
        metadata = {name: value for name, value in turn.metadata.items() if name != SEAL}
        says = turn_bytes(turn, metadata)
        made = redaction_from(seal) if turn.is_redacted else None
        if made is not None and self.redactions.sealed(made, number, says) == made:
            self.redactions.take(made, number)
            self.reaches_back_to = max(self.reaches_back_to, made.after)
            tag = made.had
        elif number in self.redactions:
            why = f"what was redacted in turn {number} is there again"
            raise Tampered.of("rolled back", self.place, why, record=str(number))
        elif number <= self.adopted:
            tag = self._adopted_tag(says)
        else:
            tag = self._checked(number, says, seal, turn.id)
        link = self._mac.of("chain", self._links[number - 1], struct.pack("<Q", number), tag)
        if number > len(self):
            self._links.append(link)
            self._ids[turn.id] = number
        elif link != self._links[number]:
            raise Tampered.of(
                "replaced", self.place, f"turn {number} is another than before", record=str(number)
            )
        return turn if seal is None else replace(turn, metadata=frozen(metadata))

    def _checked(self, number: int, says: bytes, seal: object, id: str) -> bytes:
        """The turn's tag, which is good."""
        record = str(number)
        earlier = self._ids.get(id, number)
        if earlier < number:
            raise Tampered.of("replayed", self.place, f"turn {number} repeats turn {earlier}", record=record)
        if not isinstance(seal, str) and not self._is_anchored and number == 1:
            raise Tampered.of("unsealed", self.place, _UNSEALED, record=record)
        if not isinstance(seal, str):
            why = f"turn {number} carries no seal: it was not written with the key"
            raise Tampered.of("inserted", self.place, why, record=record)
        try:
            after, nth, tag = seal.split(".")
            known, place, wanted = int(after), int(nth), bytes.fromhex(tag)
        except ValueError:
            raise Tampered.of(
                "edited", self.place, f"turn {number}: its seal is none", record=record
            ) from None
        if known + place >= number or min(known, place) < 0:
            raise Tampered.of(
                "reordered", self.place, f"turn {number} was written later than here", record=record
            )
        if self._tag(says, known, place) != wanted:
            why = f"turn {number} is not what was written there"
            raise Tampered.of("edited", self.place, why, record=record)
        self.reaches_back_to = max(self.reaches_back_to, known)
        return wanted

    def _adopted_tag(self, says: bytes) -> bytes:
        return self._mac.of("adopted", *self._names, says)

    def _tag(self, says: bytes, after: int, nth: int) -> bytes:
        place = struct.pack("<QQ", after, nth)
        return self._mac.of("turn", *self._names, self._links[after], place, says)


def check_anchor(seal: ThreadSeal, head: Head | None) -> None:
    """See that the thread reaches the anchored head and passes through it.

    Raises:
        Tampered: it does not.
    """
    if head is None:
        if seal.reaches_back_to:  # only what was appended to nothing can have missed the anchor
            raise Tampered.of("unsealed", seal.place, _UNSEALED)
        return
    kept = head.version - head.base
    if len(seal) < kept:
        if not len(seal):
            raise Tampered.of("missing", seal.place, f"all of its {kept} turns are gone")
        why = f"it ends at turn {len(seal)}, and turn {kept} was written"
        raise Tampered.of("rolled back", seal.place, why, record=str(len(seal) + 1))
    if kept and seal.link(kept) != head.mac:
        why = f"its turns up to number {kept} are not those that were written"
        raise Tampered.of("replaced", seal.place, why)


def check_end(seal: ThreadSeal, there: int, known: int) -> None:
    """See that the thread still reaches what was known of it.

    Raises:
        Tampered: it was cut.
    """
    if there < known:
        why = f"it ends at turn {there}, and turn {known} was read from it"
        raise Tampered.of("rolled back", seal.place, why, record=str(there + 1))
