"""Forests, drawn as small trees or made of manifests, and what rules find in a change of one.

    forest('''
        eng      deserved=cpu:10,memory:20Gi guarantee=cpu:4
          ml     deserved=cpu:4
          web    deserved=cpu:5
    ''')

draws Volcano queues; what stands deeper is a child of what stands above it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from policies.configuration.settings import Configuration
from policies.dialects import core, kueue, read, volcano
from policies.dialects.kueue_kinds import (
    ADMISSION_CHECK,
    MULTIKUEUE_CLUSTER,
    MULTIKUEUE_CONFIG,
    TOPOLOGY,
    WORKLOAD_PRIORITY_CLASS,
)
from policies.dialects.reading import Parsed
from policies.dialects.strict import strict
from policies.judging.rule import Proposal, propose
from policies.model.change import Change
from policies.model.findings import Finding, NotEvaluated, Profile
from policies.model.forest import Forest
from policies.model.objects import GroupKind, KubeObject, Ref
from policies.rules import find
from tests.builders.volcano import queue

EVERYTHING: tuple[GroupKind, ...] = (
    kueue.COHORT,
    kueue.CLUSTER_QUEUE,
    kueue.LOCAL_QUEUE,
    kueue.WORKLOAD,
    kueue.RESOURCE_FLAVOR,
    TOPOLOGY,
    WORKLOAD_PRIORITY_CLASS,
    ADMISSION_CHECK,
    MULTIKUEUE_CONFIG,
    MULTIKUEUE_CLUSTER,
    volcano.QUEUE,
    volcano.POD_GROUP,
    volcano.JOB,
    core.NAMESPACE,
    core.POD,
)
COMPAT = Configuration(profile=Profile.COMPAT)


def typed(manifest: Mapping[str, Any]) -> KubeObject:
    obj = read(manifest)
    assert obj is not None, f"no dialect reads {manifest.get('kind')}"
    return obj


def world(*manifests: Mapping[str, Any], known: Iterable[GroupKind] = EVERYTHING) -> Forest:
    return Forest.of((typed(manifest) for manifest in manifests), known)


def drawn(picture: str) -> Iterator[dict[str, Any]]:
    """The queues of a drawn tree."""
    path: list[tuple[int, str]] = []
    for line in filter(str.strip, picture.splitlines()):
        indent = len(line) - len(line.lstrip())
        name, *fields = line.split()
        path = [step for step in path if step[0] < indent]
        parent = path[-1][1] if path else "root"
        path.append((indent, name))
        yield queue(name, parent, **dict(field.split("=", 1) for field in fields))


def forest(picture: str, *more: Mapping[str, Any], known: Iterable[GroupKind] = EVERYTHING) -> Forest:
    return world(*drawn(picture), *more, known=known)


def change(
    before: Forest,
    *after: Mapping[str, Any],
    delete: Iterable[Ref] = (),
    configuration: Configuration | None = None,
) -> Proposal:
    """These manifests applied, and these objects deleted, as one transaction."""
    objects = [strict(Parsed(typed(manifest), manifest)).object for manifest in after]
    changes = [Change(before.get(obj.ref), obj) for obj in objects]
    changes += [Change(before.get(ref), None) for ref in delete]
    return propose(before, changes, configuration)


def found(rule: str, proposal: Proposal) -> list[Finding]:
    """What the rule alone reports, in its own order."""
    return [result for result in find(rule).check(proposal) if isinstance(result, Finding)]


def missed(rule: str, proposal: Proposal) -> list[NotEvaluated]:
    return [result for result in find(rule).check(proposal) if isinstance(result, NotEvaluated)]
