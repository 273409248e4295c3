"""Checks the replicas and the versions of the Deployments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from cli.doctor.target import CheckedCluster, CheckResult, check, failure, ok, skipped, warning
from cli.version import VERSION
from policies.dialects.reading import Manifest, mapping
from policies.takeover.objects import ObjectRef, pod_spec, set_aside


@check("replicas", "Every process that is installed runs, with all its replicas ready.")
def replicas(target: CheckedCluster) -> Iterator[CheckResult]:
    for ref in target.names.processes.values():
        yield check_replicas(ref, target.deployment(ref))
    for ref, deployment in target.part_deployments.items():
        yield check_replicas(ref, deployment)


def check_replicas(ref: ObjectRef, deployment: Manifest | None) -> CheckResult:
    if deployment is None:
        return skipped(str(ref), "is not installed")
    if set_aside(deployment):
        return skipped(str(ref), "was scaled to 0 by `quotree install take-over`")
    wanted = mapping(deployment.get("spec")).get("replicas", 1)
    ready = mapping(deployment.get("status")).get("readyReplicas") or 0
    look = f"kubectl -n {ref.namespace} get pods, and describe and logs of one that is not ready"
    if not ready:
        return failure(str(ref), f"no replica of {wanted} is ready", look if wanted else "scale it up again")
    if ready < wanted:
        return warning(str(ref), f"{ready} of {wanted} replicas are ready", look)
    return ok(str(ref), f"{ready} of {wanted} replicas are ready")


@check("versions", "All processes run the same image of Quotree.")
def versions(target: CheckedCluster) -> Iterator[CheckResult]:
    yield check_versions({ref: images(each) for ref, each in target.installed.items()})


def images(deployment: Manifest) -> list[str]:
    """The images of Quotree's containers in the Pod; other containers do not count."""
    names = (str(mapping(each).get("image")) for each in pod_spec(deployment).get("containers") or ())
    return [name for name in names if "quotree" in name]


def check_versions(found: Mapping[ObjectRef, Sequence[str]]) -> CheckResult:
    """Show the image tags and our version. The tags are only compared with each other, since a tag can be any text."""
    names = sorted({name for each in found.values() for name in each})
    if not names:
        return skipped("", f"no image of Quotree runs here; this program is {VERSION}")
    if len(names) > 1:
        message = f"{' and '.join(names)} run here; this program is {VERSION}"
        return warning("", message, "upgrade all to one version, and use the command line of that version")
    return ok("", f"{names[0]} runs here; this program is {VERSION}")
