import re
from pathlib import Path

from retentive.redaction import Redacted


class Digits:
    """Takes out every run of digits; fails where it is told to, quoting the text."""

    def __init__(self, *, fails: bool = False) -> None:
        self.fails = fails
        self.seen: list[str] = []

    def redact(self, text: str) -> Redacted:
        self.seen.append(text)
        if self.fails:
            raise ValueError(f"cannot read {text!r}")
        left, count = re.subn(r"\d+", "[number]", text)
        return Redacted(left, {"number": count} if count else {})


def kept_in(folder: Path) -> bytes:
    """All bytes of all files."""
    return b"".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())
