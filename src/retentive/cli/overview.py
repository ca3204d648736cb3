"""The commands that look at the whole: namespaces, stats."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from retentive.checks import Json
from retentive.cli.command import Answer, Where
from retentive.cli.memories import empty_hint
from retentive.cli.output import table
from retentive.cli.threads import thread_store
from retentive.home import home
from retentive.memory import Memory
from retentive.types import MemoryKind, Scope

SHARED = "(shared)"


async def namespaces(where: Where) -> Answer:
    """The namespaces that hold memories or threads."""
    threads = thread_store()
    counts: dict[str, tuple[int, int]] = {}
    async with where.memory() as (_, store):
        with_memories = await store.namespaces()
        for name in sorted({*with_memories, *await threads.namespaces()}):
            scopes = await store.scopes(name) if name in with_memories else []
            counts[name] = (len(scopes), len(await threads.threads(name)))
    rows = [(name, str(scopes), str(logs)) for name, (scopes, logs) in counts.items()]
    data: list[Json] = [
        {"namespace": name, "scopes": scopes, "threads": logs} for name, (scopes, logs) in counts.items()
    ]
    return Answer(
        data={"namespaces": data},
        show=lambda out: out.print(
            table("namespace", "scopes", "threads", rows=rows) if rows else "no namespaces"
        ),
    )


async def stats(where: Where) -> Answer:
    """How much a namespace holds, by user and kind, and where it is kept."""
    async with where.memory() as (memory, store):
        scopes = await memory.scopes()
        if where.user is not None:
            scopes = [scope for scope in scopes if scope == Scope(where.namespace, where.user)]
        counts = [(scope, await _by_kind(memory, scope)) for scope in scopes]
        hint = None if counts else await empty_hint(memory, where)
        url = store.url
    threads = await thread_store().threads(where.namespace)
    data: dict[str, Json] = {
        "namespace": where.namespace,
        "store": url,
        "home": str(home()),
        "home_bytes": _bytes_below(home()),
        "threads": len(threads),
        "memories": sum(sum(by_kind.values()) for _, by_kind in counts),
        "scopes": [{"user_id": scope.user_id, "memories": {**by_kind}} for scope, by_kind in counts],
    }
    return Answer(data=data, show=lambda out: _print(out, data, counts), hint=hint)


async def _by_kind(memory: Memory, scope: Scope) -> dict[str, int]:
    counts = {str(kind): await memory.count(user_id=scope.user_id, kinds=kind) for kind in MemoryKind}
    return {kind: count for kind, count in counts.items() if count}


def _bytes_below(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _print(out: Console, data: dict[str, Json], counts: Sequence[tuple[Scope, dict[str, int]]]) -> None:
    facts = [
        ("namespace", str(data["namespace"])),
        ("store", str(data["store"])),
        ("home", f"{data['home']} ({data['home_bytes']:,} bytes)"),
        ("threads", f"{data['threads']:,}"),
        ("memories", f"{data['memories']:,}"),
    ]
    for name, value in facts:
        out.print(f"{name:<10} {value}", soft_wrap=True)
    if counts:
        out.print()
        kinds = [str(kind) for kind in MemoryKind if any(str(kind) in by_kind for _, by_kind in counts)]
        rows = [
            (scope.user_id or SHARED, *(f"{by_kind.get(kind, 0):,}" for kind in kinds))
            for scope, by_kind in counts
        ]
        out.print(table("user", *kinds, rows=rows))
