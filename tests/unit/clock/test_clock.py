"""Ids sort by when they were made and never repeat."""

import os
import subprocess
import sys
import threading
from datetime import timedelta

import pytest

from retentive.clock import TimeOrderedIds, new_id, utc_now


def test_now_is_aware_and_in_utc() -> None:
    assert utc_now().utcoffset() == timedelta(0)


def test_ids_have_26_plain_characters_and_rise() -> None:
    ids = [new_id() for _ in range(2_000)]
    assert ids == sorted(set(ids))
    assert {len(one) for one in ids} == {26}
    assert set("".join(ids)) <= set("0123456789abcdefghjkmnpqrstvwxyz")


def test_ids_rise_though_the_clock_stands_still_or_goes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([5_000_000_000, 5_000_000_000, 3_000_000_000, 6_000_000_000])
    monkeypatch.setattr("time.time_ns", lambda: next(times))
    make = TimeOrderedIds()
    ids = [make() for _ in range(4)]
    assert ids == sorted(set(ids))
    assert ids[0][:20] == ids[2][:20] != ids[3][:20]


def test_ids_of_several_threads_never_repeat() -> None:
    make, found = TimeOrderedIds(), list[str]()
    workers = [threading.Thread(target=lambda: found.extend([make() for _ in range(500)])) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(set(found)) == 2_000


def test_two_makers_do_not_meet_in_one_millisecond(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.time_ns", lambda: 5_000_000_000)
    one, two = TimeOrderedIds(), TimeOrderedIds()
    assert not {one() for _ in range(100)} & {two() for _ in range(100)}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork there")
def test_a_forked_child_makes_ids_of_its_own() -> None:
    script = (
        "import os, time\nfrom retentive.clock import TimeOrderedIds\n"
        "time.time_ns = lambda: 5_000_000_000\nmake = TimeOrderedIds()\nmake()\n"
        "read, write = os.pipe()\nchild = os.fork()\nmine = make()\n"
        "if child == 0:\n    os.write(write, mine.encode())\n    os._exit(0)\n"
        "os.waitpid(child, 0)\nassert os.read(read, 26).decode() != mine\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
