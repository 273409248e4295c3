"""Checks that each process has the rights of the shipped roles. rights.json is generated from manifests/."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib import resources
from typing import Any

from cli.doctor.target import CheckedCluster, CheckResult, check, failure, ok, option, part_of, skipped
from cluster.client import ClusterClient
from cluster.errors import Forbidden
from cluster.reviews import Access, Caller, may
from policies.dialects.reading import Manifest, text
from policies.takeover.objects import follows_workers, pod_spec
from policies.takeover.removal import KUBECONFIGS

_AT_ONCE = 8
"""The number of concurrent requests to the API server. The check sends about two hundred."""
_SHOWN = 4
_OWN = "quotree-system"
"""The namespace in the shipped manifests."""
_PART, _SHIPPED_PART = "part", "batch"
_OF_YUNIKORN = ("quotree-webhook-yunikorn", "quotree-audit-yunikorn")
_WITH_SECRET = ("webhook", "audit", "dashboard")
"""Roles that only give access to the Secret of the certificate."""


@dataclass(frozen=True, slots=True)
class Role:
    """A shipped role. `accesses`: the rights that it gives to `process`. `file`: its manifest in this project."""

    process: str
    kind: str
    name: str
    file: str
    accesses: tuple[Access, ...]

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


@check("rbac", "Every process has the rights of the shipped roles.")
def rbac(target: CheckedCluster) -> Iterator[CheckResult]:
    for role in roles():
        if role.process == _PART:
            for each in target.part_deployments.values():
                yield _of_role(of_part(role, part_of(each)), each, target)
            continue
        deployment = target.deployment(target.names.processes[role.process])
        why = "is not installed" if deployment is None else _needless(role, deployment, target)
        if why or deployment is None:
            yield skipped(str(role), why)
        elif any(each.namespace == KUBECONFIGS for each in role.accesses):
            yield _of_role(of_kubeconfigs(role, target.kubeconfigs_of(deployment)), deployment, target)
        else:
            yield _of_role(role, deployment, target)


def _of_role(role: Role, deployment: Manifest, target: CheckedCluster) -> CheckResult:
    account = account_of(deployment, target.names.namespace)
    wanted = list(_wanted(role, deployment, target))
    try:
        return check_rights(str(role), account.name, wanted, missing_rights(target.cluster, account, wanted), role.file)
    except Forbidden as error:
        fix = f"ask an administrator, or try `kubectl auth can-i --list --as={account.name}`"
        return skipped(str(role), f"you may not check the rights of other users: {error.message}", fix)


def check_rights(
    subject: str, account: str, wanted: Sequence[Access], missing: Sequence[Access], file: str
) -> CheckResult:
    if not missing:
        return ok(subject, f"{account} has its {len(wanted)} rights")
    shown = "; ".join(map(_written, missing[:_SHOWN]))
    more = f"; and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else ""
    return failure(subject, f"{account} may not {shown}{more}", f"kubectl apply -f {file}")


@cache
def roles() -> tuple[Role, ...]:
    text = (resources.files("cli.doctor") / "rights.json").read_text(encoding="utf-8")
    return tuple(
        Role(
            each["process"],
            each["kind"],
            each["name"],
            each["file"],
            tuple(_accesses(each["namespace"], each["rules"])),
        )
        for each in json.loads(text)
    )


def of_part(role: Role, part: str) -> Role:
    """The role for a part: the shipped role of a part, renamed."""
    name = f"{role.name.removesuffix(_SHIPPED_PART)}{part}"
    accesses = tuple(replace(each, name=name) if each.name == role.name else each for each in role.accesses)
    file = role.file if part == _SHIPPED_PART else f"{role.file}, with {part} in place of {_SHIPPED_PART}"
    return replace(role, name=name, file=file, accesses=accesses)


def of_kubeconfigs(role: Role, namespace: str) -> Role:
    """The role for kubeconfigs, in the namespace that has them."""
    file = role.file if namespace == KUBECONFIGS else f"{role.file}, with {namespace} in place of {KUBECONFIGS}"
    return replace(role, accesses=tuple(replace(each, namespace=namespace) for each in role.accesses), file=file)


def _accesses(namespace: str, rules: Iterable[Mapping[str, Any]]) -> Iterator[Access]:
    for rule in rules:
        for group in rule["apiGroups"]:
            for whole in rule["resources"]:
                resource, _, subresource = whole.partition("/")
                for name in rule.get("resourceNames", [""]):
                    yield from (Access(verb, group, resource, subresource, namespace, name) for verb in rule["verbs"])


def _needless(role: Role, deployment: Manifest, target: CheckedCluster) -> str:
    """Why the process does not need this role; empty if it does."""
    if role.name == "quotree-webhook-certificates" and not _keeps_secret(deployment):
        return "the certificates are supplied"
    if role.name in _OF_YUNIKORN and not target.configuration.yunikorn.follow:
        return "`yunikorn.follow` is off"
    if role.name == "quotree-reconciler-multikueue" and not follows_workers(deployment):
        return "MultiKueue is off"
    return ""


def _wanted(role: Role, deployment: Manifest, target: CheckedCluster) -> Iterator[Access]:
    """The rights of the role that the process needs: only for kinds that are served and that the settings include."""
    for access in role.accesses:
        needless = (
            access.resource == "secrets" and role.process in _WITH_SECRET and not _keeps_secret(deployment)
        ) or (access.name == "quotree-ledger" and not target.configuration.ledger)
        if access.group in target.groups and not needless:
            namespace = target.names.namespace if access.namespace == _OWN else access.namespace
            yield replace(access, namespace=namespace)


def missing_rights(cluster: ClusterClient, account: Caller, wanted: Sequence[Access]) -> list[Access]:
    """The wanted rights that the account does not have. Raises ClusterError."""
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        answers = threads.map(partial(may, cluster, account), wanted)
        return [access for access, allowed in zip(wanted, answers, strict=True) if not allowed]


def account_of(deployment: Manifest, namespace: str) -> Caller:
    """The user and groups of the Deployment's Pods."""
    name = text(pod_spec(deployment).get("serviceAccountName")) or "default"
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated")
    return Caller(f"system:serviceaccount:{namespace}:{name}", groups=groups)


def _keeps_secret(deployment: Manifest | None) -> bool:
    return option(deployment, "--secret") is not None


def _written(access: Access) -> str:
    """The right in words, such as `patch configmaps quotree-ledger in quotree-system`."""
    kind = f"{access.resource}.{access.group}".rstrip(".") + (f"/{access.subresource}" if access.subresource else "")
    where = f" in {access.namespace}" if access.namespace else ""
    return f"{access.verb} {kind}{f' {access.name}' if access.name else ''}{where}"
