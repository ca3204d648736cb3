"""The data of a recall benchmark: memories and questions by corpus, read from two files of JSON lines.

Questions are only ever asked of the memories of their own corpus.
"""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from retentive import checks
from retentive.errors import InvalidInput

MEMORIES, QUESTIONS = "memories.jsonl", "questions.jsonl"
UNCATEGORISED = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One memory to be. With a session it is a turn, and `turn` its place there from 1; else a plain fact."""

    id: str
    text: str
    session: str | None = None
    turn: int | None = None
    at: datetime | None = None
    speaker: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question, and the ids of the memories that answer it: at least one."""

    text: str
    gold: frozenset[str]
    category: str = UNCATEGORISED


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """What belongs together, in the order of the files."""

    name: str
    rows: tuple[Row, ...]
    questions: tuple[Asked, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """The corpora, and how much of the files was left out and why."""

    corpora: tuple[Corpus, ...]
    skipped: Mapping[str, int] = field(default_factory=dict[str, int])


def load(folder: Path, only: Collection[str] = (), *, audited: bool = False) -> Dataset:
    """The data set in `folder`; `only` names the corpora wanted, empty means all.

    Left out and counted: memories without text, and questions without evidence. Evidence that names no memory
    of the corpus is counted too, and stays: it can never be found. A time without a zone is taken as UTC.

    Args:
        folder: holds memories.jsonl and questions.jsonl.
        only: names of corpora.
        audited: where a question has `evidence_audit`, take that for its evidence.

    Raises:
        InvalidInput: a file cannot be read, or a line cannot be used: the message names the file and the
            line. Or a corpus of `only` is not there, or no question is left.
    """
    rows, blank = _rows(folder / MEMORIES)
    missing = sorted(set(only) - rows.keys())
    if missing:
        raise InvalidInput(f"no corpus {missing[0]!r} in {MEMORIES}; there are {_listed(rows)}")
    asked, unanswered = _questions(folder / QUESTIONS, rows, audited=audited)
    wanted = [name for name in rows if name in set(only) or not only]
    corpora = tuple(
        Corpus(name=name, rows=tuple(rows[name]), questions=tuple(asked.get(name, ()))) for name in wanted
    )
    if not any(corpus.questions for corpus in corpora):
        raise InvalidInput(f"no question with evidence in {folder / QUESTIONS}: there is nothing to measure")
    return Dataset(
        corpora=corpora,
        skipped={
            "memories_without_text": sum(blank.get(name, 0) for name in wanted),
            "questions_without_evidence": sum(unanswered.get(name, 0) for name in wanted),
            "evidence_not_in_corpus": sum(map(_unknown, corpora)),
        },
    )


def _unknown(corpus: Corpus) -> int:
    known = {row.id for row in corpus.rows}
    return sum(len(question.gold - known) for question in corpus.questions)


def _rows(path: Path) -> tuple[dict[str, list[Row]], dict[str, int]]:
    """The memories of each corpus, and how many of each were blank; a blank turn still counts as a turn."""
    rows: dict[str, list[Row]] = {}
    blank: dict[str, int] = {}
    turns: dict[tuple[str, str], int] = {}
    seen: set[tuple[str, str]] = set()
    for line in _lines(path):
        corpus, row = line.name("corpus"), _row(line)
        if (corpus, row.id) in seen:
            raise line.refused(f"the id {row.id!r} stands in corpus {corpus!r} twice")
        seen.add((corpus, row.id))
        if row.session is not None:
            turn = turns[corpus, row.session] = turns.get((corpus, row.session), 0) + 1
            row = replace(row, turn=turn)
        rows.setdefault(corpus, [])
        if row.text.strip():
            rows[corpus].append(row)
        else:
            blank[corpus] = blank.get(corpus, 0) + 1
    return rows, blank


def _row(line: "_Line") -> Row:
    text = line.text("text")
    if text.strip():
        line.checked(checks.check_text, "text", text)
    speaker = line.optional_name("speaker")
    if speaker is not None:
        line.checked(checks.check_label, "speaker", speaker)
    return Row(
        id=line.name("id"),
        text=text,
        session=line.optional_name("session"),
        at=line.time("time"),
        speaker=speaker,
    )


def _questions(
    path: Path, rows: Mapping[str, Sequence[Row]], *, audited: bool
) -> tuple[dict[str, list[Asked]], dict[str, int]]:
    """The questions of each corpus, and how many of each had no evidence."""
    asked: dict[str, list[Asked]] = {}
    unanswered: dict[str, int] = {}
    for line in _lines(path):
        corpus = line.name("corpus")
        if corpus not in rows:
            raise line.refused(f"no memory has the corpus {corpus!r}; there are {_listed(rows)}")
        text, category = line.text("question"), line.optional_name("category") or UNCATEGORISED
        gold = line.ids("evidence_audit" if audited and line.has("evidence_audit") else "evidence")
        if gold:
            asked.setdefault(corpus, []).append(Asked(text=text, gold=gold, category=category))
        else:
            unanswered[corpus] = unanswered.get(corpus, 0) + 1
    return asked, unanswered


def _listed(names: Collection[str], most: int = 10) -> str:
    shown = ", ".join(list(names)[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown or "none"


@dataclass(frozen=True, slots=True)
class _Line:
    """One line's object, and where it stands."""

    path: Path
    number: int
    data: Mapping[str, object]

    def refused(self, reason: object) -> InvalidInput:
        return InvalidInput(f"{self.path}, line {self.number}: {reason}")

    def checked(self, check: Any, name: str, value: object) -> None:
        try:
            check(name, value)
        except InvalidInput as error:
            raise self.refused(error) from error

    def has(self, name: str) -> bool:
        return self.data.get(name) is not None

    def text(self, name: str) -> str:
        value = self.data.get(name)
        if not isinstance(value, str):
            raise self.refused(f'"{name}" must be text, not {value!r}')
        return value

    def name(self, name: str) -> str:
        """The text or whole number as text; never empty."""
        value = self.optional_name(name)
        if value is None:
            raise self.refused(f'no "{name}"')
        return value

    def optional_name(self, name: str) -> str | None:
        value = self.data.get(name)
        if value is None or value == "":
            return None
        if not isinstance(value, (str, int)) or isinstance(value, bool):
            raise self.refused(f'"{name}" must be text or a whole number, not {value!r}')
        return str(value)

    def ids(self, name: str) -> frozenset[str]:
        value: object = self.data.get(name)
        if value is None:
            return frozenset()
        if not isinstance(value, list):
            raise self.refused(f'"{name}" must be a list of ids, not {value!r}')
        ids = cast("list[object]", value)
        if any(not isinstance(one, (str, int)) or isinstance(one, bool) or one == "" for one in ids):
            raise self.refused(f'"{name}" must hold texts or whole numbers only, not {ids!r}')
        return frozenset(map(str, ids))

    def time(self, name: str) -> datetime | None:
        text = self.data.get(name)
        if text is None or text == "":
            return None
        try:
            at = datetime.fromisoformat(cast("str", text))
            return at.replace(tzinfo=UTC) if at.utcoffset() is None else at.astimezone(UTC)
        except (TypeError, ValueError, OverflowError) as error:
            raise self.refused(f'"{name}" must be a time like 2026-03-01T09:30:00, not {text!r}') from error


def _lines(path: Path) -> Iterator[_Line]:
    try:
        with path.open("rb") as file:
            for number, raw in enumerate(file, start=1):
                if raw.strip():
                    yield _Line(path, number, _object(path, number, raw))
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror or error}") from error


def _object(path: Path, number: int, raw: bytes) -> Mapping[str, object]:
    try:
        value: object = json.loads(raw.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{path}, line {number}: not JSON in UTF-8: {error}") from error
    if not isinstance(value, dict):
        raise InvalidInput(f"{path}, line {number}: not a JSON object")
    return cast("dict[str, object]", value)
