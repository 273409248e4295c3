"""Generates from the kinds of jobs in policies/dialects/frameworks: webhook rules, RBAC, configuration, and a table."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import groupby

from generators.files import table
from policies.dialects.core import POD
from policies.dialects.frameworks import FRAMEWORKS
from policies.dialects.frameworks.replicated import LEADER, REPLICA_SET
from policies.dialects.job_shape import Framework, JobShape

_LINE = 100
"""The maximum length of a list of resources on one line. A longer list has a line for each entry."""
_ALL = "create, delete, get, list, patch, update, watch"
_RECONCILER = "manifests/components/reconciler"
_HEAD = (
    "| In `integrations.frameworks` | Kind | The reconciler | Without `frameworks` | In `manifests/with-reconciler` |"
)


def generate() -> Mapping[str, Mapping[str, str]]:
    return blocks(FRAMEWORKS.values())


def blocks(frameworks: Collection[Framework]) -> Mapping[str, Mapping[str, str]]:
    """The generated blocks, by the path of the file and the name of the block."""
    judged = [each for each in frameworks if each.kind != POD]
    run = [each for each in judged if isinstance(each, JobShape)]
    sent = [each for each in run if each.dispatched]
    return {
        "manifests/base/rbac.yaml": {"owners": rbac_rules([*judged, REPLICA_SET, LEADER], "get")},
        "manifests/base/validating-webhooks.yaml": {
            "kueue-jobs": webhook_rules(judged, "CREATE, UPDATE"),
            "kueue-scales": webhook_rules([each for each in judged if each.scaled], "UPDATE", "/scale"),
        },
        "manifests/base/mutating-webhooks.yaml": {
            "kueue-other-jobs": webhook_rules([each for each in run if not each.own_webhook], "CREATE"),
            "kueue-templates": webhook_rules([each for each in judged if each.templates], "CREATE, UPDATE"),
        },
        f"{_RECONCILER}/rbac.yaml": {
            "jobs": rbac_rules(run, "get, list, watch, patch"),
            "jobs-finalizers": rbac_rules(run, "update", "/finalizers"),
        },
        "manifests/components/multikueue/rbac.yaml": {"jobs-status": rbac_rules(sent, "patch", "/status")},
        f"{_RECONCILER}/user-roles.yaml": {
            "jobs": rbac_rules(run, _ALL),
            "jobs-status": rbac_rules(run, "get", "/status"),
        },
        f"{_RECONCILER}/configuration.yaml": {"frameworks": "\n".join(f"- {each.name}" for each in run)},
        "manifests/components/reconciler-deletes-jobs/rbac.yaml": {"jobs": rbac_rules(run, "delete")},
        "manifests/multikueue-worker/rbac.yaml": {"jobs": rbac_rules(sent, "get, list, watch, create, patch, delete")},
        "docs/kinds-of-jobs.md": {"kinds-of-jobs": table(_HEAD, map(_row, frameworks))},
    }


def webhook_rules(frameworks: Iterable[Framework], operations: str, subresource: str = "") -> str:
    return "\n".join(
        line
        for group, members in _by_group(frameworks)
        for line in (
            f"- apiGroups: [{group}]",
            f"  apiVersions: [{', '.join(sorted({each.version for each in members}))}]",
            f"  operations: [{operations}]",
            *_resources([f"{each.plural}{subresource}" for each in members]),
            "  scope: Namespaced",
        )
    )


_CORE = '""'
"""The API group of Pods in YAML."""


def rbac_rules(frameworks: Iterable[Framework], verbs: str, subresource: str = "") -> str:
    return "\n".join(
        line
        for group, members in _by_group(frameworks)
        for line in (
            f"- apiGroups: [{group or _CORE}]",
            *_resources([f"{each.plural}{subresource}" for each in members]),
            f"  verbs: [{verbs}]",
        )
    )


def _by_group(frameworks: Iterable[Framework]) -> Iterator[tuple[str, list[Framework]]]:
    """The kinds by API group, in the order of the groups' names."""
    found = sorted(frameworks, key=lambda each: each.kind)
    for group, members in groupby(found, key=lambda each: each.kind.group):
        yield group, list(members)


def _resources(names: list[str]) -> list[str]:
    line = f"  resources: [{', '.join(names)}]"
    return [line] if len(line) <= _LINE else ["  resources:", *(f"    - {name}" for name in names)]


def _row(framework: Framework) -> tuple[str, ...]:
    group, kind = framework.kind
    api = f"{group}/{framework.version}" if group else framework.version
    shipped = isinstance(framework, JobShape)
    by_pods = "queues its Pods" if framework.group is None else "queues its Pods as groups"
    does = "runs it" if shipped else by_pods if framework.by_pods else "refuses the name"
    return f"`{framework.name}`", f"{kind} (`{api}`)", does, _on(framework.default), _on(shipped)


def _on(on: bool) -> str:
    return "on" if on else ""
