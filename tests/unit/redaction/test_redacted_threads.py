from pathlib import Path

import pytest
from digits_redactor import Digits, kept_in

from retentive import open_thread
from retentive.errors import InvalidInput, RedactionError
from retentive.stores.jsonl_threads import JsonlThreadStore


async def test_turns_are_redacted_before_they_are_kept(digits: Digits, tmp_path: Path) -> None:
    thread = await open_thread("t", home=tmp_path, redactor=digits)
    await thread.append("My PIN is 98765432", metadata={"run": "98765", "at": "desk 98765432"})
    await thread.append_many(["nothing", {"content": "98765432 it is", "role": "assistant"}])
    said = thread.messages()
    assert [turn.content for turn in said] == ["My PIN is [number]", "nothing", "[number] it is"]
    assert dict(said[0].metadata) == {"run": "98765", "at": "desk [number]", "redacted": {"number": 2}}
    assert dict(said[1].metadata) == {}
    assert not said[0].is_redacted
    assert b"98765432" not in kept_in(tmp_path)


async def test_a_redactor_that_fails_refuses_the_turn(broken: Digits, tmp_path: Path) -> None:
    thread = await open_thread("t", home=tmp_path, redactor=broken)
    with pytest.raises(RedactionError):
        await thread.append("My PIN is 1")
    assert not thread.messages()
    assert not kept_in(tmp_path)


async def test_a_thread_opened_with_a_redactor_is_another_object(digits: Digits, tmp_path: Path) -> None:
    store = JsonlThreadStore(tmp_path)
    redacting, plain = (
        await open_thread("t", store=store, redactor=digits),
        await open_thread("t", store=store),
    )
    await plain.append("7 it is")
    await redacting.append("8 it is")
    assert [turn.content for turn in (await plain.refresh()).messages()] == ["7 it is", "[number] it is"]


async def test_what_is_no_redactor_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="redactor"):
        await open_thread("t", home=tmp_path, redactor="standard")  # pyright: ignore[reportArgumentType]
