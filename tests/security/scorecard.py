"""Runs the attack family and writes its scorecard into a page: `python tests/security/scorecard.py PAGE`."""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

import functools
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from agmi.attacks.memory_specific import ALL_MEMORY_ATTACKS
from poisoning_adapters import USES, Adapter, Use

BEGIN: Final = "<!-- scorecard: made by tests/security/scorecard.py -->"
END: Final = "<!-- end of scorecard -->"
ATTACKS: Final = {
    "memory_injection": "a planted fact",
    "cross_session_bleed": "another user's memory",
    "retrieval_hijack": "an entry stuffed with question words",
    "indirect_prompt_injection": "an instruction disguised as a memory",
    "update_poisoning": "a false correction",
    "metadata_poisoning": 'a self-made "verified" tag',
}


@functools.cache
def measured(use: Use) -> dict[str, Any]:
    """By attack the suite's result, its evasions tried as well."""
    adapter = Adapter(use)
    try:
        return {attack.name: attack(mutate=True).run(adapter) for attack in ALL_MEMORY_ATTACKS}
    finally:
        adapter.close()


def cell(result: Any) -> str:
    """What a result says, channel by channel."""
    assert result.error is None, result.error
    if result.safe:
        return "kept out"
    won = {
        channel: sum(map(bool, outcomes)) for channel, outcomes in result.channels.items() if any(outcomes)
    }
    if len(won) == len(result.channels):
        return "served on every channel"
    return "served if " + " or ".join(f"{channel} ({count} of 5)" for channel, count in won.items())


def scorecard() -> str:
    """The table, as it stands in the page."""
    release = version("agent-memory-integrity").rsplit(".", 1)[0]
    results = {use.name: measured(use) for use in USES}
    lines = [
        f"| attack | {' | '.join(use.name for use in USES)} |",
        f"|---|{'---|' * len(USES)}",
        *[
            f"| {words} | {' | '.join(cell(results[use.name][attack]) for use in USES)} |"
            for attack, words in ATTACKS.items()
        ],
        "",
        *[f"- **{use.name}**: {use.says}." for use in USES],
        "",
        f"agent-memory-integrity {release}, five scenes an attack and channel, evasions included.",
    ]
    return "\n".join(lines)


def written_into(page: str, table: str) -> str:
    """The page with the table between its marks."""
    before, rest = page.split(BEGIN)
    return f"{before}{BEGIN}\n{table}\n{END}{rest.split(END)[1]}"


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.write_text(written_into(target.read_text("utf-8"), scorecard()), "utf-8")
