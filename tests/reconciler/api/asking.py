"""Questions to /v1 of a core, by callers with these rights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from cluster.api.refusal import HttpRefusal
from reconciler.api.routes import ReconcilerApi
from reconciler.core.core import Core
from tests.reconciler.api.organisation import Rights
from tests.schemas import checked

T = TypeVar("T")
USERS = {
    "admin": ("everything",),
    "dev": ("list pods in namespace dev",),
    "other": ("list pods in namespace other",),
    "pods": ("list pods",),
    "spaces": ("list namespaces",),
    "volcano": ("list queues.scheduling.volcano.sh",),
    "nobody": (),
}


def api(of: Core) -> ReconcilerApi:
    def ask(question: Callable[[Core], T], timeout: float = 5.0) -> T:
        return question(of)

    return ReconcilerApi(ask, Rights(**USERS))  # type: ignore[arg-type]


def get(of: Core, path: str, token: str = "admin") -> Any:
    return checked(api(of).answer(path, f"Bearer {token}"))


def code(of: Core, path: str, token: str = "admin") -> int:
    try:
        api(of).answer(path, f"Bearer {token}")
    except HttpRefusal as refusal:
        return refusal.code
    return 200


def pods(answer: dict[str, Any]) -> list[str]:
    return [each["pod"] for each in answer["items"]]
