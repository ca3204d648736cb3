from pathlib import Path

import pytest

from retentive.cli import reference
from retentive.cli.exits import EXITS

GUIDE = Path(__file__).parents[3] / "docs" / "guide" / "cli.md"
COMMANDS = (
    *("demo", "remember", "recall", "search", "list", "forget", "clear"),
    *("supersede", "history", "conflicts"),
    *("append", "show", "threads", "namespaces", "stats", "bench recall"),
)


def test_the_reference_in_the_guide_is_what_the_commands_take() -> None:
    page = GUIDE.read_text(encoding="utf-8")
    assert reference.rewritten(page) == page, "run: python -m retentive.cli.reference docs/guide/cli.md"


def test_the_reference_names_every_command_and_exit_code() -> None:
    made = reference.reference()
    for name in COMMANDS:
        assert f"### {name}\n" in made
    for line in EXITS:
        assert f"| {line.code} |" in made


def test_every_option_and_argument_has_a_help_text() -> None:
    rows = [line for line in reference.reference().splitlines() if line.startswith("| `")]
    assert len(rows) > 60
    assert not [row for row in rows if "| None" in row or row.endswith("|  |")]


def test_a_page_without_markers_is_refused() -> None:
    with pytest.raises(ValueError, match="not enough values"):
        reference.rewritten("# no markers")
