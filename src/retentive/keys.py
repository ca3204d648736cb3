"""Where secret keys come from: the environment, a private file, the system's keyring, a callback."""

import base64
import binascii
import contextlib
import hashlib
import os
import secrets
import stat
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from retentive.errors import InvalidInput, StoreUnavailable

KeySource: TypeAlias = "bytes | str | Path | Callable[[], bytes | str] | None"
"""A key, its text (64 hex digits or base64), a file that holds the text, or a callable that gives one."""

KEY_BYTES = 32
STATE_VARIABLE = "RETENTIVE_STATE"


def state_folder() -> Path:
    """Where keys and anchors are kept, away from every store: RETENTIVE_STATE, else the user's own folder.

    It need not exist yet.
    """
    named = os.environ.get(STATE_VARIABLE)
    if named:
        return Path(named).expanduser().absolute()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "retentive"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "retentive"
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "retentive"


@dataclass(frozen=True, slots=True)
class KeyringKey:
    """A key in the operating system's keyring, made at first use. Needs the extra `keyring`."""

    name: str
    user: str = "retentive"

    def __call__(self) -> str:
        """The key's text.

        Raises:
            InvalidInput: the extra is not installed.
            StoreUnavailable: the keyring cannot be opened.
        """
        keyring = import_keyring()
        try:
            found = keyring.get_password(self.name, self.user)
            if found is None:
                found = secrets.token_hex(KEY_BYTES)
                keyring.set_password(self.name, self.user, found)
        except keyring.errors.KeyringError as error:
            raise StoreUnavailable(f"the keyring did not give key {self.name!r}: {error}") from error
        return found


def import_keyring():  # pyright: ignore[reportUnknownParameterType]
    """The module `keyring`.

    Raises:
        InvalidInput: the extra is not installed.
    """
    try:
        import keyring
        import keyring.errors
    except ImportError as error:
        raise InvalidInput('the system keyring needs an extra: pip install "retentive[keyring]"') from error
    return keyring


def load_key(source: KeySource, *, variable: str, default: Path) -> bytes:
    """The key's bytes, at least 32.

    None is the environment variable, else the file `default`, which is made with a new key if it is missing.

    Raises:
        InvalidInput: it is no key, too short, or in a file that others may read.
        StoreUnavailable: the file cannot be read or made.
    """
    if source is None:
        text = os.environ.get(variable)
        return _from_text(text, variable) if text else _from_file(default, make=True)
    if isinstance(source, Path):
        return _from_file(source, make=False)
    given = source() if callable(source) else source
    return _checked(given, "the key") if isinstance(given, bytes) else _from_text(given, "the key")


def derive(key: bytes, purpose: str) -> bytes:
    """A key of 32 bytes for one purpose (16 bytes of name at most); others cannot be told from it."""
    short = hashlib.blake2b(key, digest_size=64).digest()
    return hashlib.blake2b(key=short, digest_size=KEY_BYTES, person=purpose.encode()).digest()


def _from_text(text: object, what: str) -> bytes:
    if not isinstance(text, str):
        raise InvalidInput(f"{what} must be bytes or text, not {type(text).__name__}")
    text = text.strip()
    with contextlib.suppress(ValueError):
        return _checked(bytes.fromhex(text), what)
    try:
        return _checked(base64.b64decode(text, validate=True), what)
    except binascii.Error as error:
        raise InvalidInput(f"{what} is neither hex nor base64; {_HOW}") from error


def _checked(key: bytes, what: str) -> bytes:
    if len(key) < KEY_BYTES:
        raise InvalidInput(f"{what} has {len(key)} bytes; it needs {KEY_BYTES}. {_HOW}")
    return key


_HOW = "make one with: python -c 'import secrets; print(secrets.token_hex(32))'"


def _from_file(path: Path, *, make: bool) -> bytes:
    try:
        if make:
            _make(path)
        mode = path.stat().st_mode
        text = path.read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError) as error:
        raise StoreUnavailable(f"the key file {path} cannot be read: {error}") from error
    if os.name != "nt" and mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise InvalidInput(f"others may read the key file {path}: chmod 600 it")
    return _from_text(text, f"the key file {path}")


def _make(path: Path) -> None:
    """Make the file with a new key, whole or not at all, unless it is there."""
    if path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(fd, "w", encoding="ascii") as file:
            file.write(secrets.token_hex(KEY_BYTES) + "\n")
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileExistsError):
            os.link(draft, path)  # the first of several processes wins
    finally:
        draft.unlink()
