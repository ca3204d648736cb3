"""Counting tokens as a model does, where its tokenizer is at hand; nothing is downloaded unasked."""

import hashlib
import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, TypeAlias

from retentive.tokens import TokenCounter, estimate_tokens

TokenEncoder: TypeAlias = Callable[[str], Sequence[int]]

MAX_PIECE_CHARS: Final = 50_000
_TABLES: Final = "https://openaipublic.blob.core.windows.net/encodings/{}.tiktoken"
_TABLE_OF: Final = {"o200k_harmony": "o200k_base"}


def token_counter(model: str, *, download: bool = False) -> TokenCounter:
    """How the model counts tokens; `estimate_tokens` where that cannot be told on this machine.

    OpenAI's models are counted by `tiktoken`, if that package is installed and the model's table lies in its
    cache (TIKTOKEN_CACHE_DIR, else its default place). The counter of another model is any function of a
    text: of Hugging Face's tokenizers for example `lambda text: len(tokenizer.encode(text).ids)`.

    Args:
        model: its name as pydantic-ai writes it, with or without a provider: "openai:gpt-5", "gpt-4o".
        download: let tiktoken fetch a table that is not there yet, once. Without it nothing is fetched.
    """
    try:
        import tiktoken
    except ImportError:
        return estimate_tokens
    try:
        encoding = tiktoken.encoding_name_for_model(model.rpartition(":")[2].rpartition("/")[2])
    except KeyError:
        return estimate_tokens
    if not download and not _is_cached(_TABLE_OF.get(encoding, encoding)):
        return estimate_tokens
    return _by_pieces(tiktoken.get_encoding(encoding).encode_ordinary)


def _by_pieces(encode: TokenEncoder) -> TokenCounter:
    """Sums over pieces: a tokenizer may take very long over one very long text."""

    def count(text: str) -> int:
        starts = range(0, len(text), MAX_PIECE_CHARS)
        return sum(len(encode(text[start : start + MAX_PIECE_CHARS])) for start in starts)

    return count


def _is_cached(table: str) -> bool:
    """Whether tiktoken finds the table on disk: it names its files by the SHA-1 of where they come from."""
    folder = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR"))
    place = Path(tempfile.gettempdir()) / "data-gym-cache" if folder is None else Path(folder)
    name = hashlib.sha1(_TABLES.format(table).encode(), usedforsecurity=False).hexdigest()
    return folder != "" and (place / name).is_file()
