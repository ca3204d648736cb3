"""How far a statement is to be trusted, by who said it.

| origin | trust | why |
|---|---|---|
| user | 4 | the person whose memory it is |
| assistant | 3 | the model, answering that person |
| tool | 2 | a program that was called; its output may hold other people's words |
| document | 1 | a text that was read; anybody may have written it |
| imported | 0 | from another system: who said it is not known |

No later step raises it: what is drawn from several sources has the origin of the least trusted one.
"""

from collections.abc import Iterable
from typing import Final

from retentive.types import MemoryItem, Origin

_TRUST: Final = {
    Origin.USER: 4,
    Origin.ASSISTANT: 3,
    Origin.TOOL: 2,
    Origin.DOCUMENT: 1,
    Origin.IMPORTED: 0,
}


def trust(origin: Origin) -> int:
    """From 4 (the user said it) down to 0 (nobody knows who did)."""
    return _TRUST[origin]


def lowest(origins: Iterable[Origin]) -> Origin:
    """The least trusted of them; IMPORTED if there are none."""
    return min(origins, key=trust, default=Origin.IMPORTED)


def may_replace(new: MemoryItem, old: MemoryItem) -> bool:
    """Whether the new one may take the old one's place: only with the same trust or more."""
    return trust(new.origin) >= trust(old.origin)
