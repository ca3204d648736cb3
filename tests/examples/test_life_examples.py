"""There is a short example for each part of the life of a memory, and the page of examples names it.

That each runs and prints what it says is tested with the rest of the documentation.
"""

from pathlib import Path

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "life"
PARTS = {
    "supersede",
    "two_times",
    "expiry",
    "consolidation",
    "forgetting",
    "trust",
    "model_change",
    "tampering",
    "poisoning",
    "retries",
    "audit",
    "portability",
    "migrations",
    "encryption",
}


def test_each_part_of_the_life_of_a_memory_has_a_short_example_that_says_what_it_prints() -> None:
    files = {path.stem: path.read_text(encoding="utf-8") for path in EXAMPLES.glob("*.py")}
    assert set(files) == PARTS
    for name, code in files.items():
        assert len(code.splitlines()) <= 40, name
        assert "# > " in code, name
        assert code.splitlines()[0].endswith(f'Run it: python examples/life/{name}.py"""'), name


def test_the_page_of_examples_names_each() -> None:
    page = (ROOT / "docs" / "guide" / "examples.md").read_text(encoding="utf-8")
    assert {name for name in PARTS if f"(../../examples/life/{name}.py)" in page} == PARTS
