"""What goes wrong when texts are embedded: the cells of the third matrix."""

from dataclasses import dataclass
from typing import Any, Final

from agent_wire import BEFORE, DURING, Scene

from retentive.embedders.openai import OpenAIEmbedder
from retentive.testing.openai_answers import missing, not_finite, null, reordered, shortened
from retentive.testing.openai_server import Answer, Gate, OpenAIServer

NAME: Final = "openai:text-embedding-3-small/64"
KEPT: Final[dict[str, str]] = {"a Memory attached": "the exchange", "auto": "what is drawn"}


@dataclass(frozen=True, kw_only=True)
class Fault:
    """What the service answers to each request; `by_name` is False where its client must not wait."""

    answer: Answer | None = None
    by_name: bool = True


FAULTS: Final[dict[str, Fault]] = {
    "status 429": Fault(answer=Answer(status=429, retry_after_s=0.001)),
    "status 500": Fault(answer=Answer(status=500, retry_after_s=0.001)),
    "connection reset": Fault(answer=Answer(reset=True), by_name=False),
    "answer cut off": Fault(answer=Answer(cut_after=40), by_name=False),
    "slow": Fault(by_name=False),
    "reordered": Fault(answer=Answer(rows=reordered)),
    "one missing": Fault(answer=Answer(rows=missing)),
    "wrong dimension": Fault(answer=Answer(rows=shortened)),
    "not a number": Fault(answer=Answer(rows=not_finite)),
    "no vector": Fault(answer=Answer(rows=null)),
    "no JSON": Fault(answer=Answer(body=b"<html>bad gateway</html>")),
}


def embedder(server: OpenAIServer, fault: Fault) -> Any:
    """By the name alone, from the environment; or one that neither retries nor waits long."""
    if fault.by_name:
        return NAME
    return OpenAIEmbedder(
        "text-embedding-3-small",
        dimensions=64,
        base_url=server.base_url,
        api_key="k",
        retries=0,
        timeout_s=0.2 if fault.answer is None else 30,
    )


async def suffer(scene: Scene, entry: str, fault: Fault) -> str:
    """One healthy run, one in which all embedding has the fault; how that ended for the caller."""
    assert await scene.say(entry, BEFORE) == "ends well"
    gate = Gate()
    scene.server.script_embed(lambda _: fault.answer or Answer(gate=gate))
    ended = await scene.say(entry, DURING)
    scene.server.script_embed(None)
    gate.open()
    return ended


async def cell(scene: Scene, ended: str) -> str:
    """What the page says of it: how the run ended, how it recalled, and what became of its memory."""
    assert scene.report is not None
    how = "recalled by words" if "vector" in scene.report.recalled.degraded else "recalled"
    kept = [item for item in await scene.remembered() if DURING in item.content]
    if not kept:
        what = "kept by the next run"
    elif kept[0].embedder is None:
        what = "kept, vector follows"
    else:
        what = "kept"
    end = "ends well" if ended == "ends well" else f"`{ended}`"
    return f"{end}; {how}; {what}"
