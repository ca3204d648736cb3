"""Memories and threads as one file: the archive, and what other programs export."""
