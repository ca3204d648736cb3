"""The reference of the command for docs/guide/cli.md, made from the commands themselves.

`python -m retentive.cli.reference docs/guide/cli.md` writes it between the markers of that file.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from retentive.cli.app import app
from retentive.cli.exits import EXITS

BEGIN, END = "<!-- reference: begin (generated) -->", "<!-- reference: end -->"


def reference() -> str:
    """The reference in Markdown: each command with what it takes, then the exit codes."""
    lines = list(_commands("", typer.main.get_command(app)))
    lines += ["### Exit codes", "", "| code | error | meaning |", "|---|---|---|"]
    lines += [
        f"| {line.code} | {line.error.__name__ if line.error else ''} | {line.meaning} |" for line in EXITS
    ]
    return "\n".join([*lines, ""])


def _commands(path: str, group: Any) -> Iterator[str]:
    """Each command of the group, those of groups in it by their whole name."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _commands(f"{path}{name} ", command)
        else:
            yield from _command(path + name, command)


def _command(name: str, command: Any) -> Iterator[str]:
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    options = [each for each in command.params if each.param_type_name == "option"]
    shown = " ".join(["retentive", name, *(_metavar(each) for each in arguments), "[OPTIONS]"])
    yield from (f"### {name}", "", command.help, "", f"`{shown}`", "", "| | |", "|---|---|")
    for each in arguments:
        yield f"| `{_metavar(each)}` | {each.help} |"
    for each in options:
        default = f" Default: {each.default}." if isinstance(each.default, str) else ""
        value = "" if each.is_flag else f" {_metavar(each)}"
        yield f"| `{', '.join(each.opts)}{value}` | {each.help}{default} |"
    yield ""


def _metavar(parameter: Any) -> str:
    return parameter.metavar or parameter.name.upper()


def rewritten(page: str) -> str:
    """The page with the reference between its markers.

    Raises:
        ValueError: a marker is missing.
    """
    before, rest = page.split(BEGIN, 1)
    after = rest.split(END, 1)[1]
    return f"{before}{BEGIN}\n\n{reference()}\n{END}{after}"


if __name__ == "__main__":
    file = Path(sys.argv[1])
    file.write_text(rewritten(file.read_text(encoding="utf-8")), encoding="utf-8", newline="\n")
