"""The nine edits of the public suite `agent-memory-integrity`, by our adapters: all refused when read."""

# The suite carries no types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false

import sys
from pathlib import Path

import pytest
from agmi.attacks.at_rest import AT_REST_ATTACKS_WITH_SNAPSHOT
from agmi.check import verdict

sys.path.insert(0, str(Path(__file__).parent))
from agmi_adapters import Adapter, FileAdapter, SqliteAdapter, ThreadAdapter

ADAPTERS: list[type[Adapter]] = [SqliteAdapter, FileAdapter, ThreadAdapter]


@pytest.mark.parametrize("adapter", ADAPTERS, ids=lambda adapter: adapter.__name__)
@pytest.mark.parametrize("attack", AT_REST_ATTACKS_WITH_SNAPSHOT, ids=lambda attack: attack.name)
def test_every_edit_is_refused_on_the_read_path(adapter: type[Adapter], attack: type) -> None:
    made = adapter()
    result = attack().run(made)
    assert verdict(result, made) == "REJECTED", result
    assert "Tampered" in result.detail, result
