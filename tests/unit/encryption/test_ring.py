"""The key ring: the first key of a namespace stays, whoever else makes one."""

from pathlib import Path

from retentive.encryption import FolderRing


async def test_the_first_key_stays(tmp_path: Path) -> None:
    ring = FolderRing(tmp_path / "ring")
    assert await ring.replace("a", None, b"first")
    assert not await ring.replace("a", None, b"second")
    assert await ring.read("a") == b"first"


async def test_a_key_is_replaced_only_by_who_knows_it(tmp_path: Path) -> None:
    ring = FolderRing(tmp_path / "ring")
    await ring.replace("a", None, b"first")
    assert not await ring.replace("a", b"other", b"second")
    assert await ring.replace("a", b"first", b"second")
    assert await ring.namespaces() == ["a"]
    assert await ring.replace("a", b"second", None)
    assert await ring.namespaces() == []
