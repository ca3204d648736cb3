"""Being around the calls of a Memory's verbs while they run, as tracing must be."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call of a verb, before it is made.

    `memory` is what the Memory is called, `store` its url without secrets, `arguments` what was passed, by
    name; what was left to its default is not in it.
    """

    verb: str
    memory: str
    store: str
    arguments: Mapping[str, Any]


Watcher: TypeAlias = Callable[[Call], AbstractContextManager[Callable[[object], object]]]
"""Opens what a call runs in, and gives what is told the result; an error leaves through the block."""
