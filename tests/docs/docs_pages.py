"""What the tests of the documentation share: the pages, their code blocks, and how a block is run."""

import ast
import asyncio
import doctest
import inspect
import re
from collections.abc import Coroutine, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any, cast

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
PAGES = tuple(sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]))
EXAMPLES = tuple(sorted([*(ROOT / "examples").glob("*.py"), *(ROOT / "examples" / "life").glob("*.py")]))

_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SAYS = re.compile(r"^\s*# ?> ?(.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block of a page, and the line of the page that its code starts on."""

    page: Path
    line: int
    language: str
    code: str

    @property
    def name(self) -> str:
        """Where it is, for the name of a test."""
        return f"{self.page.relative_to(ROOT).as_posix()}:{self.line}"


def blocks(page: Path) -> Iterator[Block]:
    """The fenced blocks of a page that name a language, in order."""
    text = page.read_text(encoding="utf-8")
    for found in _BLOCK.finditer(text):
        yield Block(page, text.count("\n", 0, found.start(2)) + 1, found[1], found[2])


def prose(page: Path) -> str:
    """The page without its fenced blocks."""
    return _BLOCK.sub("", page.read_text(encoding="utf-8"))


def said(code: str) -> str:
    """What the code's `#>` comments (`# >` where a formatter had its way) say that it prints."""
    return "".join(f"{line}\n" for line in _SAYS.findall(code))


def says_so(code: str, printed: str) -> bool:
    """Whether the code printed just what its `#>` comments say; `...` in them stands for anything."""
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    return doctest.OutputChecker().check_output(said(code), printed, flags)


def run(block: Block) -> None:
    """Run the block's code as a module of its own, with `await` allowed at the top level."""
    code = compile(
        "\n" * (block.line - 1) + block.code,
        str(block.page),
        "exec",
        flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT,
        dont_inherit=True,
    )
    names: dict[str, object] = {"__name__": "__main__"}
    if code.co_flags & inspect.CO_COROUTINE:
        asyncio.run(_run_async(code, names))
    else:
        exec(code, names)


async def _run_async(code: CodeType, names: dict[str, object]) -> None:
    await cast("Coroutine[Any, Any, None]", eval(code, names))
