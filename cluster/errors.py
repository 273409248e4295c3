"""The errors of requests to an API server; each says where it happened and what to do."""

import json
from collections.abc import Mapping
from typing import Any, ClassVar


class ClusterError(Exception):
    """The base class of this package's errors."""


class NotConfigured(ClusterError):
    """No usable kubeconfig, context or service account."""


class Unreachable(ClusterError):
    """The API server gave no complete response, because of the connection, TLS or a timeout.

    `sent`: False only if the request certainly never left this machine. `slow`: the connection was open, but the
    response did not come in time. Other requests may still succeed.
    """

    def __init__(self, host: str, problem: str, cure: str, *, sent: bool = True, slow: bool = False) -> None:
        super().__init__(f"{host}: {problem}; {cure}")
        self.host = host
        self.problem = problem
        self.cure = cure
        self.sent = sent
        self.slow = slow


class BadAnswer(ClusterError):
    """The response is not from the Kubernetes API: it is a proxy's page, is truncated, or is not JSON."""


class SetBack(ClusterError):
    """The API server has older data than before, as after a restore from a backup. What was read before is not valid.

    A watch from the last version would show nothing until the API server has reached that version again.
    """


class ApiError(ClusterError):
    """The API server returned a failure.

    `retry_after`: seconds; None if the server named no time. `reason`: the reason in the Status object
    (`AlreadyExists`, `Expired`, ...).
    """

    cure: ClassVar[str] = ""

    def __init__(
        self,
        status: int,
        reason: str,
        message: str,
        *,
        request: str = "",
        retry_after: float | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(
            ": ".join(part for part in (request, f"{status} {reason}".strip(), message) if part) + self.cure
        )
        self.status = status
        self.reason = reason
        self.message = message
        self.request = request
        self.retry_after = retry_after
        self.details: Mapping[str, Any] = details or {}

    def has_cause(self, reason: str) -> bool:
        causes = self.details.get("causes")
        return isinstance(causes, list) and any(isinstance(c, Mapping) and c.get("reason") == reason for c in causes)


class Unauthorized(ApiError):
    """401: the API server does not accept the credentials."""

    cure = "; the credentials are missing, wrong or expired: try the same context with `kubectl auth whoami`"


class Forbidden(ApiError):
    """403: RBAC or an admission plugin denies the request."""


class NotFound(ApiError):
    """404: the object, or its kind, does not exist."""


class Conflict(ApiError):
    """409: the object has changed (`Conflict`), exists (`AlreadyExists`), or another manager owns the field."""


class Gone(ApiError):
    """410: the resource version or the continue token is too old; list again."""


class EvictionBlocked(ApiError):
    """A PodDisruptionBudget forbids an eviction at present. The API server returns 429; here it counts as 409."""


_BY_STATUS: dict[int, type[ApiError]] = {401: Unauthorized, 403: Forbidden, 404: NotFound, 409: Conflict, 410: Gone}


_UNKNOWN_PATH = b"404 page not found"
"""What an API server answers for a kind that it does not serve."""


def from_status(status: Mapping[str, Any], *, request: str = "", retry_after: float | None = None) -> ApiError:
    """The error that a `Status` object describes. Fields may be missing or have the wrong type."""
    code = status.get("code")
    code = code if isinstance(code, int) else 500
    details = status.get("details")
    details = details if isinstance(details, Mapping) else {}
    seconds = details.get("retryAfterSeconds")
    if retry_after is None and isinstance(seconds, int) and seconds > 0:
        retry_after = float(seconds)
    return _BY_STATUS.get(code, ApiError)(
        code,
        str(status.get("reason") or ""),
        str(status.get("message") or ""),
        request=request,
        retry_after=retry_after,
        details=details,
    )


def from_response(code: int, body: bytes, *, request: str, retry_after: str | None) -> ApiError:
    """The error of an HTTP response, from the API server (a Status) or from a proxy (any text).

    A 404 of a proxy is not a NotFound, since the object and its kind may exist.
    """
    status = _status_object(body)
    if code == 404 and "kind" not in status and body.strip() != _UNKNOWN_PATH:
        return ApiError(code, "", f"{status['message']}; a proxy answers in place of the API server", request=request)
    # The HTTP status wins: the body may be truncated, or not be a Status.
    return from_status({**status, "code": code}, request=request, retry_after=_seconds(retry_after))


def _status_object(body: bytes) -> dict[str, Any]:
    try:
        status = json.loads(body)
    except (ValueError, RecursionError):
        status = None
    if isinstance(status, dict) and status.get("kind") == "Status":
        return status
    return {"message": body[:200].decode("utf-8", "replace").strip()}


def _seconds(retry_after: str | None) -> float | None:
    """Retry-After in seconds. A date counts as absent, since API servers send only numbers."""
    return float(retry_after) if retry_after and retry_after.isascii() and retry_after.isdigit() else None
