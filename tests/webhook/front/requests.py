"""Requests as they arrive, the handler that answers them, and a ledger that counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cluster.store import FixedCache
from policies.judge import Judgement
from policies.model.change import Change
from policies.model.forest import Forest
from tests.builders import forest
from webhook.front.reading import WholeRequest
from webhook.ledger.entry import LedgerEntry
from webhook.metrics import WebhookMetrics
from webhook.review_handler import JSON, ReviewHandler
from webhook.settings import WebhookSettings


class Ordering:
    """A ledger that counts who comes."""

    def __init__(self) -> None:
        self.came = 0

    def decide(self, change: Change, judge: Callable[[Forest], Judgement], entry: LedgerEntry | None) -> Judgement:
        self.came += 1
        return judge(forest("eng"))

    def ready(self) -> list[str]:
        return []

    def entries(self) -> int:
        return 0

    def close(self) -> None:
        """Nothing to end."""


def request(path: str, data: bytes, content_type: str = JSON, method: str = "POST", cut: bool = False) -> WholeRequest:
    headers = (("host", "webhook.svc:443"), ("content-length", str(len(data))), ("content-type", content_type))
    return WholeRequest(method, path + "?timeout=3s", headers, data, cut, True)


def handler(cache: FixedCache, order: Any = None, **settings: Any) -> ReviewHandler:
    return ReviewHandler(WebhookSettings(**settings), lambda: cache, WebhookMetrics(), order)
