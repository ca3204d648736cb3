"""Plain names: what a namespace, a thread or a user may be called, and how a name becomes a file name."""

import unicodedata
from urllib.parse import unquote

from retentive.errors import InvalidInput

MAX_NAME_CHARS = 128
MAX_FILE_NAME_BYTES = 200

_SEPARATORS = frozenset("/\\")
_SAFE = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_")
_DEVICES = frozenset(
    ["con", "prn", "aux", "nul", "conin$", "conout$", "clock$"]
    + [f"{port}{digit}" for port in ("com", "lpt") for digit in "0123456789¹²³"]
)


def check_name(field: str, value: object) -> str:
    """The name, if it is plain: a namespace or a thread id.

    Raises:
        InvalidInput: not text, blank, over `MAX_NAME_CHARS` characters or `MAX_FILE_NAME_BYTES` bytes as a
            file name, `.` or `..`, a path separator, a character that cannot be printed, white space at an
            end, or a device name that some systems reserve (con, nul, com1, ...).
    """
    name = check_user(field, value)
    if _SEPARATORS & set(name):
        raise InvalidInput(f"{field} {name!r} holds a path separator; use a plain name such as 'team-a'")
    if name in {".", ".."}:
        raise InvalidInput(f"{field} {name!r} means a folder; use a plain name")
    if name.split(".", 1)[0].rstrip(" ").casefold() in _DEVICES:
        raise InvalidInput(f"{field} {name!r} is a device name on some systems; use another name")
    if len(file_name(name).encode()) > MAX_FILE_NAME_BYTES:
        raise InvalidInput(f"{field} {name[:20]!r}... is too long to be a file name; shorten it")
    return name


def check_user(field: str, value: object) -> str:
    """The user id, if it is printable text of 1 to `MAX_NAME_CHARS` characters; it never becomes a path.

    Raises:
        InvalidInput: anything else.
    """
    if not isinstance(value, str):
        raise InvalidInput(f"{field} must be text (str), not {type(value).__name__}")
    if not value or value != value.strip():
        raise InvalidInput(f"{field} {value!r} is empty or has white space at an end; pass a name")
    if len(value) > MAX_NAME_CHARS:
        raise InvalidInput(f"{field} has {len(value)} characters; the limit is {MAX_NAME_CHARS}")
    if not value.isprintable():
        raise InvalidInput(f"{field} {value!r} holds a character that cannot be printed; leave it out")
    return value


def file_name(name: str) -> str:
    """The name as one file name: plain lower-case names stay as they are, the rest is percent-encoded.

    Distinct names stay distinct on file systems that ignore case or change the Unicode form, because the
    result is its own NFC casefold (and comes back from upper case, by which some compare), and `name_of`
    gives the name back.
    """
    readable = "".join(c if _is_safe(c) or (not c.isascii() and c.isalnum()) else _escape(c) for c in name)
    if readable.isascii() or _survives_every_folding(readable):
        return readable
    return "".join(c if _is_safe(c) else _escape(c) for c in name)


def name_of(file_name: str) -> str:
    """The name that `file_name` was made from."""
    return unquote(file_name)


def _survives_every_folding(text: str) -> bool:
    folded = unicodedata.normalize("NFC", text.casefold())
    return folded == text == unicodedata.normalize("NFC", text.upper().lower())


def _is_safe(char: str) -> bool:
    return char in _SAFE


def _escape(char: str) -> str:
    return "".join(f"%{byte:02x}" for byte in char.encode())
