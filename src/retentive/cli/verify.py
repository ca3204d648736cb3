"""The command that audits a whole store: verify."""

from dataclasses import asdict
from typing import Annotated

import typer
from rich.console import Console

from retentive.checks import Json
from retentive.cli.command import Answer, Where
from retentive.cli.exits import OK, exit_code
from retentive.cli.output import table
from retentive.errors import StoreCorrupt
from retentive.guards import Guards
from retentive.home import home
from retentive.integrity import Audit, Integrity, adopt, audit
from retentive.stores.urls import open_store

Seal = Annotated[
    bool,
    typer.Option(
        "--seal",
        help="Take what is refused as genuine, as it is found now: for a store that was written without "
        "integrity, or was moved. Look at it first.",
    ),
]


async def verify(where: Where, seal: Seal = False) -> Answer:
    """Check every scope and every thread against the key and the anchor. Changes nothing without --seal."""
    store, threads, integrity = open_store(where.store, home=home()), Guards().threads_below(), Integrity()
    try:
        await store.open()
        sealed = await adopt(store, threads, integrity) if seal else None
        found = await audit(store, threads, integrity)
    finally:
        await store.close()
        await threads.close()
    data: dict[str, Json] = {
        "clean": found.is_clean,
        "checked": [asdict(each) for each in found.checked],
        "heads": {name: asdict(head) for name, head in found.heads.items()},
    }
    if sealed is not None:
        data["sealed"] = sealed
    blind = "this anchor keeps no list: a scope or thread that is gone whole is found when it is asked for"
    return Answer(
        data=data,
        show=lambda out: _show(out, found),
        notes=() if found.lists_missing else (blind,),
        exit_code=OK if found.is_clean else exit_code(StoreCorrupt()),
    )


def _show(out: Console, found: Audit) -> None:
    rows = [
        (each.what, each.namespace, each.name or "(shared)", f"{each.records:,}", each.kind or "good")
        for each in found.checked
    ]
    heads = ("what", "namespace", "name", "records", "state")
    out.print(table(*heads, rows=rows) if rows else "nothing to check")
    for each in found.checked:
        if each.why is not None:
            out.print(f"- {each.why}", soft_wrap=True)
