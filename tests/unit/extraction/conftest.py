import pytest
from extraction_rig import Rig

from retentive import Memory
from retentive.testing.clocks import FakeClock


@pytest.fixture
def rig(memory: Memory, clock: FakeClock) -> Rig:
    return Rig(memory, clock)
