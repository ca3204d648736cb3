"""Models are counted by their own tokenizer where its table is at hand; nothing is fetched unasked."""

from pathlib import Path

import pytest
import tiktoken

from retentive.tokenizers import MAX_PIECE_CHARS, token_counter
from retentive.tokens import estimate_tokens, truncate_to_tokens

TABLES = {
    "o200k_base": "fb374d419588a4632f3f557e76b4b70aebbca790",
    "cl100k_base": "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
}
"""How tiktoken calls the files of its cache."""


def letters() -> tiktoken.Encoding:
    """An encoding with a token for each byte, and one special token."""
    return tiktoken.Encoding(
        name="letters",
        pat_str=r"\S+|\s+",
        mergeable_ranks={bytes([byte]): byte for byte in range(256)},
        special_tokens={"<|end|>": 256},
    )


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of tiktoken; the tables themselves cannot be had offline, so a small one stands in."""
    asked: list[str] = []

    def get_encoding(name: str) -> tiktoken.Encoding:
        asked.append(name)
        return letters()

    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(tiktoken, "get_encoding", get_encoding)
    return tmp_path


@pytest.mark.parametrize(
    ("model", "table"),
    [("openai:gpt-5", "o200k_base"), ("gpt-4", "cl100k_base"), ("openrouter:openai/gpt-4o", "o200k_base")],
)
def test_a_known_model_is_counted_by_its_table_where_that_is_at_hand(
    cache: Path, model: str, table: str
) -> None:
    assert token_counter(model) is estimate_tokens
    (cache / TABLES[table]).write_bytes(b"")
    count = token_counter(model)
    assert count is not estimate_tokens
    assert (count(""), count("abc"), count("é<|end|>")) == (0, 3, 9)


def test_nothing_is_fetched_unless_asked(cache: Path) -> None:
    assert token_counter("openai:gpt-5") is estimate_tokens
    assert token_counter("openai:gpt-5", download=True)("abc") == 3


@pytest.mark.parametrize("model", ["anthropic:claude-haiku-4-5", "test", "", "ollama:qwen3"])
def test_an_unknown_model_is_estimated(cache: Path, model: str) -> None:
    assert token_counter(model, download=True) is estimate_tokens


def test_a_very_long_text_is_counted_in_pieces(cache: Path) -> None:
    assert token_counter("gpt-4o", download=True)("a" * (3 * MAX_PIECE_CHARS + 1)) == 3 * MAX_PIECE_CHARS + 1


def test_an_empty_folder_name_turns_the_cache_off(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    assert token_counter("gpt-4") is estimate_tokens


@pytest.mark.parametrize("text", ["", "abc", "tea " * 50, "日本語の文" * 9, "👩‍👩‍👧‍👦" * 3])
def test_a_text_is_cut_to_the_most_tokens_that_fit(text: str) -> None:
    for most in range(20):
        cut = truncate_to_tokens(text, most)
        assert text.startswith(cut)
        assert estimate_tokens(cut) <= most
    assert truncate_to_tokens("abcd" * 9, 5) == "abcd" * 5
    assert truncate_to_tokens("abcd", 9, len) == "abcd"
