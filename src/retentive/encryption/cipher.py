"""AES-256-GCM by the library `cryptography`; what a text belongs to is bound to it."""

import os
from typing import TYPE_CHECKING

from retentive.errors import InvalidInput, WrongKey

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

NONCE_BYTES = 12
_VERSION = b"\xe1"  # no packed bytes of ranking begin so, so it refuses an encrypted store


class Cipher:
    """Encrypts and decrypts with one key."""

    def __init__(self, key: bytes) -> None:
        self._aead = _aead(key)

    def encrypt(self, plain: bytes, *place: str) -> bytes:
        """The bytes, readable only with the key and at this place."""
        nonce = os.urandom(NONCE_BYTES)
        return _VERSION + nonce + self._aead.encrypt(nonce, plain, _framed(place))

    def decrypt(self, sealed: bytes, *place: str) -> bytes:
        """The bytes again.

        Raises:
            WrongKey: another key, another place, or they were changed.
        """
        from cryptography.exceptions import InvalidTag

        nonce, body = sealed[1 : 1 + NONCE_BYTES], sealed[1 + NONCE_BYTES :]
        try:
            if sealed[:1] != _VERSION or len(nonce) < NONCE_BYTES:
                raise InvalidTag  # noqa: TRY301 - one way out for all that cannot be read
            return self._aead.decrypt(nonce, body, _framed(place))
        except InvalidTag as error:
            raise WrongKey(
                f"what is kept as {' / '.join(place)} cannot be decrypted: it was written with another key, "
                "without encryption, or was changed or moved"
            ) from error


def _framed(place: tuple[str, ...]) -> bytes:
    return b"".join(len(word.encode()).to_bytes(4, "little") + word.encode() for word in place)


def _aead(key: bytes) -> "AESGCM":
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ImportError as error:
        raise InvalidInput('encryption needs an extra: pip install "retentive[encryption]"') from error
    return AESGCM(key)
