"""`python -m retentive.cli` is the `retentive` command."""

import sys

from retentive.cli.app import main

if __name__ == "__main__":
    sys.exit(main())
