"""The lock between processes and threads."""

import threading
from pathlib import Path

import pytest

from retentive.errors import StoreUnavailable
from retentive.stores.file_lock import lock_path, locked, take_lock


def test_a_held_lock_is_not_given_twice(tmp_path: Path) -> None:
    with locked(tmp_path / "a"), pytest.raises(StoreUnavailable), locked(tmp_path / "a", timeout_s=0.01):
        pass
    with locked(tmp_path / "a"), locked(tmp_path / "b", timeout_s=0):
        pass
    assert not (tmp_path / "a").exists()


def test_an_error_inside_frees_it(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), locked(tmp_path / "a"):
        raise RuntimeError
    with locked(tmp_path / "a", timeout_s=0):
        pass


def test_a_missing_folder_is_unavailable(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable), locked(tmp_path / "no" / "a"):
        pass


def test_no_two_threads_hold_it_even_when_holders_remove_the_lock_file(tmp_path: Path) -> None:
    inside = 0
    overlaps = 0

    def work() -> None:
        nonlocal inside, overlaps
        for _ in range(50):
            with locked(tmp_path / "a"):
                inside += 1
                overlaps += inside != 1
                inside -= 1
                lock_path(tmp_path / "a").unlink()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert overlaps == 0


def test_a_lock_is_taken_at_once_or_not_at_all(tmp_path: Path) -> None:
    release = take_lock(tmp_path / "a")
    assert release is not None
    assert take_lock(tmp_path / "a") is None
    release()
    with locked(tmp_path / "a", timeout_s=0):
        assert take_lock(tmp_path / "a") is None
    again = take_lock(tmp_path / "a")
    assert again is not None
    again()
    with pytest.raises(StoreUnavailable):
        take_lock(tmp_path / "no" / "a")
