"""Reads a recorded AdmissionReview from a file or standard input, and encodes it as an API server would send it."""

from __future__ import annotations

import json
import sys

from analysis.documents import Document, Unreadable
from cli.exits import Misused
from cli.input.documents import read
from policies.text import json_values
from policies.text.positions import DocumentRoot
from webhook.bounds import crowded
from webhook.review import BadReview, Review, parse
from webhook.settings import WebhookSettings

_MOST = WebhookSettings().body_limit


class BadRecording(Exception):
    """The file has no AdmissionReview that the webhook accepts. `failures`: the places and reasons."""

    def __init__(self, failures: list[Unreadable]) -> None:
        super().__init__(*map(str, failures))
        self.failures = failures


def recorded(file: str) -> tuple[Review, str]:
    """The review, and why it is too large for the webhook, or an empty text. Raises BadRecording and Misused."""
    documents, unreadable = read([file], sys.stdin)
    if unreadable:
        raise BadRecording(unreadable)
    if len(documents) != 1:
        raise Misused(f"{file}: an AdmissionReview is one document, but there are {len(documents)}; keep one of them")
    document = documents[0]
    body = _body(document)
    if len(body) > _MOST:
        message = f"the review has {len(body)} bytes, and the webhook reads {_MOST} at most"
        raise BadRecording([Unreadable(document.place(), message)])
    try:
        review = parse(body)
    except BadReview as bad:
        raise BadRecording([Unreadable(document.place(bad.field), f"{bad}{_cure(document)}")]) from None
    return review, crowded(review.object, len(body))


def _body(document: Document) -> bytes:
    """The body of the request: JSON without changes, or YAML as JSON with numbers as the API server stores them."""
    text = document.region.outline.text
    if isinstance(json_values.read(text), DocumentRoot):
        return text.encode()
    return json.dumps(document.manifest, default=float).encode()


def _cure(document: Document) -> str:
    """The hint for a manifest, which users often pass by mistake; empty for other content."""
    if document.manifest.get("kind") == "AdmissionReview":
        return ""
    return "; for a manifest use `quotree validate`"
