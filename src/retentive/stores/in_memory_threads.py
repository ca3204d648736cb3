"""Threads in this process's memory, gone with it: for tests and for throw-away runs."""

import functools
import threading
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime

from retentive.errors import Conflict, StoreClosed
from retentive.names import check_name
from retentive.stores.base import NOTHING_LEFT, Leaving, LogRead, NewTurn
from retentive.stores.leases import HeldKeys, held
from retentive.stores.thread_log import is_there, numbered, redacted
from retentive.types import Turn


class InMemoryThreadStore:
    """Keeps threads as lists. Same laws as the others, but for outliving the process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._logs: dict[tuple[str, str], list[Turn]] = {}
        self._redactions: dict[tuple[str, str], int] = {}
        self._closed = False
        self._leased = HeldKeys()

    @property
    def url(self) -> str:
        """`memory://`; there is one for each object."""
        return "memory://"

    async def append(self, namespace: str, thread: str, turns: Sequence[NewTurn], since: int) -> LogRead:
        """See `ThreadStore.append`."""
        with self._lock:
            log = self._log(namespace, thread)
            if since > len(log):
                raise Conflict(
                    f"thread {thread!r} no longer holds what was read from it: somebody deleted it. Nothing "
                    "was appended; read the thread again, then append if you still want to"
                )
            if is_there(turns, log[since:]):
                return self._read(namespace, thread, since)
            if turns:
                log = self._logs.setdefault((namespace, thread), log)
            log += numbered(turns, len(log))
            return self._read(namespace, thread, since)

    async def turns(self, namespace: str, thread: str, since: int = 0) -> LogRead:
        """See `ThreadStore.turns`."""
        with self._lock:
            return self._read(namespace, thread, since)

    async def threads(self, namespace: str) -> list[str]:
        """See `ThreadStore.threads`."""
        with self._lock:
            self._check_open()
            check_name("namespace", namespace)
            return sorted(thread for where, thread in self._logs if where == namespace)

    async def namespaces(self) -> list[str]:
        """See `ThreadStore.namespaces`."""
        with self._lock:
            self._check_open()
            return sorted({namespace for namespace, _ in self._logs})

    async def delete(self, namespace: str, thread: str) -> bool:
        """See `ThreadStore.delete`."""
        with self._lock:
            self._log(namespace, thread)
            self._redactions.pop((namespace, thread), None)
            return self._logs.pop((namespace, thread), None) is not None

    async def redact(
        self, namespace: str, thread: str, seqs: Sequence[int], at: datetime, leaving: Leaving | None = None
    ) -> list[Turn]:
        """See `Redacts.redact`."""
        with self._lock:
            log = self._log(namespace, thread)
            wanted = frozenset(seqs)
            taken = [turn for turn in log if turn.seq in wanted and not turn.is_redacted]
            kept = leaving(tuple(log), taken) if leaving is not None and taken else NOTHING_LEFT
            for turn in taken:
                log[turn.seq - 1] = redacted(turn, at, kept.get(turn.seq))
            if taken:
                self._redactions[namespace, thread] = self._redactions.get((namespace, thread), 0) + 1
            return taken

    @asynccontextmanager
    async def lease(self, namespace: str, thread: str, timeout_s: float) -> AsyncGenerator[None, None]:
        """See `LeasesThreads.lease`."""
        with self._lock:
            self._log(namespace, thread)
        async with held(functools.partial(self._leased.take, (namespace, thread)), thread, timeout_s):
            yield

    async def close(self) -> None:
        """See `ThreadStore.close`. What was kept is gone."""
        with self._lock:
            self._closed = True
            self._logs.clear()

    def _read(self, namespace: str, thread: str, since: int) -> LogRead:
        log = self._log(namespace, thread)
        redactions = self._redactions.get((namespace, thread), 0)
        return LogRead(turns=tuple(log[since:]), position=len(log), redactions=redactions)

    def _log(self, namespace: str, thread: str) -> list[Turn]:
        self._check_open()
        key = check_name("namespace", namespace), check_name("thread id", thread)
        return self._logs.get(key, [])

    def _check_open(self) -> None:
        if self._closed:
            raise StoreClosed("the thread store was closed; open a new one")
