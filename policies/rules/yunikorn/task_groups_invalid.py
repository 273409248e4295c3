from __future__ import annotations

from collections.abc import Iterator, Mapping

from policies.dialects.yunikorn_gangs import (
    POLICY,
    TASK_GROUP,
    TASK_GROUPS,
    BadTaskGroups,
    ignored_parameters,
    task_group,
    task_groups,
)
from policies.judging.rule import Proposal, rule
from policies.model.findings import STRICT_ONLY, Action, Finding, apart
from policies.rules._pod_templates import MAKERS, templates

_PARAMETERS = "write placeholderTimeoutInSeconds=NUMBER, and gangSchedulingStyle=Hard or gangSchedulingStyle=Soft"


@rule(
    "task-groups-invalid",
    source="YuniKorn: k8shim reads task groups and their parameters, and only logs what it cannot read",
    kinds=MAKERS,
    default=Action.WARN,
    alone=True,
    no_cel="does no harm while the webhook is down",
)
def task_groups_invalid(proposal: Proposal) -> Iterator[Finding]:
    """A gang of YuniKorn is written so that YuniKorn ignores it, or a part of it.

    Why it is reported: YuniKorn schedules the pods all the same, one by one. The room that the gang should reserve is
    not reserved, so the driver of a Spark application can run without its executors. A pod whose task-group-name is in
    none of its task-groups takes no reserved place. Parameters in schedulingPolicyParameters that YuniKorn does not
    know have no effect.
    Example: `task-groups` that is not JSON; a group without `minMember`; `placeholderTimeoutSeconds=30`, where YuniKorn
    reads `placeholderTimeoutInSeconds`; `gangSchedulingStyle=hard`, where it reads `Hard`.
    Fix: correct the annotation as the message says.
    """
    for obj, before, after in templates(proposal):
        known = dict(_faults(before.annotations)) if before is not None else {}
        for key, message in _faults(after.annotations):
            if known.get(key) != message:
                fault, fix = apart(message, "correct the annotation")
                yield Finding(obj.ref, after.field("annotations", key), fault, fix=fix, profiles=STRICT_ONLY)


def _faults(annotations: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Each annotation with a fault, and the fault with its fix."""
    try:
        names = [group.name for group in task_groups(annotations)]
    except BadTaskGroups as error:
        yield TASK_GROUPS, f"YuniKorn schedules the pods without a gang: {error}"
    else:
        if names and (name := task_group(annotations)) and name not in names:
            yield TASK_GROUP, f"none of its task groups is called {name}; write one of {', '.join(names)}"
    ignored = [f"{each!r}" for each in ignored_parameters(annotations.get(POLICY, ""))]
    if ignored:
        yield POLICY, f"YuniKorn ignores {', '.join(ignored)}; {_PARAMETERS}"
