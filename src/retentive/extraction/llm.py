"""Extraction by a language model: asked once for each window, with an answer of a fixed form."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from retentive.errors import ExtractionError, InvalidInput, ModelUnavailable
from retentive.extraction import prompt
from retentive.extraction.base import Decision, Excerpt, Statement

if TYPE_CHECKING:
    from retentive.extraction.answers import Answer

OutputMode: TypeAlias = Literal["tool", "native", "prompted"]
REFUSED_STATUSES = frozenset([400, 413, 422])
"""What a provider answers when it does not take this excerpt; other statuses are no fault of it."""


class LLMExtractor:
    """Asks a model what of a conversation is durably worth keeping, with structured output.

    Facts about the user, preferences, standing constraints and decisions, each with its kind, importance,
    subject and turns; of each it says whether it is new, restates or supersedes a memory that it is shown.
    The conversation is given as data; what it says cannot change whose word a memory counts as, which kinds
    there are, or what may be superseded.

    Needs the extra `retentive[agents]`, when it is first asked.

    Args:
        model: a pydantic-ai model or its name, such as "openai:gpt-5-mini"; None is the model of the run.
        instructions: what else to look for or leave out, in addition to what it is told.
        output_mode: how the answer is asked for; None is what suits the model ("prompted" for one that knows
            neither tools nor a JSON schema).
        max_output_tokens: of one answer.
        time_limit_s: for one window, with its tries.
        tries: answers to ask for until one has the right form.

    Raises:
        InvalidInput: no such output mode.
    """

    needs_model = True

    def __init__(  # noqa: PLR0913 - one keyword for each limit
        self,
        model: object | None = None,
        *,
        instructions: str | None = None,
        output_mode: OutputMode | None = None,
        max_output_tokens: int = 4_000,
        time_limit_s: float = 60.0,
        tries: int = 2,
    ) -> None:
        if output_mode not in (None, "tool", "native", "prompted"):
            raise InvalidInput(f"output_mode must be tool, native, prompted or None, not {output_mode!r}")
        self.model = model
        self.instructions = instructions
        self.output_mode = output_mode
        self.max_output_tokens = max_output_tokens
        self.time_limit_s = time_limit_s
        self.tries = tries

    async def extract(self, excerpt: Excerpt) -> Sequence[Statement]:
        """The statements, as the model gives them.

        Raises:
            ExtractionError: no usable answer: not of the form, refused, cut short.
            ModelUnavailable: the model could not be reached, had no room, or took longer than the limit.
            InvalidInput: there is no model to ask, or no such one, or pydantic-ai is not installed.
        """
        model = self.model if self.model is not None else excerpt.model
        if model is None:
            raise InvalidInput(
                "LLMExtractor has no model; pass one to it, or the run's own to extract(model=)"
            )
        handles = {f"m{number}": item for number, item in enumerate(excerpt.known, start=1)}
        answer = await self._asked(model, prompt.data(excerpt, handles))
        return [
            Statement(
                content=one.content,
                kind=one.kind,
                importance=one.importance,
                subject=one.subject,
                turns=one.turns,
                decision=one.decision if one.decision in list(Decision) else Decision.NEW,
                target=handles[one.memory].id if one.memory in handles else None,
            )
            for one in answer.statements
        ]

    async def _asked(self, model: object, text: str) -> "Answer":
        try:
            from pydantic_ai import Agent, exceptions
            from pydantic_ai.usage import UsageLimits

            from retentive.extraction.answers import output_type
        except ImportError as error:
            raise InvalidInput('LLMExtractor needs pydantic-ai: pip install "retentive[agents]"') from error
        try:
            agent = Agent(
                cast("Any", model),
                name="retentive_extractor",
                output_type=output_type(self.output_mode),
                instructions=prompt.instructions(self.instructions),
                retries=self.tries - 1,
                model_settings={"max_tokens": self.max_output_tokens},
            )
        except (exceptions.UserError, ImportError) as error:
            raise InvalidInput(f"the model {model!r} cannot be used: {error}") from error
        limits = UsageLimits(
            request_limit=self.tries, output_tokens_limit=self.tries * self.max_output_tokens
        )
        try:
            async with asyncio.timeout(self.time_limit_s):
                return cast("Answer", (await agent.run(text, usage_limits=limits)).output)
        except TimeoutError as error:
            raise ModelUnavailable(f"no answer within {self.time_limit_s:g} seconds") from error
        except exceptions.ModelHTTPError as error:
            kind = ExtractionError if error.status_code in REFUSED_STATUSES else ModelUnavailable
            raise kind(f"the model answered with status {error.status_code}") from error
        except exceptions.ModelAPIError as error:
            raise ModelUnavailable(f"the model cannot be reached ({type(error).__name__})") from error
        except ExceptionGroup as error:  # of a FallbackModel whose models all failed
            raise ModelUnavailable("none of the models can be reached") from error
        except exceptions.UserError as error:
            raise InvalidInput(f"the model {model!r} cannot be used: {error}") from error
        except exceptions.AgentRunError as error:
            # The message may hold the whole answer, and so what was said: no text goes into events and notes.
            raise ExtractionError(f"no usable answer ({type(error).__name__})") from error
