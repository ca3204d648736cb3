"""What an agent keeps."""

from retentive.memory.facade import Memory

__all__ = ["Memory"]
