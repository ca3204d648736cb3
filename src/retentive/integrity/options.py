"""`integrity=`: what turns it on, with which key, anchored where."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from retentive.errors import InvalidInput
from retentive.integrity.anchor import Anchor
from retentive.integrity.folder_anchor import FolderAnchor
from retentive.integrity.mac import Mac
from retentive.integrity.memories import SealedMemoryStore
from retentive.integrity.threads import SealedThreadStore
from retentive.keys import KeySource, load_key, state_folder
from retentive.stores.base import MemoryStore, ThreadStore

KEY_VARIABLE: Final = "RETENTIVE_INTEGRITY_KEY"
OFF: Final = "off"


@dataclass(frozen=True, slots=True, kw_only=True)
class Integrity:
    """How stores are made tamper-evident.

    Args:
        key: the secret: bytes, text, a file that only its owner may read, or a callable such as `KeyringKey`.
            None is RETENTIVE_INTEGRITY_KEY, else a file in the state folder, made at first use.
        anchor: where the heads are kept; None is the folder `anchor` in the state folder. Whoever can write
            the store must not be able to write there.
        name: what the store is called in seals and anchor; None is its URL, so a moved store is refused.
    """

    key: KeySource = field(default=None, repr=False)
    anchor: Anchor | None = None
    name: str | None = None

    def mac(self, url: str) -> Mac:
        """The keyed hash for the store at the URL.

        Raises:
            InvalidInput, StoreUnavailable: there is no usable key.
        """
        key = load_key(self.key, variable=KEY_VARIABLE, default=state_folder() / "integrity.key")
        return Mac(key, self.name or url)

    def anchored(self) -> Anchor:
        """Where the heads are kept."""
        return self.anchor or FolderAnchor(state_folder() / "anchor")


IntegrityOption: TypeAlias = "Integrity | Literal['keyed', 'off'] | None"
"""`keyed` is `Integrity()`. None is off here; for a Memory or thread, what RETENTIVE_INTEGRITY says."""


def integrity_of(option: IntegrityOption) -> Integrity | None:
    """The settings that the option names; None is off.

    Raises:
        InvalidInput: it names none.
    """
    named: object = OFF if option is None else option
    if isinstance(named, Integrity):
        return named
    if named not in ("keyed", OFF):
        known: Sequence[str] = ("keyed", OFF)
        raise InvalidInput(
            f"integrity must be {' or '.join(map(repr, known))} or an Integrity, not {named!r}"
        )
    return Integrity() if named == "keyed" else None


def sealed_memories(store: MemoryStore, integrity: Integrity) -> SealedMemoryStore:
    """The store, sealed."""
    return SealedMemoryStore(store, integrity.mac(store.url), integrity.anchored())


def sealed_threads(store: ThreadStore, integrity: Integrity) -> SealedThreadStore:
    """The store, sealed."""
    return SealedThreadStore(store, integrity.mac(store.url), integrity.anchored())
