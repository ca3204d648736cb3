"""Vectors of OpenAI's embedding models, and of any service or gateway that speaks their protocol."""

import asyncio
import importlib.util
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from retentive.embedders.base import EmbedKind
from retentive.errors import EmbedderError, EmbedderUnavailable, InvalidInput

if TYPE_CHECKING:
    from openai import AsyncOpenAI
    from openai.types import CreateEmbeddingResponse

KNOWN: Final[Mapping[str, int]] = {
    "text-embedding-3-small": 1_536,
    "text-embedding-3-large": 3_072,
    "text-embedding-ada-002": 1_536,
}
SHORTENED: Final = "text-embedding-3-"
MAX_BATCH_CHARS: Final = 250_000  # at one token a character still below the service's 300,000 tokens
_BUSY: Final = frozenset({408, 409, 425, 429})
_OPENAI: Final = "https://api.openai.com/v1"


class OpenAIEmbedder:
    """An Embedder over the official client: batched, some requests at once, retried within bounds.

    Its `name` is "openai:MODEL". A model that is not OpenAI's own carries the host too, "openai:MODEL@HOST":
    the names that local servers give are tags, and two servers may mean different weights by one. OpenAI's
    own models are the same behind every gateway, so moving to one leaves the stored vectors valid.

    Serves several event loops, with connections of its own in each. `close` lets go of those of the loop it
    is called in; a Memory closes the one that it made from a name.
    """

    def __init__(  # noqa: PLR0913 - one keyword for each thing that differs between services
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        dimensions: int | None = None,
        batch: int = 256,
        concurrency: int = 4,
        retries: int = 2,
        timeout_s: float = 30.0,
        name: str | None = None,
    ) -> None:
        """Nothing is asked yet.

        Args:
            model: as the service calls it.
            base_url: where the service is; None is OPENAI_BASE_URL, else OpenAI itself.
            api_key: None is OPENAI_API_KEY. A service of your own may need none.
            dimensions: how many numbers a vector has; needed for a model that is not OpenAI's own. A
                text-embedding-3 model is asked to shorten its vectors to this.
            batch: at most this many texts a request.
            concurrency: at most this many requests at once, in one event loop.
            retries: how often the client asks again when the service is down or busy.
            timeout_s: how long one request may take.
            name: stands for model and host in the fingerprint, where you know better.

        Raises:
            InvalidInput: the package is not installed, there is no key for OpenAI, or no telling how many
                numbers a vector has.
        """
        if importlib.util.find_spec("openai") is None:
            raise InvalidInput("the embedder 'openai' needs openai: pip install 'retentive[openai]'")
        self._model = model
        self._base_url = base_url or os.environ.get("OPENAI_BASE_URL") or _OPENAI
        self._key = api_key or os.environ.get("OPENAI_API_KEY") or self._no_key()
        self.dimensions = _dimensions(model, dimensions)
        self.name = name or (f"openai:{model}" if model in KNOWN else f"openai:{model}@{self._host}")
        self._batch, self._concurrency = _above_zero("batch", batch), _above_zero("concurrency", concurrency)
        self._retries, self._timeout_s = retries, timeout_s
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, tuple[AsyncOpenAI, asyncio.Semaphore]] = (
            WeakKeyDictionary()
        )

    def __repr__(self) -> str:
        return f"OpenAIEmbedder({self._model!r}, dimensions={self.dimensions}, host={self._host!r})"

    async def embed(self, texts: Sequence[str], kind: EmbedKind) -> list[list[float]]:  # noqa: ARG002
        """One vector for each text, in order, documents and queries alike.

        Raises:
            EmbedderUnavailable: the service is down, busy or too slow, also after the retries.
            EmbedderError: it refused, or its answer cannot be used.
        """
        tasks = [asyncio.create_task(self._ask(part)) for part in self._parts(texts)]
        failures = await _failures(tasks)
        if failures:
            raise min(failures, key=lambda error: isinstance(error, EmbedderUnavailable))
        return [vector for task in tasks for vector in task.result()]

    async def close(self) -> None:
        """Let go of this event loop's connections; a later `embed` opens new ones."""
        client, _ = self._clients.pop(asyncio.get_running_loop(), (None, None))
        if client is not None:
            await client.close()

    async def _ask(self, texts: Sequence[str]) -> list[list[float]]:
        import openai

        client, limit = self._client()
        shortened = self._model.startswith(SHORTENED) and self.dimensions != KNOWN.get(self._model)
        try:
            async with limit:
                answer = await client.embeddings.create(
                    model=self._model,
                    input=list(texts),
                    dimensions=self.dimensions if shortened else openai.omit,
                )
        except openai.APIStatusError as error:
            raise self._refused(error.status_code, error.message) from None  # it may quote the key
        except openai.APIConnectionError as error:
            raise EmbedderUnavailable(f"{self.name} cannot be reached: {error}") from error
        except Exception as error:  # what the client makes of an answer that is no answer
            raise EmbedderError(f"{self.name} gave an answer that cannot be read: {error}") from error
        return self._in_order(answer, len(texts))

    def _client(self) -> "tuple[AsyncOpenAI, asyncio.Semaphore]":
        loop = asyncio.get_running_loop()
        if loop not in self._clients:
            from openai import AsyncOpenAI

            client = AsyncOpenAI(
                base_url=self._base_url,
                api_key=self._key,
                max_retries=self._retries,
                timeout=self._timeout_s,
            )
            self._clients[loop] = client, asyncio.Semaphore(self._concurrency)
        return self._clients[loop]

    def _parts(self, texts: Sequence[str]) -> Iterator[list[str]]:
        """The texts in order, in parts that one request may hold."""
        part, size = list[str](), 0
        for text in texts:
            if part and (len(part) == self._batch or size + len(text) > MAX_BATCH_CHARS):
                yield part
                part, size = [], 0
            part.append(text)
            size += len(text)
        if part:
            yield part

    def _in_order(self, answer: "CreateEmbeddingResponse", count: int) -> list[list[float]]:
        """The vectors by their `index`, which need not be the order they came in."""
        try:
            rows = {row.index: row.embedding for row in answer.data}
            if len(answer.data) == count and set(rows) == set(range(count)):
                return [rows[at] for at in range(count)]
            given = sorted(row.index for row in answer.data)
        except (AttributeError, TypeError) as error:
            raise EmbedderError(f"{self.name} gave an answer without a list of vectors") from error
        raise EmbedderError(
            f"{self.name} answered {len(given)} vectors for {count} texts, with indexes {given}"
        )

    def _refused(self, status: int, message: str) -> EmbedderError:
        said = message.replace(self._key, "***")
        if status in _BUSY or status >= 500:
            return EmbedderUnavailable(f"{self.name} is down or busy (status {status}): {said}")
        if status in (401, 403):
            return EmbedderError(
                f"{self.name} refused the key (status {status}); set OPENAI_API_KEY or pass api_key="
            )
        return EmbedderError(f"{self.name} refused the request (status {status}): {said}")

    @property
    def _host(self) -> str:
        parts = urlsplit(self._base_url)
        return f"{parts.hostname}:{parts.port}" if parts.port else str(parts.hostname)

    def _no_key(self) -> str:
        if self._base_url == _OPENAI:
            raise InvalidInput("OpenAI needs a key: set OPENAI_API_KEY, or pass OpenAIEmbedder(api_key=...)")
        return "none"


async def _failures(tasks: Sequence[asyncio.Task[Any]]) -> list[BaseException]:
    """Why tasks failed, once all have ended; after the first failure the others are cancelled. Empty: none.

    No TaskGroup: before Python 3.13 one that fails leaves its caller marked as being cancelled.
    """
    try:
        if tasks:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    errors = [task.exception() for task in tasks if not task.cancelled()]
    return [error for error in errors if error is not None]


def split_dimensions(spec: str) -> tuple[str, int | None]:
    """A model's name, and the number behind its last "/" where there is one: "bge-m3/1024"."""
    model, slash, digits = spec.rpartition("/")
    if slash and digits.isascii() and digits.isdigit():
        return model, int(digits)
    return spec, None


def _dimensions(model: str, given: int | None) -> int:
    dimensions = given or KNOWN.get(model)
    if dimensions is None:
        raise InvalidInput(
            f"how many numbers has a vector of {model!r}? Pass OpenAIEmbedder(dimensions=...), or add it to "
            f"the name: 'openai:{model}/1024'"
        )
    return _above_zero("dimensions", dimensions)


def _above_zero(field: str, value: int) -> int:
    if value < 1:
        raise InvalidInput(f"{field} must be 1 or more, not {value}")
    return value
