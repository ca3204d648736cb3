"""What other programs export, one module a format: from entries to memories and turns. Nothing is stored."""
