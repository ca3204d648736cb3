"""Context assembly: one budgeted block for a prompt, from a thread, memories and other sources."""

from retentive.context.block import parse_context
from retentive.context.values import Context, ContextRequest, Contributor, LeftOut, Offer, Offers, Part

__all__ = ["Context", "ContextRequest", "Contributor", "LeftOut", "Offer", "Offers", "Part", "parse_context"]
