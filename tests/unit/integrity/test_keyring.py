"""Keys and heads in the system's keyring, played by one that is kept in memory."""

from collections.abc import Iterator
from pathlib import Path

import keyring
import pytest
from keyring.backend import KeyringBackend

from retentive import Memory
from retentive.integrity import Head, Integrity, KeyringAnchor
from retentive.keys import KeyringKey


class InMemoryKeyring(KeyringBackend):
    priority = 1.0  # pyright: ignore[reportAssignmentType, reportUnannotatedClassAttribute]

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.kept[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        del self.kept[service, username]


@pytest.fixture(autouse=True)
def ring() -> Iterator[InMemoryKeyring]:
    before, ring = keyring.get_keyring(), InMemoryKeyring()
    keyring.set_keyring(ring)
    yield ring
    keyring.set_keyring(before)


def test_a_key_is_made_once_and_kept(ring: InMemoryKeyring) -> None:
    key = KeyringKey("team")
    assert key() == key()
    assert len(bytes.fromhex(key())) == 32
    assert len(ring.kept) == 1


async def test_the_anchor_never_goes_back(tmp_path: Path) -> None:
    anchor = KeyringAnchor(lock_folder=tmp_path)
    assert await anchor.read("a") is None
    await anchor.advance("a", Head(version=2, mac="two"))
    assert (await anchor.advance("a", Head(version=1, mac="one"))).mac == "two"


async def test_a_store_is_sealed_by_them(tmp_path: Path) -> None:
    settings = Integrity(key=KeyringKey("team"), anchor=KeyringAnchor(lock_folder=tmp_path))
    async with Memory(store="memory://", integrity=settings) as memory:
        await memory.remember("the boat is red")
        assert (await memory.recall("boat"))[0].content == "the boat is red"
