"""Which servers a client trusts."""

from __future__ import annotations

import ssl
from os import PathLike


def trusting(ca: str | PathLike[str] | None = None) -> ssl.SSLContext:
    """A TLS context that trusts the authorities in the file `ca`, or those of the system. Raises OSError."""
    context = ssl.create_default_context(cafile=ca)
    # Python 3.13 rejects authorities without a key identifier, which older clusters still have and Go accepts.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context
