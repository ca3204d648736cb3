"""What is said when the extra is missing."""

from retentive.errors import InvalidInput


def missing(name: str, library: str) -> InvalidInput:
    """The error to raise when the library cannot be imported."""
    return InvalidInput(f"{name} needs {library}: pip install 'retentive[redaction]'")
