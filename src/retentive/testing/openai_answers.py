"""What the local OpenAI server is told to answer, and how that looks on the wire."""

import base64
import json
import struct
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Body: TypeAlias = Mapping[str, Any]
Row: TypeAlias = tuple[int, list[float] | None]  # the `index` of an embedding, and its numbers

CREATED = 1_700_000_000


class Gate:
    """Holds an answer back until the test opens it; the test can wait until the answer is held."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self._open = threading.Event()

    def open(self) -> None:
        """Let what is held, and whatever comes later, pass."""
        self._open.set()

    def pass_through(self) -> None:
        """Wait here until the gate is open; for the server."""
        self.reached.set()
        self._open.wait()


@dataclass(frozen=True, kw_only=True)
class Answer:
    """One answer to one request; what it does not say, the server says in its own words.

    What is said:
        text: what the model says, before any `calls`; "" is an empty answer.
        calls: tools the model calls: their names and arguments (a str is sent as it is, right or wrong).
        output: structured output: the content where the request asks for a JSON schema, else a call of
            the request's output tool ("final_result").
        refusal: why the model will not.
        finish: the reason why it ended; None is "stop" or "tool_calls".
        rows: changes what an embeddings request is answered: see `reordered` and the others below.

    What goes wrong:
        status: an HTTP status other than 200, with an error body, and nothing of the above.
        message: what the error body says.
        retry_after_s: sent with it, also for parts of a second (`retry-after-ms`).
        body: sent as it is instead of the answer, right or wrong, with status 200.
        reset: the connection is reset instead of an answer.
        cut_after: the connection ends after this many events of a stream, or this many bytes of a plain
            answer.
        gate: holds the answer back: before its headers, or in a stream before event number `gate_at`.
    """

    text: str | None = None
    calls: Sequence[tuple[str, Mapping[str, Any] | str]] = ()
    output: Mapping[str, Any] | None = None
    refusal: str | None = None
    finish: str | None = None
    rows: Callable[[list[Row]], list[Row]] | None = None
    status: int = 200
    message: str = "scripted"
    retry_after_s: float | None = None
    body: bytes | None = None
    reset: bool = False
    cut_after: int | None = None
    gate: Gate | None = None
    gate_at: int | None = None

    @property
    def says_nothing(self) -> bool:
        """Whether what the model says is left to the server."""
        return self.text is None and not self.calls and self.output is None and self.refusal is None


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One request as it came, the names of its headers in lower case.

    `gone` is set when the client had left before the answer was out.
    """

    path: str
    headers: Mapping[str, str]
    body: Body
    gone: threading.Event = field(default_factory=threading.Event)

    @property
    def texts(self) -> list[str]:
        """What an embeddings request wants vectors for."""
        given = self.body.get("input", [])
        return [given] if isinstance(given, str) else list(given)

    @property
    def messages(self) -> list[dict[str, Any]]:
        """What a chat request sends along."""
        return list(self.body.get("messages", []))

    @property
    def said(self) -> str:
        """All text of the messages, one line a message, whatever their role."""
        return "\n".join(_plain(message.get("content")) for message in self.messages)


def reordered(rows: list[Row]) -> list[Row]:
    """The right rows with the right numbers, the last first."""
    return rows[::-1]


def missing(rows: list[Row]) -> list[Row]:
    """All but the last."""
    return rows[:-1]


def doubled(rows: list[Row]) -> list[Row]:
    """As many as asked for, but the first in the place of the last."""
    return [*rows[:-1], rows[0]]


def shortened(rows: list[Row]) -> list[Row]:
    """Vectors with one number less than was promised."""
    return [(index, vector[:-1] if vector else vector) for index, vector in rows]


def not_finite(rows: list[Row]) -> list[Row]:
    """The last vector begins with NaN."""
    return [*rows[:-1], (rows[-1][0], [float("nan"), *(rows[-1][1] or [])[1:]])]


def null(rows: list[Row]) -> list[Row]:
    """No vector in the last row."""
    return [*rows[:-1], (rows[-1][0], None)]


def embeddings(body: Body, rows: Sequence[Row], tokens: int) -> dict[str, Any]:
    """The answer to an embeddings request, as numbers or base64, whichever it asks for."""
    packed = body.get("encoding_format") == "base64"
    return {
        "object": "list",
        "model": body.get("model"),
        "data": [
            {"object": "embedding", "index": index, "embedding": _base64(vector) if packed else vector}
            for index, vector in rows
        ],
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    }


def completion(body: Body, answer: Answer, number: int) -> dict[str, Any]:
    """The answer to a plain chat request."""
    text, calls = _said(body, answer)
    message: dict[str, Any] = {"role": "assistant", "content": text, "refusal": answer.refusal}
    if calls:
        message["tool_calls"] = [_call(number, at, *call) for at, call in enumerate(calls)]
    choice = {"index": 0, "message": message, "finish_reason": _finish(answer, calls), "logprobs": None}
    return {**_head(body, number, "chat.completion"), "choices": [choice], "usage": _usage(body, text, calls)}


def events(body: Body, answer: Answer, number: int) -> Iterator[bytes]:
    """The events of a streamed chat answer: the role, the words, the calls in pieces, the end, the usage."""
    text, calls = _said(body, answer)
    for delta in _deltas(text, calls, answer.refusal, number):
        yield _event(body, number, [{"index": 0, "delta": delta, "finish_reason": None}])
    yield _event(body, number, [{"index": 0, "delta": {}, "finish_reason": _finish(answer, calls)}])
    options: Mapping[str, Any] = body.get("stream_options") or {}
    if options.get("include_usage"):
        yield _event(body, number, [], usage=_usage(body, text, calls))
    yield b"data: [DONE]\n\n"


def failure(message: str) -> dict[str, Any]:
    """The body that goes with an HTTP status other than 200."""
    return {"error": {"message": message, "type": "scripted", "param": None, "code": None}}


def _deltas(
    text: str | None, calls: Sequence[tuple[str, str]], refusal: str | None, number: int
) -> Iterator[dict[str, Any]]:
    yield {"role": "assistant", "content": "" if text else None}
    for piece in _words(text or ""):
        yield {"content": piece}
    for piece in _words(refusal or ""):
        yield {"refusal": piece}
    for at, (name, arguments) in enumerate(calls):
        yield {"tool_calls": [{"index": at, **_call(number, at, name, "")}]}
        half = len(arguments) // 2
        for piece in (arguments[:half], arguments[half:]):
            yield {"tool_calls": [{"index": at, "function": {"arguments": piece}}]}


def _said(body: Body, answer: Answer) -> tuple[str | None, list[tuple[str, str]]]:
    """The text, and the calls with their arguments as JSON."""
    calls = [(name, _json(arguments)) for name, arguments in answer.calls]
    text = answer.text
    if answer.output is not None:
        tools = [tool["function"]["name"] for tool in body.get("tools") or ()]
        final = next((name for name in tools if name.startswith("final_result")), None)
        if body.get("response_format") or final is None:
            text = _json(answer.output)
        else:
            calls.append((final, _json(answer.output)))
    return text, calls


def _head(body: Body, number: int, kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{number}", "object": kind, "created": CREATED, "model": body.get("model")}


def _event(body: Body, number: int, choices: list[Any], usage: dict[str, int] | None = None) -> bytes:
    event = {**_head(body, number, "chat.completion.chunk"), "choices": choices, "usage": usage}
    return b"data: " + json.dumps(event).encode() + b"\n\n"


def _call(number: int, at: int, name: str, arguments: str) -> dict[str, Any]:
    return {
        "id": f"call-{number}-{at}",
        "type": "function",
        "function": {"name": name, "arguments": arguments},
    }


def _finish(answer: Answer, calls: Sequence[object]) -> str:
    return answer.finish or ("tool_calls" if calls else "stop")


def _usage(body: Body, text: str | None, calls: Sequence[tuple[str, str]]) -> dict[str, int]:
    """One token a word."""
    given = sum(len(_plain(message.get("content")).split()) for message in body.get("messages", ()))
    made = len((text or "").split()) + sum(len(arguments.split()) for _, arguments in calls)
    return {"prompt_tokens": given, "completion_tokens": made, "total_tokens": given + made}


def _words(text: str) -> list[str]:
    """The text in pieces of a word each; together they are the text."""
    pieces = text.split(" ")
    return [piece if at == 0 else f" {piece}" for at, piece in enumerate(pieces)] if text else []


def _plain(content: object) -> str:
    """The text of a message's content, which is text or a list of parts."""
    if isinstance(content, list):
        parts: list[Any] = content  # pyright: ignore[reportUnknownVariableType]
        return "\n".join(str(part.get("text", "")) for part in parts)
    return str(content or "")


def _json(value: Mapping[str, Any] | str) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _base64(vector: Sequence[float] | None) -> str | None:
    if vector is None:
        return None
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()
