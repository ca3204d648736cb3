"""A place to keep memories, once for each kind of store, with a clock that stands still."""

import signal
from collections.abc import AsyncIterator, Generator
from pathlib import Path

import pytest
import pytest_asyncio

from retentive import Memory
from retentive.testing.clocks import FakeClock
from retentive.testing.places import KINDS_OF_STORE, Place


@pytest_asyncio.fixture(params=list(KINDS_OF_STORE))
async def place(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Place]:
    place = Place(request.param, tmp_path / "place")
    yield place
    await place.close()


@pytest.fixture
def clock(place: Place) -> FakeClock:
    return place.clock


@pytest.fixture
def memory(place: Place) -> Memory:
    return place.open()


@pytest.fixture
def interruptible() -> Generator[None, None, None]:
    """Ctrl-C as in a terminal: a run in the background starts with it ignored, and so would its children."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
