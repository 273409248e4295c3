"""Checks that Volcano's queue controller and the reconciler do not write the same queues."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from cli.doctor.checks.leases import holder_of, is_active, observes
from cli.doctor.target import CheckedCluster, CheckResult, check, failure, ok, skipped
from cluster.errors import NotFound
from cluster.resource import DEPLOYMENTS, LEASES
from policies.configuration.settings import Configuration, Dialect
from policies.dialects.reading import Manifest, mapping, metadata
from policies.dialects.volcano_programs import VC_CONTROLLER, program_of
from policies.takeover.objects import options
from reconciler.controllers.volcano.kinds import QUEUES
from reconciler.controllers.volcano.queue_writers import read_queue_writers

_SO = "so the reconciler does not write Volcano's queues"
_BOTH = "and reconciler.replaces names it, so both may write Volcano's queues"
_FIX = (
    "start vc-controller-manager with --controllers=*,-queue-controller, or scale it to 0. Then list it in"
    " reconciler.replaces, and restart the reconciler"
)


@check("volcano-controller", "Volcano's queue controller and the reconciler do not write the same queues.")
def volcano_controller(target: CheckedCluster) -> Iterator[CheckResult]:
    deployment = target.reconciler_deployment
    settings = target.configuration_of(deployment, "--settings") or Configuration()
    dialects = {*settings.reconciler.dialects, *options(deployment or {}, "--dialect")}
    if deployment is None or observes(target) or Dialect.VOLCANO not in dialects:
        yield skipped("", "no reconciler manages Volcano's queues here")
        return

    try:
        queues = target.cluster.snapshot(QUEUES, lambda manifest: manifest).items
    except NotFound:
        yield skipped("", "Volcano's queues are not installed")
        return
    yield check_controller(
        list(target.cluster.list(DEPLOYMENTS)),
        list(target.cluster.list(LEASES, field_selector=f"metadata.name={VC_CONTROLLER}")),
        queues,
        target.now(),
        replaced=VC_CONTROLLER in settings.reconciler.replaces,
    )


def check_controller(
    deployments: Sequence[Manifest],
    leases: Sequence[Manifest],
    queues: Sequence[Manifest],
    now: datetime,
    *,
    replaced: bool,
) -> CheckResult:
    """Fail if a Deployment, a Lease or a write to a queue shows that Volcano's queue controller runs.

    `queues`: with their managedFields, which show who wrote them.
    `replaced`: whether `reconciler.replaces` names it. Then earlier writes do not count, and Pods do not stop the
        reconciler.
    """
    for each in deployments:
        spec = mapping(each.get("spec"))
        if spec.get("replicas") != 0 and program_of(mapping(spec.get("template"))) == VC_CONTROLLER:
            message = f"runs Volcano's queue controller, {_BOTH if replaced else _SO}"
            return failure(f"Deployment {_name(each)}", message, _FIX)
    for each in leases:
        if is_active(each, now):
            return failure(f"Lease {_name(each)}", f"{holder_of(each)} renews it, {_SO}", _FIX)
    for each in () if replaced else queues:
        writers = read_queue_writers(each)
        if writers.controller and writers.controller >= writers.ours:
            message = f"Volcano's controller wrote it last, at {writers.controller}, {_SO}"
            return failure(f"Queue {_name(each)}", message, _FIX)
    return ok("", "Volcano's queue controller does not run")


def _name(manifest: Manifest) -> str:
    meta = metadata(manifest)
    return "/".join(str(meta[key]) for key in ("namespace", "name") if meta.get(key))
