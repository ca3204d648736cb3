"""Agents that remember, on pydantic-ai: `pip install 'retentive[agents]'`."""

from retentive.agent.agent import Agent
from retentive.agent.capability import MemoryCapability
from retentive.agent.report import RunReport, RunState
from retentive.agent.results import AgentResult, AgentStream
from retentive.agent.scratch import working_memory

__all__ = [
    "Agent",
    "AgentResult",
    "AgentStream",
    "MemoryCapability",
    "RunReport",
    "RunState",
    "working_memory",
]
