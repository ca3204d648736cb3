"""Vectors that were asked for lately, kept: for an embedder that costs time or money."""

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Sequence
from hashlib import blake2b
from typing import TypeAlias
from weakref import WeakKeyDictionary

import numpy as np

from retentive.embedders.base import Embedder, EmbedKind, Vectors, embed_checked
from retentive.errors import InvalidInput

_Key: TypeAlias = tuple[EmbedKind, bytes]
_Answer: TypeAlias = "asyncio.Future[Vectors]"


class CachedEmbedder:
    """An Embedder that asks another one only for what it has not kept: the vectors asked for last.

    Has the name and the dimensions of the inner one, so both make the same vectors. A text that is asked for
    again while its vector is under way is not asked for twice, in one event loop. Only right answers are
    kept, texts themselves are not. The inner one stays yours to close.
    """

    def __init__(self, inner: Embedder, *, max_items: int = 10_000) -> None:
        """Keep at most `max_items` vectors, each 4 bytes a number; the least recently used goes first.

        Raises:
            InvalidInput: `max_items` is below 1.
        """
        if max_items < 1:
            raise InvalidInput(f"max_items must be 1 or more, not {max_items}")
        self._inner = inner
        self._max_items = max_items
        self._lock = threading.Lock()
        self._kept: OrderedDict[_Key, Vectors] = OrderedDict()
        self._coming: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[_Key, _Answer]] = WeakKeyDictionary()

    @property
    def name(self) -> str:
        """The inner one's."""
        return self._inner.name

    @property
    def dimensions(self) -> int:
        """The inner one's."""
        return self._inner.dimensions

    def __len__(self) -> int:
        return len(self._kept)

    def __repr__(self) -> str:
        return f"CachedEmbedder({self._inner!r}, max_items={self._max_items})"

    async def embed(self, texts: Sequence[str], kind: EmbedKind) -> Vectors:
        """One row of unit length for each text, in order; zeros for a text without a vector.

        Raises:
            EmbedderError: as the inner one.
        """
        keys = [_key(text, kind) for text in texts]
        wanted, rows = dict(zip(keys, texts, strict=True)), dict[_Key, Vectors]()
        while True:
            rows |= self._known([key for key in wanted if key not in rows])
            missing = {key: text for key, text in wanted.items() if key not in rows}
            if not missing:
                break
            coming = self._coming.setdefault(asyncio.get_running_loop(), {})
            own = {key: text for key, text in missing.items() if key not in coming}
            if own:
                rows |= await self._ask(own, kind, coming)
            else:
                await asyncio.wait({coming[key] for key in missing})
        return np.stack([rows[key] for key in keys]) if keys else np.zeros((0, self.dimensions), np.float32)

    async def _ask(
        self, texts: dict[_Key, str], kind: EmbedKind, coming: dict[_Key, _Answer]
    ) -> dict[_Key, Vectors]:
        """The rows of the texts, kept from now on; others that want them wait for `coming` meanwhile."""
        done: _Answer = asyncio.get_running_loop().create_future()
        coming.update(dict.fromkeys(texts, done))
        try:
            table = await embed_checked(self._inner, list(texts.values()), kind)
            rows = dict(zip(texts, (row.copy() for row in table), strict=True))
            self._keep(rows)
            return rows
        finally:
            for key in texts:
                coming.pop(key, None)
            done.cancel()  # whoever waited looks again, and asks for itself if this failed

    def _known(self, keys: Sequence[_Key]) -> dict[_Key, Vectors]:
        with self._lock:
            found = {key: self._kept[key] for key in keys if key in self._kept}
            for key in found:
                self._kept.move_to_end(key)
        return found

    def _keep(self, rows: dict[_Key, Vectors]) -> None:
        with self._lock:
            self._kept.update(rows)
            while len(self._kept) > self._max_items:
                self._kept.popitem(last=False)


def _key(text: str, kind: EmbedKind) -> _Key:
    return kind, blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
