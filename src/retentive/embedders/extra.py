"""What an embedder of an extra needs: its packages, its weights, threads to work in."""

import hashlib
import importlib
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType

import anyio
import anyio.to_thread
import numpy as np

from retentive.embedders.base import Vectors
from retentive.errors import InvalidInput

DIGITS = 8
_MAX_SLICES = 4


def needed(module: str, extra: str) -> ModuleType:
    """The module.

    Raises:
        InvalidInput: it is not installed, or not for this platform; the message names the extra.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise InvalidInput(
            f"the embedder {extra!r} needs {module}: pip install 'retentive[{extra}]' ({error})"
        ) from error


def digest(*files: Path) -> str:
    """The first hex digits of the sha256 over the files, one after the other."""
    found = hashlib.sha256()
    for path in files:
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                found.update(block)
    return found.hexdigest()[:DIGITS]


async def in_slices(work: Callable[[Sequence[str]], Vectors], texts: Sequence[str], slices: int) -> Vectors:
    """What `work` gives for all texts, in order, done off the event loop in a few threads at once."""
    step = -(-len(texts) // min(slices, _MAX_SLICES))
    parts: dict[int, Vectors] = {}

    async def do(begin: int) -> None:
        parts[begin] = await anyio.to_thread.run_sync(work, texts[begin : begin + step])

    async with anyio.create_task_group() as group:
        for begin in range(0, len(texts), step):
            group.start_soon(do, begin)
    return np.concatenate([parts[begin] for begin in sorted(parts)])
