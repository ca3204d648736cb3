"""Keys and tokens by their form, found by detect-secrets (the extra "redaction"). Offline."""

import re
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Final, cast

from retentive.redaction.base import Redacted
from retentive.redaction.extra import missing
from retentive.redaction.spans import Span, without

_DETECTORS: Final = {
    "artifactory": "ArtifactoryDetector",
    "aws": "AWSKeyDetector",
    "azure_storage_key": "AzureStorageKeyDetector",
    "basic_auth": "BasicAuthDetector",
    "discord": "DiscordBotTokenDetector",
    "github_token": "GitHubTokenDetector",
    "gitlab_token": "GitLabTokenDetector",
    "jwt": "JwtTokenDetector",
    "mailchimp": "MailchimpDetector",
    "npm": "NpmDetector",
    "openai": "OpenAIDetector",
    "pypi_token": "PypiTokenDetector",
    "sendgrid": "SendGridDetector",
    "slack": "SlackDetector",
    "square_oauth": "SquareOAuthDetector",
    "stripe": "StripeDetector",
    "telegram_token": "TelegramBotTokenDetector",
    "twilio": "TwilioKeyDetector",
}
_PRIVATE_KEY: Final = re.compile(
    r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z ]+-----|\Z)", re.DOTALL
)
_AROUND: Final = " \t\r\n=:,;\"'"
_REST: Final = re.compile(r"[\w-]*")
_KEY, _TOKEN = "private_key", "secret"


class Secrets:
    """Takes out the keys and tokens of well-known services, passwords in URLs, and private keys.

    What has no form of its own, such as a password in a sentence, it cannot see. detect-secrets could ask the
    services whether a token is genuine; that is never done.

    Raises:
        InvalidInput: the extra is not installed.
    """

    def __init__(self) -> None:
        self._patterns = [
            (pattern, 1 if module == "basic_auth" else 0)
            for module, name in _DETECTORS.items()
            for pattern in _patterns(module, name)
        ]

    def redact(self, text: str) -> Redacted:
        """See `Redactor.redact`. Tokens leave "[secret]", private keys "[private_key]"."""
        return without(text, [*self._keys(text), *self._tokens(text)])

    def _keys(self, text: str) -> Iterator[Span]:
        for found in _PRIVATE_KEY.finditer(text):
            yield Span(found.start(), found.end(), _KEY)

    def _tokens(self, text: str) -> Iterator[Span]:
        """Each match whole, to the end of its word: some patterns see only the beginning of a token."""
        for pattern, group in self._patterns:
            for found in pattern.finditer(text):
                start, end = found.span(group)
                end -= len(text[start:end]) - len(text[start:end].rstrip(_AROUND))
                start += len(text[start:end]) - len(text[start:end].lstrip(_AROUND))
                rest = _REST.match(text, end)
                yield Span(start, rest.end() if rest else end, _TOKEN)


def _patterns(module: str, name: str) -> Sequence[re.Pattern[str]]:
    try:
        detector = getattr(import_module(f"detect_secrets.plugins.{module}"), name)()
        return cast("Sequence[re.Pattern[str]]", tuple(detector.denylist))
    except ImportError as error:
        raise missing("Secrets", "detect-secrets") from error
