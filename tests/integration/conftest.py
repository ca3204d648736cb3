"""The fixtures that run the command."""

from cli_runs import cli, here

__all__ = ["cli", "here"]
