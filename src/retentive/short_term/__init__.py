"""Short-term memory: a bounded window over a thread, and a rolling summary of the rest."""

from retentive.short_term.llm import LLMSummarizer
from retentive.short_term.short_term import ShortTermMemory
from retentive.short_term.summarizing import Summarizer
from retentive.window import Summary, Window

__all__ = ["LLMSummarizer", "ShortTermMemory", "Summarizer", "Summary", "Window"]
