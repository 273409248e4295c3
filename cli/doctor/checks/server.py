"""Checks that the API server answers, its version, and its clock."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from cli.doctor.target import CheckedCluster, CheckResult, check, failure, ok, skipped, warning
from cluster.errors import ApiError
from policies.dialects.reading import mapping, metadata, text

_OLDEST = 30
"""The oldest supported minor version of Kubernetes: the first with match conditions and ValidatingAdmissionPolicies."""
_CLOCKS_DIFFER = timedelta(seconds=30)
_REVIEWS = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
_REVIEW = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}


@check("api-server", "The API server answers, in a version that Quotree supports.")
def api_server(target: CheckedCluster) -> Iterator[CheckResult]:
    version = target.cluster.get("/version")
    yield check_version(target.cluster.host, text(version.get("gitVersion")) or "", text(version.get("minor")) or "")


def check_version(host: str, version: str, minor: str) -> CheckResult:
    """Check the version of the API server. Some distributions add a `+` to `minor`."""
    number = minor.rstrip("+")
    if number.isdecimal() and int(number) < _OLDEST:
        return failure(host, f"Kubernetes {version} is older than 1.{_OLDEST}", f"upgrade to 1.{_OLDEST} or later")
    return ok(host, f"Kubernetes {version}")


@check("clock", "The clock of this machine agrees with the API server's.")
def clock(target: CheckedCluster) -> Iterator[CheckResult]:
    before = target.now()
    try:
        review = target.cluster.create(_REVIEWS, _REVIEW)
    except ApiError as error:
        yield skipped("", f"the API server does not say its time: {error.message}")
        return
    written = text(metadata(review).get("creationTimestamp"))
    user = text(mapping(mapping(review.get("status")).get("userInfo")).get("username")) or "nobody"
    if written is None:
        yield skipped("", "the API server does not say its time")
        return
    yield check_clock(datetime.fromisoformat(written), before, target.now(), user)


def check_clock(theirs: datetime, before: datetime, after: datetime, user: str) -> CheckResult:
    """Compare the clocks.

    `theirs`: the API server's time, in whole seconds. `before`, `after`: this machine's time before and after the
    request. `user`: the name by which the API server knows the user.
    """
    ahead = max(theirs - after, before - theirs - timedelta(seconds=1), timedelta())
    if ahead > _CLOCKS_DIFFER:
        way = "ahead of" if theirs > after else "behind"
        message = f"the API server's clock is {ahead.total_seconds():.0f} s {way} this machine's"
        return warning("", message, "synchronise both; certificates and Leases are judged by this machine's clock")
    return ok("", f"agrees with the API server's, which knows you as {user}")
