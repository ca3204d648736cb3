"""The model, started once for all tests of this folder."""

import importlib.util
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from pydantic_ai.models.openai import OpenAIChatModel
from tiny_model import TinyModel, has_wheels, serve

from retentive import Thread, open_thread
from retentive.stores.jsonl_threads import JsonlThreadStore

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.llm)


@pytest.fixture(scope="session")
def tiny() -> Iterator[TinyModel]:
    if not has_wheels():
        pytest.skip("requirements/llm.txt has no wheels for this platform")
    if importlib.util.find_spec("xllamacpp") is None:
        pytest.fail("run `make test`, or pip install --no-deps -r requirements/llm.txt")
    server = serve()
    yield TinyModel(server.listening_address)
    del server


@pytest.fixture
async def model(tiny: TinyModel) -> AsyncIterator[OpenAIChatModel]:
    async with tiny.model() as model:
        yield model


@pytest.fixture
async def thread(tmp_path: Path) -> AsyncIterator[Thread]:
    store = JsonlThreadStore(tmp_path / "threads")
    yield await open_thread("t", store=store)
    await store.close()
