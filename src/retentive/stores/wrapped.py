"""Stores around stores: a wrapper names the one it wraps `inner`, and may say that it `encrypts`."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeVar

from retentive.errors import InvalidInput, WrongKey
from retentive.stores.base import ENCRYPTED, SEAL, KeepsFiles, ListsIds, MemoryStore, ThreadStore
from retentive.types import Scope, Turn

_Power = TypeVar("_Power")


def layers(store: MemoryStore | ThreadStore) -> list[Any]:
    """The store and all that it wraps, outermost first; the last one keeps the data."""
    found: list[Any] = [store]
    while _is_store(inner := getattr(found[-1], "inner", None)):
        found.append(inner)
    return found


def able(store: MemoryStore | ThreadStore, power: type[_Power]) -> _Power | None:
    """The store, if it has the extra power and so has each that it wraps; else None."""
    return store if all(isinstance(layer, power) for layer in layers(store)) else None  # pyright: ignore[reportReturnType]


def bare_memories(store: MemoryStore) -> MemoryStore:
    """The innermost store: what it keeps is what is on the disk."""
    return layers(store)[-1]


def bare_threads(store: ThreadStore) -> ThreadStore:
    """The innermost store: what it keeps is what is on the disk."""
    return layers(store)[-1]


def without_keys(store: MemoryStore) -> MemoryStore:
    """The store as it is read and written without the keys that it is encrypted with; a seal stays."""
    return next((layer.inner for layer in layers(store) if getattr(layer, "encrypts", False)), store)


async def ids_of(store: MemoryStore, scope: Scope) -> list[str]:
    """The ids of all memories of the scope, sorted, whether the store lists them or not."""
    if (lists := able(store, ListsIds)) is not None:
        return await lists.ids(scope)
    return sorted([row.id for row in (await store.scan(scope, 0)).rows])


async def files_of(store: MemoryStore | ThreadStore, namespace: str) -> list[Path]:
    """See `KeepsFiles.files`.

    Raises:
        InvalidInput: the store does not say. `able` tells that before.
    """
    if (keeps := able(store, KeepsFiles)) is None:
        raise InvalidInput(f"{store.url} does not say in which files its data are")
    return await keeps.files(namespace)


def encrypts(store: MemoryStore | ThreadStore) -> bool:
    """Whether what the store is given is encrypted before it is kept."""
    return any(getattr(layer, "encrypts", False) for layer in layers(store))


def check_readable(thread: str, turns: Iterable[Turn]) -> None:
    """Nothing, if the turns were read with the guards of their thread, as far as reading needs them.

    Raises:
        WrongKey: they are encrypted, and were read without.
    """
    if any(ENCRYPTED in turn.metadata for turn in turns):
        raise WrongKey(
            f"thread {thread!r} is encrypted and was opened without: pass encryption= with its key, set "
            "RETENTIVE_ENCRYPTION=keyed, or pass a store that has it: memory.guards.threads(store)"
        )


def check_guarded(thread: str, turns: Iterable[Turn]) -> None:
    """Nothing, if the turns were read with the guards of their thread, so that it may be changed.

    Raises:
        WrongKey: they are encrypted, and were read without.
        InvalidInput: they are sealed, and were read without: a change would look like tampering.
    """
    turns = list(turns)
    check_readable(thread, turns)
    if any(SEAL in turn.metadata for turn in turns):
        raise InvalidInput(
            f"thread {thread!r} is sealed and was opened without: to change it so would look like tampering "
            "later, and nothing was changed. Pass integrity= as when it was written, set "
            "RETENTIVE_INTEGRITY=keyed, or pass a store that has it: memory.guards.threads(store)"
        )


def _is_store(value: object) -> bool:
    return callable(getattr(value, "namespaces", None)) and callable(getattr(value, "close", None))
