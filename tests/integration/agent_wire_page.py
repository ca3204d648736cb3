"""The page that says what happened in each cell: read by the tests, written by running this file."""

import asyncio
import functools
import os
import re
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any, Final, TypeAlias

import agent_wire_chat as chat
import agent_wire_embeddings as embeddings
import agent_wire_extraction as extraction
from agent_wire import ENTRIES, scene

from retentive.testing.openai_server import OpenAIServer

PAGE: Final = Path(__file__).parents[2] / "docs" / "guide" / "agent-faults.md"
REWRITE: Final = "run: python tests/integration/agent_wire_page.py"
Cell: TypeAlias = Callable[[OpenAIServer, Any, str], Awaitable[str]]


@functools.cache
def table(name: str) -> dict[str, dict[str, str]]:
    """A table of the page: for each fault its cells, by column without its backticks."""
    found = _place(name).search(PAGE.read_text(encoding="utf-8"))
    assert found is not None, f"no table {name!r}"
    head, _, *lines = [[part.strip() for part in line.split("|")[1:-1]] for line in found[0].splitlines()]
    columns = [column.strip("`") for column in head[1:]]
    return {line[0]: dict(zip(columns, line[1:], strict=True)) for line in lines}


def row_of(name: str, fault: str) -> dict[str, str]:
    """The cells of one fault."""
    row = table(name).get(fault)
    assert row is not None, REWRITE
    return row


def _place(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<=<!-- {name} -->\n).*?(?=<!-- end -->)", re.DOTALL)


async def _chat(server: OpenAIServer, fault: chat.Fault, entry: str) -> str:
    async with scene(server, "a thread", tries=fault.tries) as at:
        ended = await chat.suffer(at, entry, fault)
        return chat.cell(ended, at.said()[2:])


async def _extraction(server: OpenAIServer, fault: extraction.Fault, setup: str) -> str:
    async with scene(server, setup) as at:
        ended = await extraction.suffer(at, "run", fault)
        waits = sum(one.waiting for one in await at.waiting())
        return extraction.cell(ended, at.report.failures if at.report else [], waits)


async def _embeddings(server: OpenAIServer, fault: embeddings.Fault, setup: str) -> str:
    os.environ |= {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "k"}
    async with scene(server, setup, embedder=embeddings.embedder(server, fault)) as at:
        ended = await embeddings.suffer(at, "run", fault)
        return await embeddings.cell(at, ended)


async def made(head: Iterable[str], columns: Iterable[str], faults: dict[str, Any], cell: Cell) -> str:
    """A table, by letting each fault happen once for each column."""
    lines = [list(head)]
    lines.append(["---"] * len(lines[0]))
    for name, fault in faults.items():
        line = [name]
        for column in columns:
            with OpenAIServer() as server:
                line.append(await cell(server, fault, column))
        lines.append(line)
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


async def main() -> None:
    """Run the cells and write the page."""
    entries = ["the model", *(f"`{entry}`" for entry in ENTRIES)]
    drawn, kept = extraction.KEPT, embeddings.KEPT
    tables = {
        "chat": await made(entries, ENTRIES, chat.FAULTS, _chat),
        "extraction": await made(
            ["the extractor's model", *drawn.values()], drawn, extraction.FAULTS, _extraction
        ),
        "embeddings": await made(["the embeddings", *kept.values()], kept, embeddings.FAULTS, _embeddings),
    }
    page = PAGE.read_text(encoding="utf-8")
    for name, lines in tables.items():
        page = _place(name).sub(lambda _, lines=lines: lines, page, count=1)
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(main())
