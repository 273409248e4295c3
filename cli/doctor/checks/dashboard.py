"""Checks that the servers that the dashboard calls exist, and that it may impersonate users."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from urllib.parse import urlsplit

from cli.doctor.checks.certificates import secret_of, stored_certificate
from cli.doctor.checks.rights import account_of, missing_rights
from cli.doctor.checks.services import of_service
from cli.doctor.served import Served
from cli.doctor.target import CheckedCluster, CheckResult, check, failure, mounted, ok, option, skipped, warning
from cluster.errors import Forbidden
from cluster.resource import SECRETS
from cluster.reviews import Access
from policies.dialects.reading import Manifest, listing, mapping, text
from policies.takeover.objects import ObjectRef

_ASKED = ("reconciler", "audit")
_IMPERSONATION = tuple(Access("impersonate", "", plural) for plural in ("users", "groups"))


@check(
    "dashboard",
    "The dashboard reaches and trusts the servers that it calls, and may impersonate the users of its proxy.",
)
def dashboard(target: CheckedCluster) -> Iterator[CheckResult]:
    deployment, subject = target.deployment(target.names.dashboard), str(target.names.dashboard)
    if deployment is None:
        yield skipped(subject, "the dashboard is not installed")
        return
    for process in _ASKED:
        if url := option(deployment, f"--{process}"):
            yield _of_process(target, deployment, process, url)
    if option(deployment, "--trusted-proxy") is None:
        yield ok(subject, "people sign in with their own tokens, so it needs no rights of its own")
        return
    account = account_of(deployment, target.names.namespace)
    try:
        missing = missing_rights(target.cluster, account, _IMPERSONATION)
    except Forbidden as error:
        yield skipped(subject, f"you may not check the rights of other users: {error.message}", "ask an administrator")
    else:
        yield check_impersonation(subject, account.name, missing)


def check_impersonation(subject: str, account: str, missing: Sequence[Access]) -> CheckResult:
    if not missing:
        return ok(subject, f"{account} may impersonate users and groups, as --trusted-proxy needs")
    what = " and ".join(each.resource for each in missing)
    fix = (
        f"give {account} the right to `impersonate` the {what} that the proxy names; if its role lists them in"
        " resourceNames already, ignore this"
    )
    return warning(subject, f"{account} may not impersonate any of the {what}, as --trusted-proxy needs", fix)


def _of_process(target: CheckedCluster, deployment: Manifest, process: str, url: str) -> CheckResult:
    """Check that the dashboard trusts the certificate of this process. Raises ClusterError."""
    subject, service = f"--{process}={url}", service_of(url)
    called = target.deployment(target.names.processes[process])
    if service is None or service.namespace != target.names.namespace:
        return skipped(subject, "is not a Service in the dashboard's namespace, so it cannot be checked")
    if service.name != option(called, "--service"):  # a Service of the user's, or of a process that was removed
        return of_service(target, service, f"install manifests/components/{process}, or take {subject} out")
    if option(called, "--api-port") is None:
        fix = f"start the {process} with --api-host, --api-port and --api-certs, as manifests/components/{process} does"
        return failure(subject, f"the {process} serves no /v1", fix)
    secret = secret_of(called)
    served = stored_certificate(target, secret) if secret else f"the certificate of the {process} is not in a Secret"
    if isinstance(served, str):
        return skipped(subject, f"whether it is trusted cannot be known: {served}")
    file = option(deployment, f"--{process}-ca")
    if not file:
        return skipped(subject, "no CA is named, so only the authorities in the dashboard's image are trusted")
    return check_trust(subject, served, _authorities(target, deployment, file), urlsplit(url).hostname or "")


def check_trust(subject: str, served: Served, authorities: bytes | str, name: str) -> CheckResult:
    """Check that `authorities` signed the served certificate.

    `authorities`: PEM, or the reason why they are unknown. `name`: the host name that the certificate must have.
    """
    fault = authorities if isinstance(authorities, str) else served.distrust(authorities, name)
    if fault:
        fix = "mount the ca.crt of that Secret, and name it by the option that ends in -ca"
        return failure(subject, f"the dashboard does not trust what {served.source} serves: {fault}", fix)
    return ok(subject, f"is trusted with what {served.source} serves")


def _authorities(target: CheckedCluster, deployment: Manifest, file: str) -> bytes | str:
    """The content of a file that is mounted from a Secret into the dashboard, or the reason why it is unknown."""
    path = PurePosixPath(file)
    source = mounted(deployment, str(path.parent), "secret")
    name = text(source.get("secretName"))
    if name is None:
        return f"{file} is not mounted from a Secret"
    renamed = {each.get("path"): each.get("key") for each in map(mapping, listing(source.get("items")))}
    key = text(renamed.get(path.name)) or path.name
    found = target.get(SECRETS.item(name, target.names.namespace))
    encoded = text(mapping((found or {}).get("data")).get(key))
    return base64.b64decode(encoded) if encoded else f"Secret {target.names.namespace}/{name} has no {key}"


def service_of(url: str) -> ObjectRef | None:
    """The Service that a URL names, by its DNS name `NAME.NAMESPACE.svc`; None if it names no Service."""
    try:
        name, namespace, kind, *_ = (urlsplit(url).hostname or "").split(".")
    except ValueError:
        return None
    return ObjectRef("Service", name, namespace) if kind == "svc" else None
