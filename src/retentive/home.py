"""Where things are kept when nobody says where."""

import os
from pathlib import Path


def home() -> Path:
    """The folder named by RETENTIVE_HOME, else `.retentive` in the current folder. It need not exist yet."""
    return Path(os.environ.get("RETENTIVE_HOME") or ".retentive").expanduser().absolute()
