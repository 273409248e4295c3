"""What stands in for servers where the dashboard answers by itself: for one's own cluster, or for files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from cli.exits import AccessDenied, OutOfReach
from cluster.api.refusal import HttpRefusal
from cluster.errors import Forbidden, Unreachable, from_status
from cluster.reviews import Access, Caller
from dashboard.reading.backend import Manifest

OTHERS = {"/v1/volcano/tree": "Volcano", "/v1/yunikorn/tree": "YuniKorn"}
"""The paths of /v1 for trees of other projects than Kueue."""


class FileReviews:
    """Replaces `Reviews` where no API server is asked: a user who can read the files or the cluster may see all."""

    def who(self, token: str) -> Caller:
        return Caller(token)

    def may(self, caller: Caller, access: Access) -> bool:  # noqa: ARG002, as `Reviews` has it
        return True


@contextmanager
def refused_as_by_a_server() -> Iterator[None]:
    """A refusal of /v1 becomes the error that a client would raise."""
    try:
        yield
    except HttpRefusal as refusal:
        raise from_status(refusal.body()) from refusal


@contextmanager
def out_of_reach_as_by_a_server(who: str) -> Iterator[None]:
    """What ends a command becomes the error that a client would raise: a page says it, and goes on. `who` answers."""
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
