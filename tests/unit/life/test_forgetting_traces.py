"""The search finds every window, wherever in a file it lies, and nothing else."""

from pathlib import Path

import pytest

from retentive.life.traces import WINDOW, Search, Tracing
from retentive.stores.pieces import PIECE_BYTES, pieces


@pytest.mark.parametrize(
    "place", [0, 3, PIECE_BYTES - WINDOW, PIECE_BYTES - 7, PIECE_BYTES - 1, PIECE_BYTES, 2_500_001]
)
def test_a_window_is_found_at_every_place_of_a_file(tmp_path: Path, place: int) -> None:
    tracing = Tracing()
    tracing.add_note(b"quixotic-marmala")
    search = Search(tracing.traces(), with_notes=True)
    file = tmp_path / "file"
    file.write_bytes(b"\1" * place + b"quixotic-marmala" + b"\2" * 9)
    size, found = search.in_pieces(pieces(file))
    assert (size, len(found)) == (place + WINDOW + 9, 1)
    file.write_bytes(b"\1" * place + b"quixotic-marmalb" + b"\2" * 9)
    assert search.in_pieces(pieces(file))[1] == set()
    assert Search(tracing.traces(), with_notes=False).in_pieces(pieces(file))[1] == set()
