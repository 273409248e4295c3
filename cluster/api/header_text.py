"""Text in HTTP headers. The API server and proxies send and read UTF-8, but Python's libraries use Latin-1."""

from __future__ import annotations


def received(value: str) -> str:
    """The text of a header as a Python library returns it."""
    return value.encode("latin-1", "surrogateescape").decode("utf-8", "replace")


def to_send(text: str) -> str:
    """The text in the form that a Python library sends as UTF-8."""
    return text.encode().decode("latin-1")
