"""Drawing memories from what was said: once, wholly, and without losing any when something fails."""

from retentive.extraction.backlog import Backlog
from retentive.extraction.base import Decision, Excerpt, Extractor, Statement
from retentive.extraction.facade import Extracted, Extraction
from retentive.extraction.limits import ExtractionLimits
from retentive.extraction.llm import LLMExtractor
from retentive.extraction.notes import DeadLetter
from retentive.extraction.queue import ExtractionQueue
from retentive.extraction.small_talk import is_small_talk
from retentive.extraction.verbatim import VerbatimExtractor

__all__ = [
    "Backlog",
    "DeadLetter",
    "Decision",
    "Excerpt",
    "Extracted",
    "Extraction",
    "ExtractionLimits",
    "ExtractionQueue",
    "Extractor",
    "LLMExtractor",
    "Statement",
    "VerbatimExtractor",
    "is_small_talk",
]
