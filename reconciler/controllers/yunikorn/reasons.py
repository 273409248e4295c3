"""The reason for waiting that is written on a Pod in YuniKorn's queues."""

from __future__ import annotations

from policies.dialects.yunikorn import VCORE
from scheduling.yunikorn.queue import QueueLack
from scheduling.yunikorn.waiting import WaitingAllocation


def reason_text(waiting: WaitingAllocation) -> str:
    where = f" in {waiting.queue}" if waiting.queue else ""
    texts = [text for text in (waiting.message, *map(_lack, waiting.lacks)) if text]
    return f"{waiting.reason}{where}: {'; '.join(texts)}"


def _lack(lack: QueueLack) -> str:
    whose = f" for {lack.whose}" if lack.whose else ""
    name = "cpu" if lack.resource == VCORE else lack.resource
    asked, used, limit, short = (
        _amount(lack.resource, amount) for amount in (lack.requested, lack.used, lack.limit, lack.short)
    )
    return f"{lack.queue}{whose} lacks {name}={short}, asked {asked}, {used} of {limit} in use"


def _amount(resource: str, amount: int) -> str:
    if resource != VCORE:
        return str(amount)
    return f"{amount // 1000}" if amount % 1000 == 0 else f"{amount}m"
