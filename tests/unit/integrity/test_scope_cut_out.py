"""A scope that was cut out whole is missed by what goes over all scopes."""

import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path

import pytest

from retentive import Memory, RetentionPolicy, Tampered
from retentive.integrity import FolderAnchor, Integrity

OVER_ALL: dict[str, Callable[[Memory, Path], Awaitable[object]]] = {
    "scopes": lambda memory, _: memory.scopes(),
    "export": lambda memory, folder: memory.export(folder / "all.zip"),
    "prune": lambda memory, _: memory.prune(RetentionPolicy(), everyone=True),
    "clear": lambda memory, _: memory.clear(everyone=True),
}


def opened(folder: Path) -> Memory:
    keyed = Integrity(key=b"k" * 32, anchor=FolderAnchor(folder / "anchor"))
    return Memory(store=f"sqlite:///{folder.as_posix()}/m.db", integrity=keyed)


@pytest.mark.parametrize("verb", OVER_ALL)
async def test_a_scope_cut_out_whole_is_missed(verb: str, tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        for user in ("ann", "bob", "eve"):
            await memory.remember(f"The limit of {user} is 250.", user_id=user)
        await memory.clear(user_id="eve")  # an honest end is none of it
        assert [scope.user_id for scope in await memory.scopes()] == ["ann", "bob"]
    with closing(sqlite3.connect(tmp_path / "m.db")) as attacker, attacker:
        (scope,) = attacker.execute("SELECT scope_id FROM scopes WHERE user_id = 'ann'").fetchone()
        for table in ("memories", "notes", "scopes"):
            attacker.execute(f"DELETE FROM {table} WHERE scope_id = ?", (scope,))
    async with opened(tmp_path) as memory:
        with pytest.raises(Tampered, match=r"ann.*all it held is gone"):
            await OVER_ALL[verb](memory, tmp_path)
        assert await memory.count(user_id="bob") == 1
