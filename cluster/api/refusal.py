"""A refusal, in the form of Kubernetes' Status."""

from __future__ import annotations

from typing import Any

_REASONS = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    500: "InternalError",
    503: "ServiceUnavailable",
}


class HttpRefusal(Exception):
    """No answer, with the HTTP status and what to do about it."""

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
