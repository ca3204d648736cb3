"""Vectors of any provider that pydantic-ai knows: Google, Cohere, Voyage, Bedrock, and others."""

import importlib.util
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from retentive.embedders.base import EmbedKind
from retentive.embedders.openai import KNOWN
from retentive.errors import EmbedderError, EmbedderUnavailable, InvalidInput

if TYPE_CHECKING:
    import pydantic_ai

_BUSY: Final = frozenset({408, 409, 425, 429})


class PydanticAIEmbedder:
    """An Embedder over pydantic-ai's own. Its `name` is the provider's and the model's.

    The connections are pydantic-ai's: it shares them and lets go of them.
    """

    def __init__(self, model: "str | pydantic_ai.Embedder", *, dimensions: int | None = None) -> None:
        """Nothing is asked yet.

        Args:
            model: "provider:model" as pydantic-ai writes it, or its Embedder.
            dimensions: how many numbers a vector has. None takes it from the Embedder's settings, or from
                what is known of the model; it is only told, never asked of the provider.

        Raises:
            InvalidInput: the package is not installed, it does not know the model, or there is no telling
                how many numbers a vector has.
        """
        if importlib.util.find_spec("pydantic_ai") is None:
            raise InvalidInput(
                "the embedder 'pydantic-ai' needs pydantic-ai: pip install 'retentive[agents]'"
            )
        from pydantic_ai import Embedder
        from pydantic_ai.embeddings import infer_embedding_model

        try:
            self._inner = Embedder(infer_embedding_model(model)) if isinstance(model, str) else model
            known = infer_embedding_model(self._inner.model)
        except Exception as error:
            raise InvalidInput(f"pydantic-ai has no embedder for {model!r}: {error}") from error
        self.name = f"{known.system}:{known.model_name}"
        told = _told(self._inner) or _told(known)
        self.dimensions = dimensions or told or KNOWN.get(known.model_name, 0)
        if self.dimensions < 1:
            raise InvalidInput(
                f"how many numbers has a vector of {self.name!r}? Pass PydanticAIEmbedder(dimensions=...), "
                f"or add it to the name: 'pydantic-ai:{self.name}/1024'"
            )

    def __repr__(self) -> str:
        return f"PydanticAIEmbedder({self.name!r}, dimensions={self.dimensions})"

    async def embed(self, texts: Sequence[str], kind: EmbedKind) -> Sequence[Sequence[float]]:
        """One vector for each text, in order; queries may be embedded in another way than documents.

        Raises:
            EmbedderUnavailable: the provider is down, busy or too slow.
            EmbedderError: it refused, or its answer cannot be used.
        """
        from pydantic_ai import exceptions

        try:
            return (await self._inner.embed(list(texts), input_type=kind)).embeddings
        except exceptions.ModelHTTPError as error:
            if error.status_code in _BUSY or error.status_code >= 500:
                raise EmbedderUnavailable(
                    f"{self.name} is down or busy (status {error.status_code})"
                ) from error
            # its body may quote the key
            raise EmbedderError(f"{self.name} refused (status {error.status_code})") from None
        except exceptions.ModelConnectionError as error:
            raise EmbedderUnavailable(f"{self.name} cannot be reached: {error}") from error


def is_pydantic_ai(embedder: object) -> bool:
    """Whether it is an Embedder of pydantic-ai, found out without importing that."""
    return any(
        kind.__module__.partition(".")[0] == "pydantic_ai" and kind.__name__ == "Embedder"
        for kind in type(embedder).__mro__
    )


def _told(holder: Any) -> int | None:
    """The dimensions in its settings."""
    settings: dict[str, Any] = getattr(holder, "settings", None) or getattr(holder, "_settings", None) or {}
    return settings.get("dimensions")
