"""The notes that extraction keeps in a scope: how far a thread was drawn from, what waits, what was given up.

They change in the same store change as the memories drawn, so there is never a hole and never a double.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Any, Final, TypeAlias, cast

from retentive.codec import time_from_text, time_to_text, to_json
from retentive.errors import StoreCorrupt
from retentive.extraction.limits import ExtractionLimits

WATERMARKS: Final = "extract/"
DEAD: Final = "dead"
DEAD_TURNS: Final = "dead/"
DEAD_EXCHANGES: Final = "dead-exchange/"
EXCHANGES: Final = "exchange/"
MAX_ERROR_CHARS: Final = 300

Changed: TypeAlias = Mapping[str, bytes | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why a window could not be extracted; `outage` when that was not the window's fault."""

    error: str
    outage: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Tries:
    """How often the window at hand failed, and why the last time."""

    attempts: int = 0
    outages: int = 0
    error: str | None = None

    def after(self, failure: Failure) -> "Tries":
        """The tries with one more failure."""
        return Tries(
            attempts=self.attempts + (not failure.outage),
            outages=self.outages + failure.outage,
            error=failure.error[:MAX_ERROR_CHARS],
        )

    def used_up(self, limits: ExtractionLimits) -> bool:
        """Whether the window is to be given up."""
        return self.attempts >= limits.attempts or self.outages >= limits.outages

    @property
    def total(self) -> int:
        """All failures."""
        return self.attempts + self.outages


@dataclass(frozen=True, slots=True, kw_only=True)
class Watermark:
    """How far a thread was extracted: up to turn `seq`, of which `turn` is the id (None: not known)."""

    namespace: str
    thread: str
    seq: int
    turn: str | None = None
    tries: Tries = field(default_factory=Tries)

    @property
    def name(self) -> str:
        """The name of its note."""
        return f"{WATERMARKS}{self.namespace}/{self.thread}"

    def past(self, seq: int, turn: str) -> "Watermark":
        """The watermark after these turns."""
        return replace(self, seq=seq, turn=turn, tries=Tries())


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """What was said in a run without a thread, until the memories are drawn from it.

    `user` is None where that part was extracted already. `is_open` while the run goes on.
    """

    run_id: str
    at: datetime
    user: str | None
    assistant: str = ""
    is_open: bool = False
    recalled: tuple[str, ...] = ()
    tries: Tries = field(default_factory=Tries)

    @property
    def name(self) -> str:
        """The name of its note."""
        return f"{EXCHANGES}{self.run_id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetter:
    """A window that was given up after repeated failure: which turns, why, when. It can be tried again.

    Turns `first` to `last` of the thread, or the exchange of the run `run_id`. `attempts` counts all
    failures; `error` says what the last one was.
    """

    user_id: str | None
    namespace: str | None = None
    thread: str | None = None
    first: int = 1
    last: int = 2
    run_id: str | None = None
    at: datetime
    attempts: int
    error: str

    @property
    def name(self) -> str:
        """The name of its note."""
        if self.run_id is not None:
            return f"{DEAD_EXCHANGES}{self.run_id}"
        return f"{DEAD_TURNS}{self.namespace}/{self.thread}/{self.first}"


def encode(value: Watermark | Exchange | DeadLetter, **more: Any) -> bytes:
    """The note's bytes. `more` is kept beside it."""
    data = {name: _plain(each) for name, each in asdict(value).items()} | more
    return to_json(data).encode()


def watermark(name: str, kept: bytes) -> Watermark:
    """The watermark in a note.

    Raises:
        StoreCorrupt: it holds none.
    """
    return _decoded(Watermark, name, kept)


def exchange(name: str, kept: bytes) -> Exchange:
    """The exchange in a note.

    Raises:
        StoreCorrupt: it holds none.
    """
    return _decoded(Exchange, name, kept)


def dead_letter(name: str, kept: bytes) -> tuple[DeadLetter, Exchange | None]:
    """The dead letter in a note, with the exchange it is about, if it is about one.

    Raises:
        StoreCorrupt: it holds none.
    """
    held = _loaded(name, kept).get("exchange")
    return _decoded(DeadLetter, name, kept), None if held is None else _made(Exchange, name, held)


def _plain(value: object) -> Any:
    return time_to_text(value) if isinstance(value, datetime) else value


def plain(value: Exchange) -> dict[str, Any]:
    """The exchange as JSON, to be kept in a dead letter."""
    return json.loads(encode(value))


def _loaded(name: str, kept: bytes) -> dict[str, Any]:
    try:
        data = json.loads(kept)
    except ValueError as error:
        raise StoreCorrupt(f"note {name!r} is not JSON: {error}") from error
    if not isinstance(data, dict):
        raise StoreCorrupt(f"note {name!r} is not a JSON object")
    return cast("dict[str, Any]", data)


def _decoded(kind: type[Any], name: str, kept: bytes) -> Any:
    return _made(kind, name, _loaded(name, kept))


def _made(kind: type[Any], name: str, data: dict[str, Any]) -> Any:
    known = {key: value for key, value in data.items() if key in kind.__dataclass_fields__}
    try:
        if "at" in known:
            known["at"] = time_from_text(known["at"])
        if "tries" in known:
            known["tries"] = Tries(**known["tries"])
        if "recalled" in known:
            known["recalled"] = tuple(known["recalled"])
        return kind(**known)
    except (TypeError, ValueError) as error:
        raise StoreCorrupt(f"note {name!r} is no {kind.__name__}: {error}") from error
