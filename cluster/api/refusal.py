"""A refused request, whose response is a Status object of Kubernetes."""

from __future__ import annotations

from typing import Any

_REASONS = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
}


class HttpRefusal(Exception):
    """The request is refused with the HTTP status `code`. `message` gives the reason and what to do."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code

    def body(self) -> dict[str, Any]:
        return {
            "apiVersion": "v1",
            "kind": "Status",
            "metadata": {},
            "status": "Failure",
            "message": str(self),
            "reason": _REASONS.get(self.code, ""),
            "code": self.code,
        }
