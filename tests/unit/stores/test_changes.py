"""What a change may carry is checked when it is made, before any store sees it."""

from typing import Any

import pytest

from retentive.errors import InvalidInput
from retentive.stores.base import MAX_NOTE_BYTES, MAX_NOTE_NAME_CHARS, Changes
from retentive.testing.memory_model import make_memory
from retentive.types import Scope

ANN = Scope("acme", "ann")


@pytest.mark.parametrize(
    "name", ["", " ", "a\x00b", "\ud800", "n" * (MAX_NOTE_NAME_CHARS + 1), 7, None, b"n"]
)
@pytest.mark.parametrize("field", ["notes", "expected"])
def test_a_notes_name_is_storable_text_of_limited_length(name: Any, field: str) -> None:
    def change(named: Any) -> Changes:
        fields: dict[str, Any] = {field: {named: b""}}
        return Changes(scope=ANN, **fields)

    with pytest.raises(InvalidInput, match="note's name"):
        change(name)
    change("n" * MAX_NOTE_NAME_CHARS)


@pytest.mark.parametrize("note", ["text", 7, bytearray(b"n"), memoryview(b"n"), [b"n"]])
def test_a_note_is_bytes(note: Any) -> None:
    with pytest.raises(InvalidInput, match="'n' must be bytes or None"):
        Changes(scope=ANN, notes={"n": note})


def test_a_note_has_a_limit() -> None:
    Changes(scope=ANN, notes={"n": bytes(MAX_NOTE_BYTES)})
    with pytest.raises(InvalidInput, match="split it"):
        Changes(scope=ANN, notes={"n": bytes(MAX_NOTE_BYTES + 1)})


def test_a_memory_of_another_scope_is_refused() -> None:
    with pytest.raises(InvalidInput, match="another scope"):
        Changes(scope=ANN, inserts=[make_memory(Scope("acme"), "a")])
