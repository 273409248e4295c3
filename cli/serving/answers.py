"""Replacements for servers, for a dashboard that reads a cluster or files itself instead of calling a reconciler."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from urllib.parse import urlencode

from cli.exits import AccessDenied, OutOfReach
from cluster.api.refusal import HttpRefusal
from cluster.api.server import Answers
from cluster.errors import Forbidden, Unreachable, from_status
from cluster.reviews import Access, Caller
from dashboard.reading.backend import Manifest

OTHERS = {"/v1/volcano/tree": "Volcano", "/v1/yunikorn/tree": "YuniKorn"}
"""The paths of /v1 for trees of other projects than Kueue."""


class FileReviews:
    """Replaces `Reviews` if no API server authorizes callers: the user can read the files or the cluster anyway."""

    def who(self, token: str) -> Caller:
        return Caller(token)

    def may(self, caller: Caller, access: Access) -> bool:  # noqa: ARG002, as `Reviews` has it
        return True


def answered(api: Answers, path: str, params: Mapping[str, str] | None) -> Manifest:
    """The answer of /v1. A refusal becomes the error that a client of /v1 would raise."""
    try:
        return api.answer(f"{path}?{urlencode(params or {})}", "Bearer own")
    except HttpRefusal as refusal:
        raise from_status(refusal.body()) from refusal


@contextmanager
def unavailable_as_client_errors(who: str) -> Iterator[None]:
    """Turn OutOfReach, which would end a command, into the error of a client, which a page shows.

    `who`: the source that does not answer, for the message.
    """
    try:
        yield
    except AccessDenied as error:
        raise Forbidden(403, "Forbidden", error.message) from error
    except OutOfReach as error:
        raise Unreachable(who, error.message, "reload this page to try again") from error


def only(trees: Manifest, path: str) -> Manifest | None:
    """The trees of the project at this path; None if the path has no trees."""
    if path not in OTHERS:
        return None
    return {**trees, "nodes": [node for node in trees["nodes"] if node["dialect"] == OTHERS[path]]}
