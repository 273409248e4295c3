"""Checks that CRDs are installed and served in a version that Quotree reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from cli.doctor.target import CheckedCluster, CheckResult, check, failure, ok, skipped
from cluster.resource import Resource
from cluster.served import FOLLOWED
from policies.dialects import kueue, volcano
from policies.dialects.reading import Manifest, condition, mapping, metadata
from reconciler.objects.patches import WORKLOADS

_PROJECTS = {kueue.GROUP: "Kueue", volcano.GROUP: "Volcano", volcano.JOB.group: "Volcano"}
_APPLY = "kubectl apply -k manifests/crds, or install {project}"


@check("crds", "The kinds that rules and decisions read are installed, in a version that Quotree reads.")
def crds(target: CheckedCluster) -> Iterator[CheckResult]:
    wanted = dict(_followed())
    if target.has_reconciler:
        wanted[f"{WORKLOADS.plural}.{WORKLOADS.group}"] = [WORKLOADS]
    found = {str(metadata(each).get("name")): each for each in target.definitions}
    yield from check_definitions(wanted, found)


def _followed() -> Iterator[tuple[str, Sequence[Resource]]]:
    for versions in FOLLOWED.values():
        if versions[0].group in _PROJECTS:
            yield f"{versions[0].plural}.{versions[0].group}", versions


def check_definitions(wanted: Mapping[str, Sequence[Resource]], found: Mapping[str, Manifest]) -> Iterator[CheckResult]:
    """Compare the CRDs that Quotree needs with the installed ones.

    `wanted`: name of a CRD to the versions that Quotree reads; `found`: name to manifest.
    """
    for group in dict.fromkeys(versions[0].group for versions in wanted.values()):
        names = [name for name, versions in wanted.items() if versions[0].group == group]
        if not any(name in found for name in names):
            yield skipped(group, f"{_PROJECTS[group]} is not installed")
            continue
        results = [each for name in names for each in _judged(name, wanted[name], found.get(name))]
        yield from results or [ok(group, f"{len(names)} kinds are served")]


def _judged(name: str, versions: Sequence[Resource], definition: Manifest | None) -> Iterator[CheckResult]:
    project = _PROJECTS[versions[0].group]
    subject = f"CustomResourceDefinition {name}"
    if definition is None:
        yield failure(subject, "is not installed", _APPLY.format(project=project))
        return
    read = [each.version for each in versions]
    parts = map(mapping, mapping(definition.get("spec")).get("versions") or ())
    served = [str(each.get("name")) for each in parts if each.get("served") is True]
    if not set(read) & set(served):
        message = f"is served as {', '.join(served) or 'nothing'}, and Quotree reads {', '.join(read)}"
        yield failure(subject, message, f"use compatible versions of {project} and Quotree")
    status = mapping(definition.get("status"))
    if condition(status, "Established").get("status") != "True":
        message = str(condition(status, "NamesAccepted").get("message") or "it is not established yet")
        fix = f"run `kubectl describe crd {name}`; another CRD may already use its names"
        yield failure(subject, f"is not served: {message}", fix)
    if condition(status, "Terminating").get("status") == "True":
        yield failure(
            subject, "is being deleted, and its objects with it", "find out what deletes it, and apply it again"
        )
