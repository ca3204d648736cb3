"""What the files of threads go through: damage, faults of the disk, missing rights, other hands."""
# ruff: noqa: ASYNC240  (a test acts on the files by hand)

import asyncio
import contextlib
import errno
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from retentive.errors import Conflict, ReadOnly, StoreUnavailable
from retentive.stores import jsonl_threads, log_file
from retentive.stores.base import LogRead
from retentive.stores.jsonl_threads import JsonlThreadStore
from retentive.stores.thread_log import Mark, Parsed, parse
from retentive.testing.thread_store_suite import contents, new_turn


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[JsonlThreadStore]:
    store = JsonlThreadStore(tmp_path / "threads")
    yield store
    await store.close()


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "threads" / "ns" / "t.jsonl"


async def put(store: JsonlThreadStore, *texts: str, since: int = 0) -> LogRead:
    read = LogRead(turns=(), position=since)
    for text in texts:
        read = await store.append("ns", "t", [new_turn(text)], read.position)
    return read


def snapshot(folder: Path) -> dict[str, bytes | None]:
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
        if path.suffix != ".lock"
    }


def failing(function: Callable[..., Any], at: int, code: int) -> Callable[..., Any]:
    """The function, but the call numbered `at` raises."""
    calls = iter(range(1, 1 << 30))

    def call(*args: Any) -> Any:
        if next(calls) == at:
            raise OSError(code, os.strerror(code))
        return function(*args)

    return call


async def test_a_torn_tail_is_moved_aside_and_reported_before_the_next_append(
    store: JsonlThreadStore, log: Path
) -> None:
    await put(store, "a", "b")
    stub = b'{"seq":3,"id":"x","at":"2026'
    log.write_bytes(log.read_bytes() + stub)
    seen = await store.turns("ns", "t")
    assert contents(seen) == ["a", "b"]
    assert [(d.line, d.kept_at) for d in seen.damage] == [(3, None)]
    read = await store.append("ns", "t", [new_turn("c")], 2)
    [damage] = read.damage
    assert damage.kept_at == str(log) + ".torn-1"
    assert log.with_name("t.jsonl.torn-1").read_bytes() == stub
    assert [turn.seq for turn in read.turns] == [3]
    assert await store.threads("ns") == ["t"]
    assert not (await store.turns("ns", "t")).damage


async def test_each_torn_tail_gets_a_file_of_its_own(store: JsonlThreadStore, log: Path) -> None:
    for n in range(12):
        await store.append("ns", "t", [new_turn(str(n))], 0)
        log.write_bytes(log.read_bytes() + b"torn %d" % n)
    assert {path.read_bytes() for path in log_file.set_aside_files(log)} == {
        b"torn %d" % n for n in range(11)
    }


async def test_a_whole_turn_without_newline_is_kept_and_ended(store: JsonlThreadStore, log: Path) -> None:
    await put(store, "a", "b")
    log.write_bytes(log.read_bytes()[:-1])
    assert contents(await store.turns("ns", "t")) == ["a", "b"]
    await store.append("ns", "t", [new_turn("c")], 2)
    await store.append("ns", "t", [new_turn("d")], 3)
    assert contents(await store.turns("ns", "t")) == ["a", "b", "c", "d"]
    assert b"}{" not in log.read_bytes()
    assert not log_file.set_aside_files(log)


async def test_going_on_reads_no_turn_again(
    store: JsonlThreadStore, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await put(store, "a", "b", "c")
    parsed: list[int] = []

    def counted(data: bytes, after: Mark) -> Parsed:
        parsed.append(len(data))
        return parse(data, after)

    monkeypatch.setattr(jsonl_threads, "parse", counted)
    await put(store, "d", "e", since=3)
    assert parsed == [0, 0]
    assert contents(await store.turns("ns", "t")) == ["a", "b", "c", "d", "e"]
    assert log.read_bytes().count(b"\n") == 5


async def test_an_empty_file_is_an_empty_thread(store: JsonlThreadStore, log: Path) -> None:
    log.parent.mkdir(parents=True)
    log.touch()
    assert await store.turns("ns", "t") == LogRead(turns=(), position=0)
    assert await store.threads("ns") == ["t"]
    assert [turn.seq for turn in (await put(store, "a")).turns] == [1]


async def test_reading_never_modifies(store: JsonlThreadStore, log: Path, tmp_path: Path) -> None:
    await put(store, "a", "b")
    log.write_bytes(log.read_bytes()[:-9])
    before = snapshot(tmp_path)
    await store.turns("ns", "t")
    await store.threads("ns")
    await store.namespaces()
    await store.turns("other", "t")
    assert snapshot(tmp_path) == before


async def test_a_file_marked_read_only_is_read_and_not_written(
    store: JsonlThreadStore, log: Path, tmp_path: Path
) -> None:
    await put(store, "a")
    log.write_bytes(log.read_bytes() + b"torn")
    log.chmod(0o444)
    before = snapshot(tmp_path)
    with pytest.raises(ReadOnly, match="right to write"):
        await store.append("ns", "t", [new_turn("b")], 1)
    assert snapshot(tmp_path) == before
    assert contents(await store.turns("ns", "t")) == ["a"]
    log.chmod(0o644)
    await store.append("ns", "t", [new_turn("b")], 1)
    assert contents(await store.turns("ns", "t")) == ["a", "b"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="no right stops this account")
async def test_a_folder_without_the_right_to_write_is_read_only(store: JsonlThreadStore, log: Path) -> None:
    await put(store, "a")
    log.parent.chmod(0o555)
    try:
        with pytest.raises(ReadOnly):
            await store.append("ns", "new", [new_turn("b")], 0)
        assert contents(await store.turns("ns", "t")) == ["a"]
    finally:
        log.parent.chmod(0o755)


@pytest.mark.parametrize("code", [errno.EACCES, errno.EROFS, errno.EPERM])
async def test_a_denied_lock_or_file_says_read_only(
    store: JsonlThreadStore, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, code: int
) -> None:
    await put(store, "a")
    before = snapshot(tmp_path)
    really = os.open

    def denied(path: Any, flags: int, *rest: Any) -> int:
        if flags & (os.O_WRONLY | os.O_RDWR):
            raise OSError(code, os.strerror(code))
        return really(path, flags, *rest)

    monkeypatch.setattr(os, "open", denied)
    with pytest.raises(ReadOnly, match="read_only=True"):
        await store.append("ns", "t", [new_turn("b")], 1)
    assert contents(await store.turns("ns", "t")) == ["a"]
    monkeypatch.undo()
    assert snapshot(tmp_path) == before


async def test_a_place_that_cannot_be_a_folder_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    store = JsonlThreadStore(tmp_path / "file" / "threads")
    with pytest.raises(StoreUnavailable, match="nothing was changed"):
        await store.append("ns", "t", [new_turn("b")], 0)
    assert await store.threads("ns") == []
    assert (await store.turns("ns", "t")).position == 0
    assert snapshot(tmp_path) == {"file": b"in the way"}
    await store.close()


async def test_a_folder_in_place_of_the_log_is_unavailable(store: JsonlThreadStore, log: Path) -> None:
    log.mkdir(parents=True)
    with pytest.raises(StoreUnavailable):
        await store.append("ns", "t", [new_turn("b")], 0)
    with pytest.raises(StoreUnavailable):
        await store.turns("ns", "t")


@pytest.mark.parametrize("name", ["write", "fsync", "ftruncate"])
@pytest.mark.parametrize("at", [1, 2, 3, 4])
@pytest.mark.parametrize("torn", [b"", b'{"seq":3,"id'], ids=["whole", "torn"])
async def test_a_failing_disk_call_leaves_the_turns_as_they_were(
    store: JsonlThreadStore, log: Path, monkeypatch: pytest.MonkeyPatch, name: str, at: int, torn: bytes
) -> None:
    await put(store, "a", "b")
    log.write_bytes(log.read_bytes() + torn)
    monkeypatch.setattr(os, name, failing(getattr(os, name), at, errno.ENOSPC))
    kept = ["a", "b"]
    try:
        await store.append("ns", "t", [new_turn("c"), new_turn("d")], 2)
        kept += ["c", "d"]
    except StoreUnavailable:
        pass
    monkeypatch.undo()
    assert contents(await store.turns("ns", "t")) == kept
    assert {path.read_bytes() for path in log_file.set_aside_files(log)} <= {torn}
    await store.append("ns", "t", [new_turn("e")], 0)
    read = await store.turns("ns", "t")
    assert contents(read) == [*kept, "e"]
    assert [turn.seq for turn in read.turns] == list(range(1, len(kept) + 2))
    assert not read.damage


async def test_a_disk_that_fills_in_mid_line_leaves_no_part_of_it(
    store: JsonlThreadStore, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await put(store, "a", "b")
    before = log.read_bytes()
    really, calls = os.write, iter(range(100))

    def fills(fd: int, data: memoryview) -> int:
        if next(calls):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return really(fd, data[:20])

    monkeypatch.setattr(os, "write", fills)
    with pytest.raises(StoreUnavailable, match="No space left"):
        await store.append("ns", "t", [new_turn("c" * 100)], 2)
    monkeypatch.undo()
    assert log.read_bytes() == before
    await store.append("ns", "t", [new_turn("c")], 2)
    assert contents(await store.turns("ns", "t")) == ["a", "b", "c"]


@pytest.mark.parametrize(("name", "at"), [("write", 1), *(("fsync", at) for at in range(1, 6))])
async def test_a_first_append_that_fails_leaves_no_thread(
    store: JsonlThreadStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, at: int
) -> None:
    monkeypatch.setattr(os, name, failing(getattr(os, name), at, errno.ENOSPC))
    outcomes = await asyncio.gather(put(store, "a"), return_exceptions=True)
    monkeypatch.undo()
    if isinstance(outcomes[0], LogRead):  # the folders were on disk already: fewer calls than `at`
        assert at == 5
        return
    assert isinstance(outcomes[0], StoreUnavailable)
    assert await store.threads("ns") == []
    assert list(tmp_path.rglob("*.jsonl*")) in ([], [tmp_path / "threads" / "ns" / "t.jsonl.lock"])
    assert contents(await put(store, "a")) == ["a"]


async def test_writes_that_take_a_part_at_a_time_are_completed(
    store: JsonlThreadStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    really = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: really(fd, data[:7]))  # pyright: ignore
    await put(store, "a" * 50, "b" * 50)
    monkeypatch.undo()
    assert contents(await store.turns("ns", "t")) == ["a" * 50, "b" * 50]


LIMITED = """
import asyncio, resource, signal, sys
from pathlib import Path
from retentive.errors import StoreUnavailable
from retentive.threads import open_thread

async def main():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
    thread = await open_thread("t", home=Path(sys.argv[1]))
    kept = 0
    try:
        while True:
            await thread.append("x" * 200)
            kept += 1
    except StoreUnavailable:
        pass
    assert len(thread) == kept == len(await thread.refresh()), (len(thread), kept)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.getrlimit(resource.RLIMIT_FSIZE)[1],) * 2)
    await thread.append("after")
    print(kept)

asyncio.run(main())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no limit on the size of files there")
async def test_a_full_disk_refuses_the_append_and_a_later_one_goes_well(tmp_path: Path) -> None:
    done = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", LIMITED, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    store = JsonlThreadStore(tmp_path / "threads")
    read = await store.turns("default", "t")
    await store.close()
    assert contents(read) == ["x" * 200] * int(done.stdout) + ["after"]
    assert int(done.stdout) > 3


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Any:
    folder = tmp_path / "tiny"
    folder.mkdir()
    try:
        mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
        done = subprocess.run(mount, capture_output=True, check=False)
    except FileNotFoundError:
        pytest.skip("no mount command")
    if done.returncode:
        pytest.skip("this account cannot mount a small disk")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


async def test_a_small_disk_that_is_full_keeps_every_acknowledged_turn(tiny_disk: Path) -> None:
    store = JsonlThreadStore(tiny_disk / "threads")
    filler = tiny_disk / "filler"
    kept: list[str] = []
    with contextlib.suppress(StoreUnavailable):
        for n in range(1_000):
            await put(store, f"{n} " + "x" * 1_000)
            kept.append(f"{n} " + "x" * 1_000)
    assert 0 < len(kept) < 100
    with contextlib.suppress(OSError):
        filler.write_bytes(b"x" * 65_536)
    assert contents(await store.turns("ns", "t")) == kept
    filler.unlink(missing_ok=True)
    log = tiny_disk / "threads" / "ns" / "t.jsonl"
    assert log.read_bytes().endswith(b"\n")
    await store.delete("ns", "t")
    await put(store, "after")
    assert contents(await store.turns("ns", "t")) == ["after"]
    await store.close()


async def test_an_append_after_a_deleted_log_or_folder_is_refused(store: JsonlThreadStore, log: Path) -> None:
    for remove in (lambda: log.unlink(), lambda: [path.unlink() for path in log.parent.iterdir()]):
        position = (await put(store, "a", "b")).position
        remove()
        with pytest.raises(Conflict, match="Nothing was appended"):
            await store.append("ns", "t", [new_turn("c")], position)
        assert (await store.turns("ns", "t")).position == 0
        assert not log.exists()


async def test_an_append_after_a_shortened_log_is_refused(store: JsonlThreadStore, log: Path) -> None:
    await put(store, "a", "b", "c")
    log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:2]))
    before = log.read_bytes()
    with pytest.raises(Conflict):
        await store.append("ns", "t", [new_turn("d")], 3)
    assert log.read_bytes() == before
    assert contents(await store.turns("ns", "t")) == ["a", "b"]


async def test_an_append_after_a_replaced_log_is_refused(store: JsonlThreadStore, log: Path) -> None:
    position = (await put(store, "a", "b")).position
    other = JsonlThreadStore(log.parent.parent)
    await other.delete("ns", "t")
    await put(other, "x", "y", "z")
    await other.close()
    with pytest.raises(Conflict):
        await store.append("ns", "t", [new_turn("c")], position)
    assert contents(await store.turns("ns", "t")) == ["x", "y", "z"]


async def test_delete_removes_the_log_what_was_torn_off_and_the_lock(
    store: JsonlThreadStore, log: Path
) -> None:
    await put(store, "secret")
    log.write_bytes(log.read_bytes() + b"secret torn")
    await put(store, "b")
    await store.append("ns", "tt", [new_turn("other")], 0)
    assert await store.delete("ns", "t")
    assert {path.name for path in log.parent.iterdir()} == {"tt.jsonl", "tt.jsonl.lock"}


async def test_files_that_are_no_logs_of_ours_are_not_listed(store: JsonlThreadStore, log: Path) -> None:
    await put(store, "a")
    for name in ["Upper.jsonl", "%ff.jsonl", "a b.jsonl", "t.jsonl.torn-1", "notes.txt", "%2E.jsonl"]:
        (log.parent / name).touch()
    (log.parent.parent / "Not ours").mkdir()
    (log.parent.parent / "empty").mkdir()
    assert await store.threads("ns") == ["t"]
    assert await store.namespaces() == ["ns"]


@pytest.mark.skipif(os.name == "nt", reason="folders cannot be synced there")
async def test_a_new_log_is_on_disk_by_name_too(
    store: JsonlThreadStore, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    really = os.fsync

    def watched(fd: int) -> None:
        synced.append(os.fstat(fd).st_ino)
        really(fd)

    monkeypatch.setattr(os, "fsync", watched)
    await put(store, "a")
    made = [log, log.parent, log.parent.parent, log.parent.parent.parent]
    assert {path.stat().st_ino for path in made} <= set(synced)
    synced.clear()
    log.write_bytes(log.read_bytes() + b"torn")
    await put(store, "b")
    aside = log.with_name("t.jsonl.torn-1")
    assert synced == [path.stat().st_ino for path in (aside, log.parent, log)]
    synced.clear()
    await put(store, "c")
    assert synced == [log.stat().st_ino]


async def test_a_reader_sees_what_another_store_appended(store: JsonlThreadStore, log: Path) -> None:
    other = JsonlThreadStore(log.parent.parent)
    for n in range(5):
        await store.append("ns", "t", [new_turn(f"a{n}")], 0)
        await other.append("ns", "t", [new_turn(f"b{n}")], 0)
        assert contents(await store.turns("ns", "t", 2 * n)) == [f"a{n}", f"b{n}"]
    await other.close()


async def test_no_descriptor_stays_open(store: JsonlThreadStore) -> None:
    if not Path("/proc/self/fd").exists():
        pytest.skip("descriptors cannot be counted here")
    await put(store, "a")
    before = len(list(Path("/proc/self/fd").iterdir()))
    for n in range(50):
        await store.append("ns", f"t{n}", [new_turn("a")], 0)
        await store.turns("ns", f"t{n}")
    assert len(list(Path("/proc/self/fd").iterdir())) <= before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork there")
def test_a_forked_child_can_append(tmp_path: Path) -> None:
    script = (
        "import asyncio, os, sys\nfrom pathlib import Path\nfrom retentive.threads import open_thread\n"
        "async def say(text):\n    await (await open_thread('t', home=Path(sys.argv[1]))).append(text)\n"
        "asyncio.run(say('parent'))\n"
        "child = os.fork()\n"
        "asyncio.run(say('child' if child == 0 else 'parent again'))\n"
        "if child: sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    lines = (tmp_path / "threads" / "default" / "t.jsonl").read_text().splitlines()
    assert len(lines) == 3
