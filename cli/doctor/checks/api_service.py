"""Checks the APIService through which the API server forwards requests to the reconciler."""

from __future__ import annotations

from collections.abc import Iterator

from cli.doctor.result import CheckResult, check, failure, ok, skipped
from cli.doctor.target import CheckedCluster
from cluster.resource import API_SERVICES
from policies.dialects.reading import Manifest, condition, mapping, text
from policies.takeover import removal
from policies.takeover.objects import ObjectRef

_BLOCKS = "until it is, no namespace of the cluster can be deleted"


@check("api-service", "The APIService of the reconciler is available, so that namespaces can be deleted.")
def api_service(target: CheckedCluster) -> Iterator[CheckResult]:
    for name in removal.API_SERVICES:
        found = target.get(API_SERVICES.item(name))
        ref = ObjectRef("APIService", name)
        yield check_api_service(ref, found) if found is not None else skipped(str(ref), "is not installed")


def check_api_service(ref: ObjectRef, found: Manifest) -> CheckResult:
    available = condition(mapping(found.get("status")), "Available")
    if available.get("status") == "True":
        return ok(str(ref), "is available")
    fix = f"bring the reconciler back: see replicas and endpoints; or kubectl delete apiservice {ref.name}"
    said = ": ".join(filter(None, (text(available.get(key)) for key in ("reason", "message"))))
    return failure(str(ref), f"is not available ({said or 'the API server gave no reason'}); {_BLOCKS}", fix)
