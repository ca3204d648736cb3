"""What the pages name exists: files, headings, make targets, commands, names, words of the glossary."""

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from docs_pages import PAGES, README, ROOT, blocks, prose

import retentive

_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_SPAN = re.compile(r"`([^`\n]+)`")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
_MAKE = re.compile(r"\bmake ([a-z][a-z-]*)")
_COMMAND = re.compile(r"^\s*retentive ([a-z|]+)", re.MULTILINE)
_TARGET = re.compile(r"^([a-z-]+):", re.MULTILINE)
_ROW = re.compile(r"^\| ([^|]+) \|", re.MULTILINE)
_TEST_FILE = re.compile(r"\b(tests/[\w/]+\.py)\b")


def _code(page: Path) -> Iterator[str]:
    """What a page shows as code that is no Python."""
    yield from _SPAN.findall(prose(page))
    yield from (block.code for block in blocks(page) if block.language != "python")


def _slugs(page: Path) -> set[str]:
    titles = _HEADING.findall(prose(page))
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def _link_is_dead(page: Path, target: str) -> bool:
    if target.startswith(("https://", "mailto:")):
        return False
    place, _, heading = target.partition("#")
    file = (page.parent / place).resolve() if place else page
    return not file.exists() or (bool(heading) and heading not in _slugs(file))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_links_of_a_page_lead_somewhere(page: Path) -> None:
    assert [link for link in _LINK.findall(prose(page)) if _link_is_dead(page, link)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_make_targets_that_a_page_names_exist(page: Path) -> None:
    targets = set(_TARGET.findall((ROOT / "Makefile").read_text(encoding="utf-8")))
    assert {name for code in _code(page) for name in _MAKE.findall(code)} <= targets


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_commands_that_a_page_names_exist(page: Path) -> None:
    from retentive.cli.app import app

    commands = {
        one.name or (one.callback.__name__ if one.callback else "") for one in app.registered_commands
    }
    commands |= {group.name for group in app.registered_groups}
    named = {name for code in _code(page) for names in _COMMAND.findall(code) for name in names.split("|")}
    assert named <= commands


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_test_files_that_a_page_names_exist(page: Path) -> None:
    named = _TEST_FILE.findall(page.read_text(encoding="utf-8"))
    assert [file for file in named if not (ROOT / file).exists()] == []


def _retentive(arguments: list[str]) -> str:
    command = [sys.executable, "-m", "retentive.cli", *arguments]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=60, check=False)
    assert done.returncode == 0, f"retentive {shlex.join(arguments)}: {done.stderr}"
    return done.stdout


def test_the_commands_of_the_readme_run_one_after_another() -> None:
    lines = [line for block in blocks(README) if block.language == "sh" for line in block.code.splitlines()]
    ours = [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("retentive ")]
    assert len(ours) >= 8
    for arguments in ours:
        if "ID" in arguments:
            user = arguments[arguments.index("--user") :][:2] if "--user" in arguments else []
            items = json.loads(_retentive(["list", "--json", *user]))["items"]
            arguments[arguments.index("ID")] = items[0]["id"]
        _retentive(arguments)


def test_the_table_of_public_names_is_complete() -> None:
    table = (ROOT / "docs/guide/api.md").read_text(encoding="utf-8")
    named = {name for row in _ROW.findall(table) for name in _SPAN.findall(row)}
    assert named == set(retentive.__all__) - {"__version__"}


def _stands_in(text: str, word: str) -> bool:
    """Whether the word, inflected or not, is in the lower-case text; `k` stands for a number."""
    pattern = re.escape(word.removesuffix("e")).replace("@k", r"@\d+").replace(r"\ ", " ?")
    return re.search(rf"\b{pattern}", text) is not None


def test_the_words_of_the_glossary_are_in_use() -> None:
    places = [*(ROOT / "src").rglob("*.py"), *(ROOT / "docs/guide").glob("*.md"), README]
    text = "\n".join(place.read_text(encoding="utf-8") for place in places).lower()
    rows = _ROW.findall((ROOT / "docs/glossary.md").read_text(encoding="utf-8"))
    words = {word.strip() for row in rows for word in row.split(",")} - {"word", "---"}
    assert len(words) > 20
    assert {word for word in words if not _stands_in(text, word)} == set()


def test_the_first_screen_of_the_readme_names_what_sets_up() -> None:
    first = "\n".join(README.read_text(encoding="utf-8").splitlines()[:24])
    assert _MAKE.findall(first) == ["demo", "test"]
    assert "import retentive" in first


def test_the_pages_are_plain() -> None:
    text = "".join(prose(page) for page in PAGES if page != ROOT / "docs/guide/speed.md")
    assert not set("\u2013\u2014\u2018\u2019\u201c\u201d\u2026") & set(text)
