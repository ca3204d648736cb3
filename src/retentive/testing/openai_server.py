"""A server on this machine that speaks OpenAI's chat-completions and embeddings protocols, as scripted.

For tests of whatever talks to such a service: it answers what it was told to, goes wrong in the ways that
services do, and keeps every request. It runs in threads of its own, so any client and any event loop can
talk to it; it is reachable from this machine only, and costs nothing beyond the standard library.
"""

import json
import socket
import struct
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self, TypeAlias

from retentive.testing.embedders import hashed
from retentive.testing.openai_answers import Answer, Asked, Gate, completion, embeddings, events, failure

Script: TypeAlias = Callable[[Asked], Answer]

__all__ = ["Answer", "Asked", "Gate", "OpenAIServer"]


class OpenAIServer:
    """Chat and embeddings under `base_url`, from `with OpenAIServer() as server:`.

    Answers are taken in the order of `chat` and `embed`, one a request; a retry is a request. When none
    is left, chat says `otherwise`, and embeddings are those of a HashingEmbedder of `dimensions` (a request
    that asks for other `dimensions` gets those). `script_chat` and `script_embed` decide by the request
    instead.

    Args:
        dimensions: how many numbers an embedding has.
        key: the only key that is let in, others get status 401; None lets all in.
        otherwise: what the model says when nothing is scripted.
    """

    def __init__(self, *, dimensions: int = 64, key: str | None = None, otherwise: str = "ok") -> None:
        self.dimensions = dimensions
        self.key = key
        self.asked: list[Asked] = []
        self._otherwise = otherwise
        self._queues: dict[str, deque[Answer]] = {"chat": deque(), "embed": deque()}
        self._scripts: dict[str, Script] = {}
        self._gates: list[Gate] = []
        self._lock = threading.Lock()
        self._server = _Server(self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def base_url(self) -> str:
        """Where a client finds it; ends in "/v1"."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    @property
    def chats(self) -> list[Asked]:
        """The chat requests so far, in order."""
        return [one for one in self.asked if one.path.endswith("/chat/completions")]

    @property
    def embeds(self) -> list[Asked]:
        """The embeddings requests so far, in order."""
        return [one for one in self.asked if one.path.endswith("/embeddings")]

    def chat(self, *answers: Answer | str) -> Self:
        """Answer the next chat requests so; a str is what the model says."""
        return self._queue("chat", [Answer(text=one) if isinstance(one, str) else one for one in answers])

    def embed(self, *answers: Answer) -> Self:
        """Answer the next embeddings requests so; `Answer()` is a right one."""
        return self._queue("embed", answers)

    def script_chat(self, script: Script | None) -> None:
        """Have `script(asked)` decide on each chat request that no answer waits for; None ends it."""
        self._script("chat", script)

    def script_embed(self, script: Script | None) -> None:
        """Have `script(asked)` decide on each embeddings request that no answer waits for; None ends it."""
        self._script("embed", script)

    def close(self) -> None:
        """Open every gate, break every connection, and end its threads."""
        for gate in list(self._gates):
            gate.open()
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
        self._server.hang_up()
        self._server.server_close()

    def _queue(self, kind: str, answers: "tuple[Answer, ...] | list[Answer]") -> Self:
        with self._lock:
            self._queues[kind].extend(answers)
        return self

    def _script(self, kind: str, script: Script | None) -> None:
        with self._lock:
            self._scripts.pop(kind, None)
            if script is not None:
                self._scripts[kind] = script

    def take(self, kind: str, asked: Asked) -> tuple[Answer, int]:
        """Note the request; its answer, and its number. For the server's threads."""
        with self._lock:
            self.asked.append(asked)
            number, queue, script = len(self.asked), self._queues[kind], self._scripts.get(kind)
            answer = queue.popleft() if queue else None
        if answer is None:
            answer = script(asked) if script else Answer()
        if kind == "chat" and answer.says_nothing:
            answer = replace(answer, text=self._otherwise)
        if answer.gate is not None:
            self._gates.append(answer.gate)
        return answer, number


class _Server(ThreadingHTTPServer):
    daemon_threads = False  # closing waits for them
    request_queue_size = 128

    def __init__(self, owner: OpenAIServer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.owner = owner
        self._open: set[socket.socket] = set()

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def hang_up(self) -> None:
        for connection in list(self._open):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that leaves is no error here, and nothing is printed."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server  # pyright: ignore[reportIncompatibleVariableOverride]

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        self._send(404, failure("no such path"))

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        asked = Asked(path=self.path, headers=headers, body=json.loads(raw or b"{}"))
        owner = self.server.owner
        kind = {"/v1/chat/completions": "chat", "/v1/embeddings": "embed"}.get(self.path)
        if kind is None:
            self._send(404, failure("no such path"))
        elif owner.key is not None and self.headers.get("authorization") != f"Bearer {owner.key}":
            self._send(401, failure("wrong key"))
        else:
            try:
                self._answer(kind, asked, *owner.take(kind, asked))
            except OSError:
                asked.gone.set()
                self.close_connection = True

    def _answer(self, kind: str, asked: Asked, answer: Answer, number: int) -> None:
        if answer.gate is not None and answer.gate_at is None:
            answer.gate.pass_through()
        if answer.reset:
            self._reset()
        elif answer.status != 200:
            self._send(answer.status, failure(answer.message), _retry(answer.retry_after_s))
        elif answer.body is not None:
            self._write(answer.body, {})
        elif kind == "embed":
            self._write(json.dumps(self._embeddings(asked, answer)).encode(), {}, answer.cut_after)
        elif asked.body.get("stream"):
            self._stream(events(asked.body, answer, number), answer)
        else:
            self._write(json.dumps(completion(asked.body, answer, number)).encode(), {}, answer.cut_after)

    def _embeddings(self, asked: Asked, answer: Answer) -> dict[str, Any]:
        dimensions = int(asked.body.get("dimensions") or self.server.owner.dimensions)
        rows = [(at, hashed(text, dimensions).tolist()) for at, text in enumerate(asked.texts)]
        changed = answer.rows(rows) if answer.rows else rows
        return embeddings(asked.body, changed, sum(len(text.split()) for text in asked.texts))

    def _stream(self, stream: Iterator[bytes], answer: Answer) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for at, event in enumerate(stream):
            if answer.gate is not None and at == answer.gate_at:
                answer.gate.pass_through()
            if at == answer.cut_after:
                self.close_connection = True
                return
            self.wfile.write(b"%x\r\n%b\r\n" % (len(event), event))
        self.wfile.write(b"0\r\n\r\n")

    def _send(self, status: int, body: dict[str, Any], headers: dict[str, str] | None = None) -> None:
        self._write(json.dumps(body).encode(), headers or {}, status=status)

    def _write(
        self, body: bytes, headers: dict[str, str], cut_after: int | None = None, status: int = 200
    ) -> None:
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body[:cut_after])
        self.close_connection = self.close_connection or cut_after is not None

    def _reset(self) -> None:
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()
        self.close_connection = True


def _retry(after_s: float | None) -> dict[str, str]:
    if after_s is None:
        return {}
    return {"retry-after": str(int(after_s)), "retry-after-ms": str(round(after_s * 1000))}
