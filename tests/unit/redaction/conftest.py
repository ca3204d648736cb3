import pytest
from digits_redactor import Digits


@pytest.fixture
def digits() -> Digits:
    return Digits()


@pytest.fixture
def broken() -> Digits:
    return Digits(fails=True)
