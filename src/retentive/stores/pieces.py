"""The bytes of files, piece after piece, in a way that does no harm to the store that has them open."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from retentive.stores.base import MemoryStore, ReadsFiles, ThreadStore
from retentive.stores.wrapped import layers

PIECE_BYTES: Final = 1 << 20


def pieces_of(store: MemoryStore | ThreadStore, path: Path) -> Iterator[bytes]:
    """The bytes of a file that the store or a store in it keeps; blocking.

    Raises:
        OSError, StoreError: it cannot be read.
    """
    bare = layers(store)[-1]
    return bare.pieces(path) if isinstance(bare, ReadsFiles) else pieces(path)


def pieces(path: Path) -> Iterator[bytes]:
    """The bytes of a file that nothing locks.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        while piece := file.read(PIECE_BYTES):
            yield piece
