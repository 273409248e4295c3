"""Checks that the audit can write its reports, and that no reports remain after the audit was uninstalled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from cli.doctor.checks.leases import is_active, lease_of_process
from cli.doctor.target import CheckedCluster, CheckResult, check, ok, skipped, warning
from cluster.resource import LEASES, Resource
from policies.audit.reports import APIS, MANAGED_BY, PREFIX, ReportApi
from policies.dialects.reading import Manifest, listing, mapping, metadata, text

_LABEL = ",".join(f"{key}={value}" for key, value in MANAGED_BY.items())
_NONE = (
    "neither OpenReports nor PolicyReports are installed, so the audit writes no reports; its findings are in the"
    " metrics and at /v1/findings"
)


@dataclass(frozen=True, slots=True)
class ReportKeeper:
    """Whether the audit is installed and active.

    `installed`: whether its Deployment exists.
    `expired`: whether no replica holds a current Lease.
    `renewed`: the time in the Lease at which it was last renewed; empty if it was never renewed.
    """

    installed: bool
    expired: bool = False
    renewed: str = ""


@check("reports", "The audit writes its reports, if their kinds are installed.")
def reports(target: CheckedCluster) -> Iterator[CheckResult]:
    found = {str(metadata(each).get("name")): each for each in target.definitions}
    keeper = _keeper(target)
    looked = False
    for api in APIS:
        served = {kind: _serves(found, kind) for kind in _kinds(api)}
        if any(served.values()):
            looked = True
            ours = next((name for kind, there in served.items() if there for name in _ours(target, kind)), "")
            yield check_reports(api, [str(kind) for kind, there in served.items() if not there], ours, keeper)
    if not looked:
        yield skipped("", _NONE if keeper.installed else "neither the audit nor a kind of reports is installed")


def check_reports(api: ReportApi, missing: list[str], ours: str, keeper: ReportKeeper) -> CheckResult:
    """Check the reports. `missing`: kinds of the API that are not served. `ours`: a report of Quotree, or empty."""
    subject = api.api_version
    if not keeper.installed:
        if not ours:
            return skipped(subject, "the audit is not installed")
        names = ",".join(f"{each}.{api.group}" for each in (api.plural, api.plural_of(namespaced=False)))
        fix = f"install the audit, or remove them: kubectl delete -A -l {_LABEL} {names}"
        return warning(subject, f"{ours} and others are left of an audit that was removed, and are out of date", fix)
    if missing:
        fix = f"install {' and '.join(missing)} as well, from the same release of {api.group} as the other kind"
        return warning(subject, f"lacks {' and '.join(missing)}, so the audit writes none of its reports", fix)
    if keeper.expired and ours:
        since = keeper.renewed or "an unknown moment"
        return warning(subject, f"{ours} and others have not been updated since {since}", "see audit-lease")
    return ok(subject, "is installed; the audit keeps its reports there" if ours else "is installed, without a report")


def _keeper(target: CheckedCluster) -> ReportKeeper:
    deployment = target.deployment(target.names.audit)
    if deployment is None:
        return ReportKeeper(installed=False)
    ref = lease_of_process(deployment, target.names.audit_lease)
    lease = target.get(LEASES.item(ref.name, ref.namespace)) or {}
    renewed = text(mapping(lease.get("spec")).get("renewTime")) or ""
    return ReportKeeper(installed=True, expired=not is_active(lease, target.now()), renewed=renewed)


def _kinds(api: ReportApi) -> list[Resource]:
    return [Resource(api.group, api.version, api.plural_of(each), each) for each in (True, False)]


def _serves(found: Mapping[str, Manifest], kind: Resource) -> bool:
    definition = found.get(f"{kind.plural}.{kind.group}")
    versions = map(mapping, listing(mapping((definition or {}).get("spec")).get("versions")))
    return any(each.get("name") == kind.version and each.get("served") is True for each in versions)


def _ours(target: CheckedCluster, kind: Resource) -> Iterator[str]:
    """The name of one report of Quotree. At most one is read, since reports may be large. Raises ClusterError."""
    page = target.cluster.get(kind.collection(), {"labelSelector": _LABEL, "limit": "1"})
    for each in map(metadata, listing(page.get("items"))):
        name, namespace = str(each.get("name")), text(each.get("namespace"))
        if name.startswith(PREFIX):
            yield f"{kind.plural} {f'{namespace}/{name}' if namespace else name}"
