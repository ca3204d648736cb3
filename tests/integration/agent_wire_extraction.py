"""What goes wrong when memories are drawn after a run: the cells of the second matrix."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from agent_wire import BEFORE, DURING, SAID, Scene, cancelled

from retentive.testing.openai_server import Answer, Gate

KEPT: Final[dict[str, str]] = {"auto": "with a thread", "auto, no thread": "without"}


@dataclass(frozen=True, kw_only=True)
class Fault:
    """What the service answers the extractor; `ending` is what ends the wait for one that is slow."""

    answers: tuple[Answer, ...] = ()
    ending: str = ""


def _call(arguments: Any) -> Answer:
    return Answer(calls=[("final_result", arguments)])


def _said(*turns: int) -> Answer:
    return Answer(output={"statements": [{"content": "Made up.", "turns": list(turns)}]})


FAULTS: Final[dict[str, Fault]] = {
    "status 429": Fault(answers=(Answer(status=429),)),
    "status 500": Fault(answers=(Answer(status=500),)),
    "connection reset": Fault(answers=(Answer(reset=True),)),
    "no JSON": Fault(answers=(Answer(body=b"<html>bad gateway</html>"),)),
    "answer cut off": Fault(answers=(Answer(output={"statements": []}, cut_after=40),)),
    "bad JSON in the answer, twice": Fault(answers=(_call('{"statements": [{"con'),) * 2),
    "an answer of another form, twice": Fault(answers=(_call({"facts": ["x"]}),) * 2),
    "refusal": Fault(answers=(Answer(refusal="I will not do that."),)),
    "empty answer, twice": Fault(answers=(Answer(text=""),) * 2),
    "invented turns": Fault(answers=(_said(77),)),
    "slow, and the run is cancelled": Fault(ending="cancel"),
    "slow, and over its time limit": Fault(ending="limit"),
}


async def suffer(scene: Scene, entry: str, fault: Fault) -> str:
    """One healthy run, one whose extraction has the fault; how that ended for the caller."""
    assert await scene.say(entry, BEFORE) == "ends well"
    gate = Gate()
    scene.server.chat(SAID, *(fault.answers or [Answer(gate=gate)]))
    usual: float = scene.extractor.time_limit_s
    run: Callable[[], Any] = lambda: scene.say(entry, DURING)  # noqa: E731
    if fault.ending == "cancel":
        ended = await cancelled(run(), gate.reached.is_set)
    else:
        scene.extractor.time_limit_s = 0.05 if fault.ending == "limit" else usual
        ended = await run()
    scene.extractor.time_limit_s = usual
    gate.open()
    return ended


def cell(ended: str, failures: list[str], waiting: int) -> str:
    """What the page says of it: how the run ended, whether its report says what failed, and what waits."""
    told = ", told" if failures else ""
    end = "ends well" if ended == "ends well" else f"`{ended}`"
    return f"{end}{told}; {waiting} turns wait"
