"""The two files: what they may leave out, and what is refused with its place."""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from retentive.errors import InvalidInput
from retentive.evaluation.dataset import Asked, Row, load

Lines = Sequence[Mapping[str, object] | str]

TURN = {"corpus": "c", "id": "1", "text": "Ana likes tea."}
QUESTION = {"corpus": "c", "id": "q", "question": "Who likes tea?", "evidence": ["1"]}


def written(folder: Path, memories: Lines, questions: Lines) -> Path:
    for name, lines in (("memories", memories), ("questions", questions)):
        texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
        (folder / f"{name}.jsonl").write_text("\n".join(texts) + "\n", encoding="utf-8")
    return folder


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A process whose own zone is not UTC, where the system lets a process choose."""
    if not hasattr(time, "tzset"):
        yield
        return
    with monkeypatch.context() as patched:
        patched.setenv("TZ", "Asia/Tokyo")
        time.tzset()
        yield
    time.tzset()


def test_turns_are_numbered_by_session_in_the_order_of_the_file(tmp_path: Path) -> None:
    sessions = [1, 1, "b", 1, "b"]
    turns = [{**TURN, "id": number, "session": session} for number, session in enumerate(sessions)]
    corpus = load(written(tmp_path, turns, [{**QUESTION, "evidence": [0]}])).corpora[0]
    assert [(row.id, row.session, row.turn) for row in corpus.rows] == [
        ("0", "1", 1),
        ("1", "1", 2),
        ("2", "b", 1),
        ("3", "1", 3),
        ("4", "b", 2),
    ]


def test_what_is_not_known_may_be_left_out_or_empty(tmp_path: Path) -> None:
    empty = {**TURN, "id": "2", "session": None, "time": "", "speaker": ""}
    corpus = load(written(tmp_path, [TURN, empty], [QUESTION])).corpora[0]
    assert corpus.rows == (Row(id="1", text="Ana likes tea."), Row(id="2", text="Ana likes tea."))
    assert corpus.questions == (Asked(text="Who likes tea?", gold=frozenset({"1"}), category="all"),)


@pytest.mark.parametrize("text", ["2023-05-08T13:56:00", "2023-05-08T15:56:00+02:00", "2023-05-08T13:56:00Z"])
def test_a_time_is_in_utc_and_one_without_a_zone_is_taken_so(
    tmp_path: Path, elsewhere: None, text: str
) -> None:
    corpus = load(written(tmp_path, [{**TURN, "time": text}], [QUESTION])).corpora[0]
    assert corpus.rows[0].at == datetime(2023, 5, 8, 13, 56, tzinfo=UTC)


def test_what_cannot_be_measured_is_left_out_and_counted(tmp_path: Path) -> None:
    blank = {**TURN, "id": "2", "session": 1, "text": " "}
    after = {**TURN, "id": "3", "session": 1}
    unanswered = [{**QUESTION, "evidence": []}, {**QUESTION, "evidence": None}]
    astray = {**QUESTION, "evidence": ["1", "nowhere"]}
    data = load(written(tmp_path, [TURN, blank, after], [*unanswered, astray]))
    assert data.skipped == {
        "memories_without_text": 1,
        "questions_without_evidence": 2,
        "evidence_not_in_corpus": 1,
    }
    assert [(row.id, row.turn) for row in data.corpora[0].rows] == [("1", None), ("3", 2)]
    assert data.corpora[0].questions[0].gold == {"1", "nowhere"}


def test_audited_evidence_is_taken_only_where_asked_for_and_there(tmp_path: Path) -> None:
    second = {**TURN, "id": "2", "text": "Ben likes tea."}
    questions = [QUESTION, {**QUESTION, "evidence_audit": ["2"]}]
    folder = written(tmp_path, [TURN, second], questions)
    assert [one.gold for one in load(folder).corpora[0].questions] == [{"1"}, {"1"}]
    assert [one.gold for one in load(folder, audited=True).corpora[0].questions] == [{"1"}, {"2"}]


def test_only_the_corpora_named_are_loaded(tmp_path: Path) -> None:
    folder = written(tmp_path, [TURN, {**TURN, "corpus": "d"}], [QUESTION, {**QUESTION, "corpus": "d"}])
    assert [corpus.name for corpus in load(folder).corpora] == ["c", "d"]
    assert [corpus.name for corpus in load(folder, ["d"]).corpora] == ["d"]
    with pytest.raises(InvalidInput, match=r"no corpus 'e' in memories.jsonl; there are c, d"):
        load(folder, ["e"])


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ("{", "not JSON"),
        ("[1]", "not a JSON object"),
        ({**TURN, "id": None}, 'no "id"'),
        ({**TURN, "corpus": 1.5}, '"corpus" must be text or a whole number'),
        ({"corpus": "c", "id": "2"}, '"text" must be text'),
        ({**TURN, "id": "2", "text": "a\0b"}, "U\\+0000"),
        ({**TURN, "id": "2", "time": "yesterday"}, '"time" must be a time like'),
        ({**TURN, "id": "2", "time": 5}, '"time" must be a time like'),
        ({**TURN, "id": "2", "speaker": "An\na"}, "cannot be printed"),
        (TURN, "the id '1' stands in corpus 'c' twice"),
    ],
)
def test_a_bad_memory_is_named_by_file_and_line(tmp_path: Path, bad: object, reason: str) -> None:
    folder = written(tmp_path, [TURN, "", bad], [QUESTION])  # type: ignore[list-item]
    with pytest.raises(InvalidInput, match=rf"memories\.jsonl, line 3: .*{reason}"):
        load(folder)


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ("nonsense", "not JSON"),
        ({**QUESTION, "corpus": "x"}, "no memory has the corpus 'x'; there are c"),
        ({**QUESTION, "question": 3}, '"question" must be text'),
        ({**QUESTION, "evidence": "1"}, '"evidence" must be a list of ids'),
        ({**QUESTION, "evidence": [True]}, '"evidence" must hold texts'),
        ({**QUESTION, "category": []}, '"category" must be text'),
    ],
)
def test_a_bad_question_is_named_by_file_and_line(tmp_path: Path, bad: object, reason: str) -> None:
    folder = written(tmp_path, [TURN], [QUESTION, bad])  # type: ignore[list-item]
    with pytest.raises(InvalidInput, match=rf"questions\.jsonl, line 2: .*{reason}"):
        load(folder)


def test_a_folder_without_the_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"memories\.jsonl cannot be read"):
        load(tmp_path)


def test_data_without_any_evidence_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="nothing to measure"):
        load(written(tmp_path, [TURN], [{**QUESTION, "evidence": []}]))
