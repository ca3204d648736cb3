"""What goes wrong when the model is asked, and what then happens: the cells of the first matrix."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from agent_wire import AFTER, BEFORE, DURING, STREAMS, Scene, cancelled, timed_out

from retentive.testing.openai_server import Answer, Gate

LONG: Final = "It is on its way to you and will be there soon."


@dataclass(frozen=True, kw_only=True)
class Fault:
    """What the service answers; `ending` is what the caller does meanwhile, `tries` the client's own."""

    answers: Callable[[], tuple[Answer, ...]] = tuple
    ending: str = ""
    tries: int = 0
    in_stream: bool = False


FAULTS: Final[dict[str, Fault]] = {
    "status 429": Fault(answers=lambda: (Answer(status=429),)),
    "status 429, and the client asks again": Fault(
        answers=lambda: (Answer(status=429, retry_after_s=0.001),), tries=1
    ),
    "status 500": Fault(answers=lambda: (Answer(status=500),)),
    "connection reset": Fault(answers=lambda: (Answer(reset=True),)),
    "no JSON": Fault(answers=lambda: (Answer(body=b"<html>bad gateway</html>"),)),
    "answer cut off": Fault(answers=lambda: (Answer(text=LONG, cut_after=4),)),
    "refusal": Fault(answers=lambda: (Answer(refusal="I will not do that."),)),
    "empty answer, twice": Fault(answers=lambda: (Answer(text=""), Answer(text=""))),
    "content filter": Fault(answers=lambda: (Answer(text="", finish="content_filter"),)),
    "slow, and cancelled": Fault(ending="cancel"),
    "slow, and timed out": Fault(ending="timeout"),
    "slow in mid-answer, and cancelled": Fault(ending="cancel", in_stream=True),
    "slow in mid-answer, and timed out": Fault(ending="timeout", in_stream=True),
}


async def suffer(scene: Scene, entry: str, fault: Fault) -> str:
    """One healthy run, one with the fault; how that ended for the caller."""
    assert await scene.say(entry, BEFORE) == "ends well"
    if scene.setup == "llm":
        scene.server.chat(Answer(calls=[("search_memory", {"query": "olives"})]))
    if not fault.ending:
        scene.server.chat(*fault.answers())
        return await scene.say(entry, DURING)
    return await _slow(scene, entry, fault)


async def _slow(scene: Scene, entry: str, fault: Fault) -> str:
    gate, in_stream = Gate(), fault.in_stream and entry in STREAMS
    scene.server.chat(Answer(text=LONG, gate=gate, gate_at=4 if in_stream else None))

    def is_held() -> bool:
        return gate.reached.is_set() and (not in_stream or bool("".join(scene.heard)))

    end = cancelled if fault.ending == "cancel" else timed_out
    ended = await end(scene.say(entry, DURING), is_held)
    gate.open()
    return ended


async def recover(scene: Scene, entry: str) -> str:
    """The next run, with a service that is well."""
    return await scene.say(entry, AFTER)


def cell(ended: str, said: list[str]) -> str:
    """What the page says of it: how the run ended, and what it left in the thread."""
    return f"{ended if ended == 'ends well' else f'`{ended}`'}: {', '.join(said)}"
