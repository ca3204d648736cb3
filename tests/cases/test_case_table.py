"""The table of cases is whole, and names tests that exist."""

import re
from pathlib import Path

HERE = Path(__file__).parent

IDS = {
    *(
        "CON-1",
        "CON-2",
        "CON-3",
        "TRN-1",
        "TRN-2",
        "TRN-3",
        "UNI-1",
        "UNI-2",
        "UNI-3",
        "QRY-1",
        "QRY-2",
        "QRY-3",
    ),
    *("EMP-1", "EMP-2", "IDS-1", "IDS-2", "TIM-1", "TIM-2", "TIM-3", "DUP-1", "DUP-2", "DUP-3"),
    *("TEN-1", "TEN-2", "TEN-3", "TEN-4", "TEN-5", "LIM-1", "LIM-2", "DEL-1", "DEL-2", "DEL-3"),
    *("ASY-1", "ASY-2", "ASY-3", "HIS-1", "HIS-2", "HIS-3", "INJ-1", "INJ-2"),
    *("EMB-1", "EMB-2", "EMB-3", "EMB-4", "EMB-5", "JSN-1", "JSN-2", "RES-1", "RES-2", "MIG-1", "MIG-2"),
}
"""Every handed case of the kinds that concern threads, memories and agents."""


def table() -> dict[str, tuple[list[str], str]]:
    """For each id its tests, and what waits."""
    rows: dict[str, tuple[list[str], str]] = {}
    for line in (HERE / "README.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if re.fullmatch(r"[A-Z]{3}-\d", cells[0]):
            assert cells[0] not in rows
            rows[cells[0]] = (re.findall(r"`(test_\w+)`", cells[1]), cells[2])
    return rows


def there_are() -> set[str]:
    files = HERE.parent.rglob("test_*.py")
    return {
        name for file in files for name in re.findall(r"def (test_\w+)\(", file.read_text(encoding="utf-8"))
    }


def test_every_case_is_in_the_table() -> None:
    assert table().keys() == IDS


def test_every_test_named_in_the_table_exists() -> None:
    named = {name for row, _ in table().values() for name in row}
    assert named - there_are() == set()


def test_a_case_without_a_test_says_what_it_waits_for() -> None:
    assert {case for case, (row, _) in table().items() if not row} == set()
    assert all(row or waits for row, waits in table().values())


def test_every_test_of_a_case_is_in_its_row() -> None:
    rows = table()
    for file in HERE.glob("test_cases_*.py"):
        for name in re.findall(r"def (test_([a-z]{3})_(\d)_\w+)\(", file.read_text(encoding="utf-8")):
            assert name[0] in rows[f"{name[1].upper()}-{name[2]}"][0], name[0]
