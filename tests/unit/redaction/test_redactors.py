import sys
import traceback
from typing import Any

import pytest

from retentive.errors import InvalidInput, RedactionError
from retentive.redaction import PersonalData, Redacted, Secrets, Several
from retentive.redaction.base import Redactor, check_redactor, redacted

AWS, GITHUB = "AKIA" + "IOSFODNN7EXAMPLE", "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"


@pytest.fixture(scope="module")
def personal() -> PersonalData:
    return PersonalData()


@pytest.fixture(scope="module")
def secrets() -> Secrets:
    return Secrets()


@pytest.mark.parametrize(
    ("text", "left", "kinds"),
    [
        ("Mail jane.doe@example.com!", "Mail [email]!", {"email": 1}),
        ("a@example.com, b@example.com", "[email], [email]", {"email": 2}),
        ("Call +1 (415) 555-0132.", "Call [phone].", {"phone": 1}),
        ("Card 4111 1111 1111 1111", "Card [card]", {"card": 1}),
        ("SSN 123-45-6789", "SSN [ssn]", {"ssn": 1}),
        ("IBAN DE89 3704 0044 0532 0130 00", "IBAN [iban]", {"iban": 1}),
    ],
)
def test_personal_data_leave_their_kind(
    personal: PersonalData, text: str, left: str, kinds: dict[str, int]
) -> None:
    assert personal.redact(text) == Redacted(left, kinds)


@pytest.mark.parametrize(
    "text",
    [
        "Credit limit raised to 250k after the renewal on 2026-04-02 at 12.30.",
        "Version 1.2.3.4 runs in room 94107.",
        "ไทย 東京 👩‍👩‍👧‍👦",
        "",
    ],
)
def test_facts_stay(personal: PersonalData, secrets: Secrets, text: str) -> None:
    assert personal.redact(text) == secrets.redact(text) == Redacted(text)


def test_kinds_can_be_chosen_and_texts_spared() -> None:
    wide = PersonalData(["ip", "date", "email"], spare=["help@example.com"])
    assert wide.redact("10.0.0.1 on 2026-04-02 by help@example.com, +1 (415) 555-0132") == Redacted(
        "[ip] on [date] by help@example.com, +1 (415) 555-0132", {"ip": 1, "date": 1}
    )


@pytest.mark.parametrize("kinds", [["shoe size"], "shoe size"])
def test_an_unknown_kind_is_refused(kinds: Any) -> None:
    with pytest.raises(InvalidInput, match="no kind is called shoe size; there are email, phone"):
        PersonalData(kinds)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (f"the key is {AWS}.", "the key is [secret]."),
        (f"token={GITHUB}", "token=[secret]"),
        ("postgres://bob:hunter22@db.example.com/x", "postgres://bob:[secret]@db.example.com/x"),
        (f"{AWS} and {GITHUB}", "[secret] and [secret]"),
    ],
)
def test_tokens_are_taken_out_whole(secrets: Secrets, text: str, left: str) -> None:
    assert secrets.redact(text).text == left
    assert secrets.redact(text).kinds == {"secret": left.count("[secret]")}


@pytest.mark.parametrize("end", ["", "\n-----END RSA PRIVATE KEY-----\nthanks"])
def test_a_private_key_goes_with_its_body_even_without_an_end(secrets: Secrets, end: str) -> None:
    text = f"Here:\n-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nabcd{end}"
    assert secrets.redact(text) == Redacted(
        "Here:\n[private_key]" + ("\nthanks" if end else ""), {"private_key": 1}
    )


def test_several_add_up(personal: PersonalData, secrets: Secrets) -> None:
    answer = Several(secrets, personal).redact(f"{AWS} of jane@example.com")
    assert answer == Redacted("[secret] of [email]", {"secret": 1, "email": 1})
    assert Several().redact("as it is") == Redacted("as it is")


class _Says:
    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def redact(self, text: str) -> Redacted:
        return self.answer


@pytest.mark.parametrize(
    "answer",
    [
        None,
        "text",
        Redacted("other"),
        Redacted("text", {"email": 1}),
        Redacted("other", {"email": -1}),
        Redacted("other", {"email": True}),
        Redacted(None, {"email": 1}),  # pyright: ignore[reportArgumentType]
    ],
)
def test_an_answer_that_does_not_add_up_is_refused(answer: Any) -> None:
    with pytest.raises(RedactionError, match="nothing was written"):
        redacted(_Says(answer), "text")


def test_a_failure_does_not_carry_the_text_into_logs(broken: Redactor) -> None:
    with pytest.raises(RedactionError, match="Digits failed with ValueError") as caught:
        redacted(broken, " ".join(["my", "secret"]))
    assert "my secret" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("wrong", ["standard", 1, PersonalData, str.upper])
def test_what_is_no_redactor_is_refused(wrong: Any) -> None:
    with pytest.raises(InvalidInput, match="method redact"):
        check_redactor(wrong)


@pytest.mark.parametrize(
    ("make", "library"), [(PersonalData, "datafog"), (Secrets, "detect_secrets.plugins.aws")]
)
def test_without_the_extra_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, make: Any, library: str
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(InvalidInput, match=r"pip install 'retentive\[redaction\]'"):
        make()
