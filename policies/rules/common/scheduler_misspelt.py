from __future__ import annotations

from collections.abc import Iterator, Mapping

from policies.dialects.core import VOLCANO_SCHEDULER
from policies.dialects.volcano import JOB, VolcanoJob
from policies.dialects.yunikorn import SCHEDULER
from policies.dialects.yunikorn_work import NO_TEMPLATE
from policies.judging.rule import Proposal, rule
from policies.model.findings import STRICT_ONLY, Action, Finding, write_only
from policies.model.objects import KubeObject
from policies.model.suggestion import KnownNames, did_you_mean
from policies.rules._pod_templates import MAKERS, templates_of

_SCHEDULERS = (NO_TEMPLATE.scheduler_name, VOLCANO_SCHEDULER, SCHEDULER)
_KNOWN = KnownNames(_SCHEDULERS)


@rule(
    "scheduler-misspelt",
    source="Kubernetes: a Pod waits for the scheduler that it names",
    kinds=(JOB, *MAKERS),
    default=Action.WARN,
    alone=True,
    no_cel="does no harm while the webhook is down",
)
def scheduler_misspelt(proposal: Proposal) -> Iterator[Finding]:
    """A schedulerName is nearly `yunikorn`, `volcano` or `default-scheduler`.

    Why it is reported: Kubernetes accepts any name. A Pod whose scheduler does not exist stays Pending forever, without
    an Event. Names that are not similar to one of these are not reported, since a cluster may have other schedulers.
    Example: `schedulerName: yunikrn`.
    Fix: write the name that the message suggests.
    """
    for before, obj in proposal.changed(KubeObject):
        named = _named(obj)
        old_names = _named(before) if before is not None and named else {}
        for field, name in named.items():
            near = [] if old_names.get(field) == name else _near(name)
            if near:
                yield Finding(
                    obj.ref,
                    field,
                    f"the scheduler {name} is nearly {near[0]}: no pod starts if there is no scheduler of that name",
                    fix=did_you_mean(near),
                    patch=write_only(field, name, near),
                    subject=name,
                    profiles=STRICT_ONLY,
                )


def _near(name: str) -> list[str]:
    """The schedulers that a misspelt name may mean; a wrong case counts as misspelt. Empty for any other name."""
    lower = name.lower()
    if name in _SCHEDULERS:
        return []
    return [lower] if lower in _SCHEDULERS else _KNOWN.near(lower)


def _named(obj: KubeObject) -> Mapping[str, str]:
    if isinstance(obj, VolcanoJob):
        return {"spec.schedulerName": obj.spec.scheduler} if obj.spec.scheduler else {}
    return {each.scheduler_field: each.scheduler_name for each in templates_of(obj)}
