"""Other libraries, each through its own public API and with our embedder. None is a dependency.

They block, so each call runs in a thread. They are imported when made and sealed off from the network.
"""

import asyncio
import os
import sqlite3
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from retentive.embedders.base import Embedder, embed_checked
from retentive.evaluation.contenders import plain_text
from retentive.evaluation.dataset import Corpus

_PLACE, _USER = ("bench",), "bench"


def embed_now(
    embedder: Embedder, texts: Sequence[str], kind: Literal["document", "query"]
) -> list[list[float]]:
    """One vector for each text, in order; for threads that have no event loop."""
    return asyncio.run(embed_checked(embedder, texts, kind)).tolist()


class Chroma:
    """A collection of chromadb in memory, with cosine distance."""

    name = "chromadb"

    def __init__(self, embedder: Embedder, folder: Path) -> None:  # noqa: ARG002 - nothing on disk
        self._embedder = embedder
        settings = import_module("chromadb.config").Settings(anonymized_telemetry=False)
        self._client: Any = import_module("chromadb").EphemeralClient(settings=settings)
        self._collection: Any = None
        self._corpora = 0

    async def remember(self, corpus: Corpus) -> None:
        """Add each row, as many at once as chromadb takes."""
        await self.forget()
        await asyncio.to_thread(self._add, corpus)

    def _add(self, corpus: Corpus) -> None:
        self._corpora += 1
        name = f"bench-{os.getpid()}-{self._corpora}"
        self._collection = self._client.create_collection(name, configuration={"hnsw": {"space": "cosine"}})
        step = self._client.get_max_batch_size()
        for begin in range(0, len(corpus.rows), step):
            rows = corpus.rows[begin : begin + step]
            texts = [plain_text(row) for row in rows]
            vectors = embed_now(self._embedder, texts, "document")
            self._collection.add(ids=[row.id for row in rows], embeddings=vectors, documents=texts)

    async def recall(self, question: str, limit: int) -> Sequence[str]:
        """What the collection's query gives."""
        return await asyncio.to_thread(self._query, question, limit)

    def _query(self, question: str, limit: int) -> list[str]:
        vectors = embed_now(self._embedder, [question], "query")
        found = self._collection.query(query_embeddings=vectors, n_results=limit, include=[])
        return found["ids"][0]

    async def forget(self) -> None:
        """Delete the collection."""
        if self._collection is not None:
            await asyncio.to_thread(self._client.delete_collection, self._collection.name)
            self._collection = None


class LangGraph:
    """A store of LangGraph with a vector index, opened anew for each corpus by `make(index)`.

    The field to embed is named with each row, since the SQLite store does not heed the index's own "fields".
    """

    def __init__(self, name: str, embedder: Embedder, make: Callable[[dict[str, Any]], Any]) -> None:
        self.name = name
        self._make, self._store = make, None

        def embed(texts: Sequence[str]) -> list[list[float]]:
            return embed_now(embedder, texts, "document")

        self._index: dict[str, Any] = {"dims": embedder.dimensions, "embed": embed}

    async def remember(self, corpus: Corpus) -> None:
        """Put each row by itself: the store in memory refuses a batch that holds the same text twice."""
        await asyncio.to_thread(self._put, corpus)

    def _put(self, corpus: Corpus) -> None:
        self._store: Any = self._make(self._index)
        for row in corpus.rows:
            self._store.put(_PLACE, row.id, {"text": plain_text(row)}, index=["text"])

    async def recall(self, question: str, limit: int) -> Sequence[str]:
        """What the store's search gives."""
        found = await asyncio.to_thread(self._store.search, _PLACE, query=question, limit=limit)
        return [item.key for item in found]

    async def forget(self) -> None:
        """Drop the store."""
        self._store = None


def langgraph_in_memory(embedder: Embedder, folder: Path) -> LangGraph:  # noqa: ARG001 - nothing on disk
    """LangGraph's store in memory."""
    make = import_module("langgraph.store.memory").InMemoryStore
    return LangGraph("langgraph-memory", embedder, lambda index: make(index=index))


def langgraph_sqlite(embedder: Embedder, folder: Path) -> LangGraph:  # noqa: ARG001 - nothing on disk
    """LangGraph's store in an SQLite database in memory."""
    make = import_module("langgraph.store.sqlite").SqliteStore

    def opened(index: dict[str, Any]) -> Any:
        store = make(sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None), index=index)
        store.setup()
        return store

    return LangGraph("langgraph-sqlite", embedder, opened)


def sqlite_cannot_load_extensions() -> str | None:
    """Why LangGraph's SQLite store cannot run on this Python; None if it can."""
    if hasattr(sqlite3.Connection, "enable_load_extension"):
        return None
    return "this Python's sqlite3 cannot load extensions, which it needs"


class Mem0:
    """mem0 with `infer=False` (no LLM is asked) over a local Qdrant, opened anew for each corpus."""

    name = "mem0"

    def __init__(self, embedder: Embedder, folder: Path) -> None:
        os.environ.update(MEM0_TELEMETRY="False", MEM0_DIR=str(folder / "settings"))
        self._from_config: Any = import_module("mem0").Memory.from_config
        self._model, self._size = _langchain_embeddings(embedder), embedder.dimensions
        self._folder, self._corpora = folder, 0
        self._memory: Any = None

    async def remember(self, corpus: Corpus) -> None:
        """Add each row by itself."""
        await self.forget()
        await asyncio.to_thread(self._add, corpus)

    def _add(self, corpus: Corpus) -> None:
        self._corpora += 1
        place = self._folder / f"{self._corpora}"
        qdrant = {
            "collection_name": "bench",
            "path": str(place / "qdrant"),
            "embedding_model_dims": self._size,
        }
        self._memory = self._from_config(
            {
                "vector_store": {"provider": "qdrant", "config": qdrant},
                "embedder": {"provider": "langchain", "config": {"model": self._model}},
                "llm": {"provider": "openai", "config": {"api_key": "never asked"}},
                "history_db_path": str(place / "history.db"),
            }
        )
        for row in corpus.rows:
            message = {"role": "user", "content": plain_text(row)}
            self._memory.add([message], user_id=_USER, metadata={"turn": row.id}, infer=False)

    async def recall(self, question: str, limit: int) -> Sequence[str]:
        """What its search gives, with the lowest least score that it takes."""
        return await asyncio.to_thread(self._search, question, limit)

    def _search(self, question: str, limit: int) -> list[str]:
        found = self._memory.search(question, top_k=limit, threshold=0.0, filters={"user_id": _USER})
        return [hit["metadata"]["turn"] for hit in found["results"]]

    async def forget(self) -> None:
        """Close the databases."""
        if self._memory is not None:
            self._memory.close()
            self._memory.vector_store.client.close()
            self._memory = None


def _langchain_embeddings(embedder: Embedder) -> Any:
    base: Any = import_module("langchain.embeddings.base").Embeddings

    class Embeddings(base):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return embed_now(embedder, texts, "document")

        def embed_query(self, text: str) -> list[float]:
            return embed_now(embedder, [text], "query")[0]

    return Embeddings()
