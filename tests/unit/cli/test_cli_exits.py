import pytest

from retentive import errors
from retentive.cli.exits import EXITS, epilog, exit_code


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.RetentiveError, 1),
        (errors.InvalidInput, 2),
        (errors.NotFound, 3),
        (errors.Conflict, 4),
        (errors.NotTrusted, 9),
        (errors.StoreError, 5),
        (errors.StoreUnavailable, 5),
        (errors.StoreCorrupt, 5),
        (errors.SchemaTooNew, 5),
        (errors.StoreClosed, 5),
        (errors.ReadOnly, 5),
        (errors.EmbedderError, 6),
        (errors.EmbedderMismatch, 6),
        (errors.ExtractionError, 8),
        (errors.ModelUnavailable, 8),
    ],
)
def test_an_error_has_the_code_of_its_line(error: type[errors.RetentiveError], code: int) -> None:
    assert exit_code(error("x")) == code


def test_every_error_has_a_code_other_than_success() -> None:
    every = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    assert len(every) >= 12
    assert all(exit_code(kind("x")) for kind in every)


def test_codes_are_distinct_and_all_in_the_help() -> None:
    codes = [line.code for line in EXITS]
    assert len(set(codes)) == len(codes)
    assert all(f"{line.code} {line.meaning}" in epilog() for line in EXITS)
