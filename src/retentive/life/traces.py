"""Fingerprints of what is forgotten, and the search for them in bytes. Pure.

A fingerprint is made of `WINDOW` bytes as a store may write them: of the text in JSON, of what ranking needs,
of the vector, the last two also in base64. Each offset of what is searched is compared with all at once.
"""

import secrets
from base64 import b64encode
from collections.abc import Iterable, Iterator
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from retentive.codec import item_to_json, to_json, turn_to_dict
from retentive.ranking.features import HEAD
from retentive.stores.base import StoredMemory
from retentive.types import Traces, Turn

WINDOW: Final = 16
BLOCK_BYTES: Final = 1 << 20
STEP_BYTES: Final = 64
"""How far apart the windows of a text are at most: what is left of it is found from 80 bytes on."""
MIN_DISTINCT_BYTES: Final = 5
"""Windows of fewer different bytes (zeros, dashes) say nothing."""

Prints: TypeAlias = NDArray[np.uint64]

_WORD = 8
_SPREAD, _MIX = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)
_NO_PRINTS: Final[Prints] = np.zeros(0, dtype=np.uint64)


class Tracing:
    """Gathers the fingerprints of what is about to be forgotten."""

    def __init__(self) -> None:
        self._key = secrets.randbits(64)
        self._words = _Pressed(self._key)
        self._notes = _Pressed(self._key)
        self._turns: set[str] = set()

    def add_memory(self, memory: StoredMemory) -> None:
        """Take in a memory, and what is kept beside it."""
        self._add_content(item_to_json(memory.item), memory.item.content)
        self._words.add(_packed_words(memory.packed), 2)
        encoded = b64encode(memory.packed)
        self._words.add(encoded[len(encoded) // 2 :], 2)  # what comes before is alike in many memories
        if memory.vector is not None:
            self._words.add(memory.vector, 2)
            self._words.add(b64encode(memory.vector), 2)
        if memory.text_key is not None:
            self._words.add(memory.text_key, 1)
            self._words.add(memory.text_key.hex().encode(), 1)

    def add_turn(self, turn: Turn) -> None:
        """Take in what was said in a turn."""
        self._turns.add(turn.id)
        self._add_content(to_json(turn_to_dict(turn)), turn.content)

    def add_note(self, note: bytes) -> None:
        """Take in a note of a scope."""
        self._notes.add(note, 4)
        self._notes.add(b64encode(note), 2)

    def traces(self) -> Traces:
        """The fingerprints of all that was taken in."""
        words, notes = self._words.prints().tobytes(), self._notes.prints().tobytes()
        return Traces(self._key, words, notes, frozenset(self._turns))

    def _add_content(self, line: str, content: str) -> None:
        """The content as it stands in a line of JSON; with what precedes it there if it is short."""
        said = to_json(content).encode()
        written = line.encode()
        begin = written.find(b'"content":' + said) + len(b'"content":')
        if len(said) - 2 < WINDOW:
            end = begin + len(said)
            said = written[max(0, end - WINDOW) : end]
        else:
            said = said[1:-1]
        self._words.add(said, max(4, len(said) // STEP_BYTES + 2))


class _Pressed:
    """Windows, of which the fingerprints alone are kept once there are many."""

    def __init__(self, key: int) -> None:
        self._key = key
        self._windows: list[bytes] = []
        self._prints: list[Prints] = []

    def add(self, data: bytes, most: int) -> None:
        """Up to so many windows of it, from its beginning to its end."""
        last = len(data) - WINDOW
        if last < 0:
            return
        for step in range(most):
            place = last * step // max(1, most - 1)
            window = data[place : place + WINDOW]
            if len(set(window)) >= MIN_DISTINCT_BYTES:
                self._windows.append(window)
        if len(self._windows) >= BLOCK_BYTES // WINDOW:
            self._press()

    def prints(self) -> Prints:
        """The fingerprints of all that was added, sorted, each once."""
        self._press()
        return np.unique(np.concatenate([_NO_PRINTS, *self._prints]))

    def _press(self) -> None:
        if self._windows:
            words = np.frombuffer(b"".join(self._windows), dtype="<u8").reshape(-1, 2)
            self._prints.append(_prints(words[:, 0], words[:, 1], self._key))
            self._windows = []


class Search:
    """Looks for the fingerprints of words, and `with_notes` for those of notes too."""

    def __init__(self, traces: Traces, *, with_notes: bool) -> None:
        self._key = traces.key
        prints = traces.words + (traces.notes if with_notes else b"")
        self._wanted: Prints = np.sort(np.frombuffer(prints, dtype=np.uint64))
        bits = max(16, min(26, len(self._wanted).bit_length() + 5))
        self._shift = np.uint64(64 - bits)
        self._may_be = np.zeros(1 << bits, dtype=np.bool_)
        self._may_be[self._slots(self._wanted)] = True

    def __len__(self) -> int:
        return len(self._wanted)

    def among(self, data: bytes) -> set[int]:
        """The fingerprints that some `WINDOW` bytes of the data have."""
        if len(data) < WINDOW or not len(self) or data.count(0) == len(data):
            return set()
        found: set[int] = set()
        for shift in range(_WORD):
            count = (len(data) - shift) // _WORD
            if count < WINDOW // _WORD:
                break
            words = np.frombuffer(data, dtype="<u8", count=count, offset=shift)
            prints = _prints(words[:-1], words[1:], self._key)
            likely = prints[self._may_be[self._slots(prints)]]
            places = np.searchsorted(self._wanted, likely).clip(max=len(self) - 1)
            found.update(likely[self._wanted[places] == likely].tolist())
        return found

    def in_pieces(self, pieces: Iterable[bytes]) -> tuple[int, set[int]]:
        """How many bytes there are in all, and the fingerprints found in them, also where pieces meet."""
        size, found, carried = 0, set[int](), b""
        for piece in pieces:
            size += len(piece)
            found |= self.among(carried + piece)
            carried = (carried + piece)[-(WINDOW - 1) :]
        return size, found

    def in_memories(self, memories: Iterable[StoredMemory]) -> set[int]:
        """The fingerprints found in any form of the memories."""
        return self._in_forms(form for memory in memories for form in _forms(memory))

    def in_notes(self, notes: Iterable[bytes]) -> set[int]:
        """The fingerprints found in the notes."""
        return self._in_forms(form for note in notes for form in (note, b64encode(note)))

    def in_turns(self, turns: Iterable[Turn]) -> set[int]:
        """The fingerprints found in the turns."""
        return self._in_forms(to_json(turn_to_dict(turn)).encode() for turn in turns)

    def _in_forms(self, forms: Iterable[bytes]) -> set[int]:
        return self.among(b"\n".join(forms))

    def _slots(self, prints: Prints) -> Any:
        return (prints >> self._shift).astype(np.intp)


def _prints(first: Prints, second: Prints, key: int) -> Prints:
    mixed = (first ^ np.uint64(key)) * _SPREAD
    mixed ^= mixed >> np.uint64(32)
    mixed += second
    mixed *= _MIX
    mixed ^= mixed >> np.uint64(29)
    mixed *= _SPREAD
    return mixed


def _packed_words(packed: bytes) -> bytes:
    return packed[HEAD.itemsize :].split(b"\x1f", 1)[0]


def _forms(memory: StoredMemory) -> Iterator[bytes]:
    yield item_to_json(memory.item).encode()
    for data in (memory.packed, memory.vector, memory.text_key):
        if data is not None:
            yield data
            yield b64encode(data)
            yield data.hex().encode()
