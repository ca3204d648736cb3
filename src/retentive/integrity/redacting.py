"""What a sealed store leaves in turns that are redacted: called by the store within the redaction itself."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from retentive.checks import Json
from retentive.codec import time_to_text
from retentive.integrity.thread_seal import ThreadSeal
from retentive.stores.base import NOTHING_LEFT, SEAL, Leaving
from retentive.types import REDACTED, REDACTED_AT, Turn


class Redacting:
    """Checks the thread as it stands, and seals what will be left of the turns. See `Leaving`.

    `seal` knows nothing yet. `taken` are, once called, the turns that are redacted, without their seals.
    """

    def __init__(self, seal: ThreadSeal, at: datetime, leaving: Leaving | None) -> None:
        self.taken: list[Turn] = []
        self._seal = seal
        self._at = time_to_text(at)
        self._leaving = leaving

    def __call__(self, turns: Sequence[Turn], taken: Sequence[Turn]) -> Mapping[int, Mapping[str, Json]]:
        """By number, what each redacted turn keeps in its metadata.

        Raises:
            Tampered: the thread is not as it was left.
        """
        seals = {turn.seq: turn.metadata.get(SEAL) for turn in taken}
        opened = self._seal.take(turns)
        going = [turn for turn in opened if turn.seq in seals]
        kept = self._leaving(opened, going) if self._leaving is not None else NOTHING_LEFT
        found: dict[int, Mapping[str, Json]] = {}
        for turn in going:
            more = kept.get(turn.seq, {})
            metadata = {REDACTED_AT: self._at, **more}
            made = self._seal.redacted(
                turn, seals[turn.seq], metadata, replace(turn, content=REDACTED, metadata=metadata)
            )
            found[turn.seq] = {**more, SEAL: made.to_text()}
        self.taken = going
        return found
