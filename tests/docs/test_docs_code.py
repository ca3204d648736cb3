"""All code that people are shown runs, and prints what it says."""

import doctest
import importlib
import os
import pkgutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from docs_pages import EXAMPLES, PAGES, Block, blocks, run, said, says_so

import retentive

PYTHON_BLOCKS = [block for page in PAGES for block in blocks(page) if block.language == "python"]
NOT_IMPORTED = frozenset(["retentive.cli.__main__"])


def _modules() -> Iterator[str]:
    yield "retentive"
    for found in pkgutil.walk_packages(retentive.__path__, "retentive."):
        if found.name not in NOT_IMPORTED:
            yield found.name


@pytest.mark.parametrize("block", PYTHON_BLOCKS, ids=lambda block: block.name)
def test_a_block_of_a_page_runs_and_prints_what_it_says(
    block: Block, capsys: pytest.CaptureFixture[str]
) -> None:
    run(block)
    printed = capsys.readouterr().out
    assert says_so(block.code, printed), f"{block.name} printed:\n{printed}but says:\n{said(block.code)}"


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_an_example_runs_and_prints_what_it_says(example: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", str(example)],
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    code = example.read_text(encoding="utf-8")
    assert (done.returncode, done.stderr) == (0, "")
    assert says_so(code, done.stdout), f"{example.name} printed:\n{done.stdout}but says:\n{said(code)}"


@pytest.mark.parametrize("name", list(_modules()))
def test_the_examples_in_a_modules_docstrings_hold(name: str) -> None:
    module = importlib.import_module(name)
    failed, _ = doctest.testmod(module, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert not failed


def test_there_are_blocks_examples_and_modules_to_check() -> None:
    shown_on = {block.page.name for block in PYTHON_BLOCKS}
    assert {"README.md", "threads.md", "memories.md", "recall.md", "stores.md", "sync.md"} <= shown_on
    assert {"quickstart.py", "tenants.py", "notebook_sync.py"} <= {path.name for path in EXAMPLES}
    assert {"retentive.memory", "retentive.stores.sqlite.store"} <= set(_modules())


def test_a_block_that_prints_something_else_is_noticed() -> None:
    assert says_so("print(1)\n#> 1\n", "1\n")
    assert says_so("print('abc')\n    #> a...c\n", "abc\n")
    assert not says_so("print(1)\n#> 2\n", "1\n")
    assert not says_so("print(1)\n", "1\n")
    assert not says_so("#> 1\n", "")
