"""The `retentive` command. Only the command imports it; `import retentive` never does."""

from retentive.cli.app import main

__all__ = ["main"]
