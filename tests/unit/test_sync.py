"""The blocking facade says the same as the asynchronous classes, from wherever it is called."""

import asyncio
import gc
import inspect
import os
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from retentive import Conflict, Event, InvalidInput, StoreClosed, sync
from retentive.memory import Memory as AsyncMemory
from retentive.testing.places import KINDS_OF_STORE, Place
from retentive.threads import Thread as AsyncThread
from retentive.threads import open_thread as async_open_thread


def public(cls: type) -> dict[str, Any]:
    return {name: value for name, value in inspect.getmembers(cls) if not name.startswith("_")}


PAIRS: list[tuple[type, type]] = [(AsyncMemory, sync.Memory), (AsyncThread, sync.Thread)]


@pytest.mark.parametrize(("asynchronous", "blocking"), PAIRS)
def test_every_verb_is_there_with_the_same_names_kinds_defaults_and_annotations(
    asynchronous: type, blocking: type
) -> None:
    verbs = {name: value for name, value in public(asynchronous).items() if callable(value)}
    assert verbs.keys() == {name for name, value in public(blocking).items() if callable(value)}
    for name, verb in verbs.items():
        ours = inspect.signature(getattr(blocking, name))
        theirs = inspect.signature(verb)
        assert list(ours.parameters.values()) == list(theirs.parameters.values()), name
        returned = "Self" if name in {"append", "append_many", "refresh"} else ours.return_annotation
        assert returned == "Self" or returned == theirs.return_annotation, name
        assert not inspect.iscoroutinefunction(getattr(blocking, name))


@pytest.mark.parametrize(("asynchronous", "blocking"), PAIRS)
def test_every_property_is_there(asynchronous: type, blocking: type) -> None:
    theirs = {name for name, value in public(asynchronous).items() if isinstance(value, property)}
    assert theirs <= {name for name, value in public(blocking).items() if isinstance(value, property)}


def test_open_thread_takes_the_same() -> None:
    ours = inspect.signature(sync.open_thread).parameters.values()
    assert list(ours) == list(inspect.signature(async_open_thread).parameters.values())


def test_a_memory_is_made_from_the_same() -> None:
    assert inspect.signature(sync.Memory) == inspect.signature(AsyncMemory)


@pytest.mark.parametrize("kind", KINDS_OF_STORE)
def test_the_verbs_do_what_they_say(kind: str, tmp_path: Path) -> None:
    place = Place(kind, tmp_path)
    with sync.Memory("team", store=place.store(), clock=place.clock, new_id=place.ids) as memory:
        events: list[str] = []
        end = memory.subscribe(lambda event: events.append(event.verb))
        item = memory.remember("tea at five", user_id="ann")
        memory.remember_many(["one", "two"])
        assert memory.recall("tea", user_id="ann")[0].id == item.id
        assert memory.search("tea", user_id="ann")[0].content == "tea at five"
        assert memory.get(item.id, user_id="ann") == item
        assert len(memory.list()) == memory.count() == 2
        assert [scope.user_id for scope in memory.scopes()] == [None, "ann"]
        assert memory.update(item.id, user_id="ann", tags=["x"]).tags == ("x",)
        assert memory.forget(item.id, user_id="ann")
        assert len(memory.clear(everyone=True).ids) == 2
        end()
        memory.remember("more")
        assert events[0] == "remember"
        assert events[-1] == "clear"
        assert (memory.namespace, memory.name) == ("team", "team")
        assert "Memory('team'" in repr(memory)
    with pytest.raises(StoreClosed):
        memory.recall("tea")
    asyncio.run(place.close())


def test_errors_are_the_same() -> None:
    memory = sync.Memory(store="memory://")
    with pytest.raises(InvalidInput):
        memory.remember("")
    with pytest.raises(InvalidInput):
        sync.Memory("a/b", store="memory://")


def test_it_works_inside_a_running_loop_and_between_loops() -> None:
    memory = sync.Memory(store="memory://")

    async def inside(text: str) -> str:
        memory.remember(text)
        return memory.recall(text)[0].content

    assert asyncio.run(inside("tea at five")) == "tea at five"
    memory.remember("before")
    assert asyncio.run(inside("a walk at six")) == "a walk at six"
    assert memory.count() == 3


def test_it_does_not_mind_a_closed_current_loop() -> None:
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    loop.close()
    try:
        assert sync.Memory(store="memory://").remember("tea").content == "tea"
    finally:
        asyncio.set_event_loop(None)


@pytest.mark.parametrize("kind", KINDS_OF_STORE)
def test_it_works_from_three_threads_at_once(kind: str, tmp_path: Path) -> None:
    place = Place(kind, tmp_path)
    memory = sync.Memory(store=place.store())
    together(
        *(
            lambda number=number: [memory.remember(f"tea {number} {n}") for n in range(5)]
            for number in range(3)
        )
    )
    assert memory.count() == 15
    asyncio.run(place.close())


def together(*calls: Callable[[], Any]) -> None:
    failed: list[BaseException] = []

    def run(call: Callable[[], Any]) -> None:
        try:
            call()
        except BaseException as error:  # noqa: BLE001 - told to the test's own thread
            failed.append(error)

    threads = [threading.Thread(target=run, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []


def test_a_thread_reads_writes_and_chains(tmp_path: Path) -> None:
    thread = sync.open_thread("t", "team", home=tmp_path)
    assert thread.append("one").append("two", role="assistant") is thread
    thread.append_many(["three", {"content": "four", "role": "tool"}])
    assert [turn.content for turn in thread.messages()] == ["one", "two", "three", "four"]
    assert [turn.content for turn in thread.messages(limit=1)] == ["four"]
    assert (len(thread), bool(thread), thread.id, thread.namespace) == (4, True, "t", "team")
    assert (thread.damage, thread.read_only) == ((), False)
    assert thread.url.endswith("t.jsonl") or thread.url.endswith("/t")
    assert thread.refresh() is thread


def test_the_same_thread_is_the_same_object_while_it_is_used(tmp_path: Path) -> None:
    first = sync.open_thread("t", home=tmp_path)
    assert sync.open_thread("t", home=tmp_path) is first
    assert sync.open_thread("t", home=tmp_path, read_only=True) is not first
    gone = weakref.ref(first)
    del first
    gc.collect()
    assert gone() is None
    assert sync.open_thread("t", home=tmp_path).append("still works")


EXITS: dict[str, str] = {
    "sqlite": "Memory(store=sys.argv[1].replace('KIND', 'sqlite:///') + '/m.db').remember('tea')",
    "file": "Memory(store=sys.argv[1].replace('KIND', 'file://') + '/m').remember('tea')",
    "memory": "Memory(store='memory://').remember('tea')",
    "kept": "m = Memory(store=sys.argv[1].replace('KIND', 'sqlite:///') + '/m.db'); m.remember('tea')",
    "thread": "t = open_thread('t', home=Path(sys.argv[1].replace('KIND', ''))); t.append('tea')",
    "asyncio": (
        "m = Memory(store=sys.argv[1].replace('KIND', 'sqlite:///') + '/m.db'); m.remember('tea'); "
        "asyncio.run(asyncio.sleep(0)); m.remember('more')"
    ),
    "other thread": (
        "t = threading.Thread(target=lambda: Memory(store='memory://').remember('tea')); t.start(); t.join()"
    ),
    "unused": "Memory(store='memory://')",
}


def run_script(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    head = "import asyncio, os, sys, threading\nfrom pathlib import Path\n"
    head += "from retentive.sync import Memory, open_thread\n"
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", head + script, f"KIND{folder}"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("script", EXITS.values(), ids=EXITS)
def test_the_interpreter_ends_quietly_without_a_close(script: str, tmp_path: Path) -> None:
    done = run_script(script + "\nprint('done')", tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("url", ["memory://", "sqlite://{}/m.db", "file://{}/m"])
def test_a_forked_child_goes_on_by_itself(url: str, tmp_path: Path) -> None:
    script = f"""
import warnings
warnings.simplefilter("ignore", DeprecationWarning)
memory = Memory(store={url.format(tmp_path)!r}.replace("sqlite:///", "sqlite:////"))
memory.remember("The key is under the mat.")
child = os.fork()
if child == 0:
    memory.remember("The cat is on the roof.")
    print("child", memory.count(), flush=True)
    sys.exit(0)
_, status = os.waitpid(child, 0)
print("parent", status, memory.remember("The dog is outside.").content)
"""
    done = run_script(script, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "child 2\nparent 0 The dog is outside.\n"


def test_a_subscriber_that_calls_its_memory_is_told_why_it_cannot() -> None:
    problems: list[Exception] = []

    with sync.Memory(store="memory://") as memory:

        def ask(_: Event) -> None:
            try:
                memory.count()
            except Conflict as error:
                problems.append(error)

        memory.subscribe(ask)
        memory.remember("The boiler man is called Sven.")
    assert "another thread" in str(problems[0])
