"""What tenants submit and administrators write where quotas of YuniKorn are kept at gates, drawn at random."""

from __future__ import annotations

import json
from collections.abc import Mapping
from random import Random

from tests.builders import Manifest
from tests.reconciler.controllers.yunikorn.gated_objects import pod
from tests.scheduling.yunikorn.manifests import PREFIX, namespace, queues_yaml

Annotations = Mapping[str, str | None]
"""Without their prefix; None takes one away."""

PARENTS = {"json": "root.team", "legacy": "root.team", "deep": "root.org.lab", "both": "root.org", "free": ""}
"""The Namespaces, with the queue that they are below at first; empty: below root."""
ROOMY: Annotations = {"namespace.quota": '{"cpu":"8"}', "namespace.maxApps": None}
"""Each Pod and each gang fits alone."""
TIGHT: Annotations = {"namespace.quota": '{"cpu":"2"}'}
"""With `tight_queues` the Pods of `last_pods` use up all that there is in every queue."""
_QUEUES = """
- {{name: team, parent: true, resources: {{max: {{vcore: {team}, memory: 8Gi}}}}}}
- name: org
  parent: true
  resources: {{max: {{vcore: {org}}}}}
  queues:
  - {{name: {name}, parent: true, resources: {{max: {{vcore: {lab}}}}}}}
"""
_NAMES = 97
_RULES = (
    "[{name: tag, value: namespace, create: true, parent: {name: tag, value: namespace.parentqueue}},"
    " {name: tag, value: namespace, create: true}]"
)


def spaces() -> list[Manifest]:
    parents = {name: {"parentqueue": parent} if parent else {} for name, parent in PARENTS.items()}
    return [namespace(name, namespace_quota='{"cpu":"3"}', **more) for name, more in parents.items()]


def queues(team: int = 10, org: int = 10, lab: int = 10, name: str = "lab") -> Manifest:
    return queues_yaml(_QUEUES.format(team=team, org=org, lab=lab, name=name), _RULES)


def tight_queues() -> Manifest:
    return queues(4, 4, 2)


def last_pods() -> list[Manifest]:
    return [pod(f"last-{number}", "last", "1", space) for space in PARENTS for number in range(2)]


def home(name: str) -> Annotations:
    """The Namespace is below the queue that it was below at first."""
    return {"parentqueue": PARENTS[name] or None}


def random_queues(chance: Random) -> Manifest:
    """Sometimes the queue that is deepest has another name, and Namespaces name a parent that is gone."""
    org = chance.randint(3, 8)
    return queues(chance.randint(3, 8), org, chance.randint(2, org), chance.choice(("lab", "lab", "lab", "other")))


def random_quota(chance: Random) -> Annotations:
    """The last one cannot be read."""
    cpu, memory = chance.randint(1, 5), f"{chance.randint(2, 6)}Gi"
    edits: list[Annotations] = [
        {"namespace.quota": json.dumps({"cpu": str(cpu)})},
        {"namespace.quota": json.dumps({"cpu": f"{cpu}000m", "memory": memory})},
        {"namespace.quota": None, "namespace.max.cpu": str(cpu), "namespace.max.memory": memory},
        {"namespace.quota": None, "namespace.max.cpu": str(cpu), "namespace.max.memory": None},
        {"namespace.quota": json.dumps({"cpu": str(cpu)}), "namespace.max.cpu": "1"},
        {"namespace.maxApps": chance.choice(("1", "2", None))},
        {"namespace.quota": json.dumps({"cpu": cpu})},
    ]
    return chance.choice(edits)


def random_parent(chance: Random) -> tuple[str, Annotations]:
    """A Namespace that moves; the one below root stays, since it may have no other limit."""
    name = chance.choice([each for each, parent in PARENTS.items() if parent])
    return name, {"parentqueue": chance.choice(("root.team", "root.org", "root.org.lab"))}


def written(notes: Annotations) -> Manifest:
    """The patch of a Namespace."""
    return {"metadata": {"annotations": {PREFIX + key: value for key, value in notes.items()}}}


def random_pods(chance: Random, number: int) -> list[Manifest]:
    """Up to three of various applications; `number` is that of the first one. Names come again after a while."""
    made = []
    for name in range(number, number + chance.randint(1, 3)):
        app, space = chance.choice(("a", "b", "c", f"alone-{name}")), chance.choice([*PARENTS])
        one = pod(f"p{name % _NAMES}", app, chance.choice("112"), space)
        if memory := chance.choice(("", "1Gi", "2Gi")):
            one["spec"]["containers"][0]["resources"]["requests"]["memory"] = memory
        made.append(one)
    return made


def random_gang(chance: Random, number: int) -> list[Manifest]:
    """All its members, one too few or too many; others of the same gang may be there already."""
    members, space = chance.randint(2, 4), chance.choice([*PARENTS])
    app = f"gang-{chance.randint(0, 2)}-{members}"
    groups = json.dumps([{"name": "g", "minMember": members, "minResource": {"cpu": "1"}}])
    names = range(number, number + members + chance.choice((-1, 0, 0, 0, 1)))
    notes = {"task_group_name": "g", "task_groups": groups}
    return [pod(f"p{name % _NAMES}", app, "1", space, **notes) for name in names]
