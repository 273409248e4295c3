"""Namespaces, queues and Pods that wait for their quota."""

from __future__ import annotations

from tests.builders import Manifest
from tests.scheduling.yunikorn.manifests import namespace, queues_yaml
from tests.scheduling.yunikorn.manifests import pod as yunikorn_pod

DEV = namespace("dev", namespace_quota='{"cpu":"2"}')
TEAMS = queues_yaml(
    "- {name: team, parent: true, resources: {max: {vcore: 3}}}",
    "[{name: tag, value: namespace, create: true, parent: {name: tag, value: namespace.parentqueue}},"
    " {name: tag, value: namespace, create: true}]",
)
GANG = '[{"name":"g","minMember":3,"minResource":{"cpu":"1"}}]'


def pod(name: str, app: str = "a", cpu: str = "1", space: str = "dev", **annotations: str) -> Manifest:
    made = yunikorn_pod(name, app, cpu, space, **annotations)
    del made["spec"]["schedulerName"]
    return made


def member(name: str, app: str = "gang") -> Manifest:
    return pod(name, app, task_group_name="g", task_groups=GANG)
