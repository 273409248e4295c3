"""Clusters that hold a few objects, for commands that read one."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from tests.cluster.fake import FakeApi, Handler, status


def holding(api: FakeApi, forbidden: Container[str] = (), **objects: list[dict[str, Any]]) -> None:
    """Let the fake API server answer lists of these plurals; other kinds are not installed, or `forbidden`."""

    def reply(handler: Handler) -> None:
        plural = handler.path.partition("?")[0].rpartition("/")[2]
        if plural in forbidden:
            status(403, "Forbidden")(handler)
        elif plural in objects:
            answer = {
                "kind": "AnyList",
                "apiVersion": "v1",
                "metadata": {"resourceVersion": "1"},
                "items": objects[plural],
            }
            handler.send_json(200, answer)
        else:
            status(404, "NotFound")(handler)

    api.others.extend([reply] * 300)
