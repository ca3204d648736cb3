import hashlib
import importlib.resources
import json

import numpy as np
import pytest

import retentive.embedders
from retentive.embedders.static import StaticEmbedder

TABLE = importlib.resources.files(retentive.embedders) / "static_minilm"
META = json.loads((TABLE / "meta.json").read_text(encoding="utf-8"))
FILES = ["rows.npy", "scales.npy", "vocab.txt"]


def test_meta_lists_every_file_of_the_table():
    assert sorted(META["sha256"]) == FILES


@pytest.mark.parametrize("name", FILES)
def test_a_file_has_the_bytes_that_meta_records(name: str):
    assert hashlib.sha256((TABLE / name).read_bytes()).hexdigest() == META["sha256"][name]


def test_the_name_is_of_all_the_bytes_that_make_a_vector():
    together = b"".join((TABLE / name).read_bytes() for name in FILES)
    digest = hashlib.sha256(together).hexdigest()
    assert digest == META["digest"]
    assert StaticEmbedder().name == f"{META['model']}-{META['dimensions']}.{digest[:8]}"


def test_rows_scales_and_vocabulary_have_one_length():
    with (TABLE / "rows.npy").open("rb") as rows_file, (TABLE / "scales.npy").open("rb") as scales_file:
        rows, scales = np.load(rows_file), np.load(scales_file)
    vocabulary = (TABLE / "vocab.txt").read_text(encoding="utf-8").splitlines()
    assert rows.shape == (META["tokens"], META["dimensions"])
    assert rows.dtype == np.int8
    assert scales.shape == (META["tokens"],)
    assert scales.dtype == np.float32
    assert len(set(vocabulary)) == META["tokens"]


def test_special_tokens_weigh_nothing_and_all_real_ones_something():
    with (TABLE / "scales.npy").open("rb") as file:
        scales = np.load(file)
    vocabulary = (TABLE / "vocab.txt").read_text(encoding="utf-8").splitlines()
    silent = {piece for piece, scale in zip(vocabulary, scales, strict=True) if scale == 0}
    assert silent == {piece for piece in vocabulary if len(piece) > 1 and piece.startswith("[")}


@pytest.mark.parametrize("name", ["LICENSE", "PROVENANCE.md"])
def test_licence_and_provenance_travel_with_the_table(name: str):
    assert "Apache" in (TABLE / name).read_text(encoding="utf-8")


def test_provenance_speaks_of_these_very_files():
    text = (TABLE / "PROVENANCE.md").read_text(encoding="utf-8")
    assert META["made_with"]["model_sha256"] in text
    assert META["sha256"]["vocab.txt"] in text
    assert META["digest"][:8] in text
