"""What the examples of agents print, and the page that shows it.

`python tests/examples/transcripts.py` writes the transcripts into docs/guide/examples.md.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "agents"
PAGE = ROOT / "docs" / "guide" / "examples.md"
NAMES = ("support_agent", "model_decides", "streaming", "coding_helper", "service")

_ID = re.compile(r"\b0[0-9a-z]{25}\b")
_BLOCK = re.compile(r"<!-- transcript: (\w+) -->\n```text\n.*?```", re.DOTALL)


def transcript(name: str, home: Path, **variables: str) -> str:
    """What the example prints in a process of its own, on a home of its own; ids are shown as `<id>`.

    Raises:
        AssertionError: it failed, or had something to say on stderr.
    """
    kept = {k: v for k, v in os.environ.items() if not k.startswith("RETENTIVE_")}
    done = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES / f"{name}.py")],
        env={**kept, "RETENTIVE_HOME": str(home), "PYTHONUTF8": "1", **variables},
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return "".join(f"{line.rstrip()}\n" for line in _ID.sub("<id>", done.stdout).splitlines())


def shown(page: str) -> dict[str, str]:
    """The transcripts on the page, by example."""
    return {
        found[1]: found[0].partition("```text\n")[2].removesuffix("```") for found in _BLOCK.finditer(page)
    }


def rewritten(page: str, transcripts: dict[str, str]) -> str:
    """The page with these transcripts."""
    return _BLOCK.sub(
        lambda found: f"<!-- transcript: {found[1]} -->\n```text\n{transcripts[found[1]]}```", page
    )


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        made = {name: transcript(name, Path(folder) / name) for name in NAMES}
    PAGE.write_text(rewritten(PAGE.read_text("utf-8"), made), encoding="utf-8", newline="\n")
