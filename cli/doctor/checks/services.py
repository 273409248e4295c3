"""Checks that each Service has a replica that is ready, and the APIService of the reconciler, which leads to one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cli.doctor.target import CheckedCluster, CheckResult, check, failure, ok, option, skipped
from cluster.resource import API_SERVICES, ENDPOINT_SLICES, SERVICES
from policies.dialects.reading import Manifest, condition, listing, mapping, text
from policies.takeover import removal
from policies.takeover.objects import ObjectRef, set_aside

_OF_SERVICE = "kubernetes.io/service-name"
_APPLY = {
    "webhook": "kubectl apply -f manifests/base/service.yaml",
    **{
        name: f"kubectl apply -f manifests/components/{name}/service.yaml"
        for name in ("reconciler", "audit", "dashboard")
    },
}
_BLOCKS = "until it is, no namespace of the cluster can be deleted"


@check("endpoints", "The Service of each process that is installed leads to a replica that is ready.")
def endpoints(target: CheckedCluster) -> Iterator[CheckResult]:
    looked = False
    for process, ref in target.names.processes.items():
        deployment = target.deployment(ref)
        if deployment is not None and not set_aside(deployment) and (name := option(deployment, "--service")):
            looked = True
            yield of_service(target, ObjectRef("Service", name, ref.namespace), _APPLY[process])
    if not looked:
        yield skipped("", "no process that is installed and runs has a Service")


def of_service(target: CheckedCluster, ref: ObjectRef, apply: str) -> CheckResult:
    """Check a Service and its endpoints. `apply`: the fix if it does not exist. Raises ClusterError."""
    found = target.get(SERVICES.item(ref.name, ref.namespace))
    slices = target.cluster.list(ENDPOINT_SLICES, namespace=ref.namespace, label_selector=f"{_OF_SERVICE}={ref.name}")
    return check_service(str(ref), found, list(slices) if found is not None else (), apply)


def check_service(subject: str, service: Manifest | None, slices: Sequence[Manifest], apply: str) -> CheckResult:
    if service is None:
        return failure(subject, "does not exist, so the process cannot be reached", apply)
    ready = {address for each in slices if listing(each.get("ports")) for address in _ready(each)}
    if not ready:
        fix = "see replicas; its selector must match the labels of the Pods, and its targetPort a port of theirs"
        return failure(subject, "leads to no replica that is ready", fix)
    return ok(subject, f"leads to {len(ready)} ready replica{'s' * (len(ready) > 1)}")


def _ready(endpoint_slice: Manifest) -> Iterator[str]:
    """The addresses that are ready. An endpoint without a Ready condition counts as ready."""
    for each in map(mapping, listing(endpoint_slice.get("endpoints"))):
        if mapping(each.get("conditions")).get("ready") is not False:
            yield from map(str, listing(each.get("addresses"))[:1])


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
