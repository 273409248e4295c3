"""Checks that the API server trusts the webhook's certificate, and that no certificate expires soon."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from certs.pki import BadCertificate, inspect, split
from certs.presented import reached, server_name
from cli.doctor.served import Served, client_configurations, from_secret, from_server
from cli.doctor.target import CheckedCluster, CheckResult, check, failure, mounted, ok, option, skipped, warning
from cluster.apply import converts_with_us
from cluster.errors import ApiError, Forbidden
from cluster.resource import MUTATING_WEBHOOKS, SECRETS, VALIDATING_WEBHOOKS
from policies.dialects.reading import Manifest, mapping, metadata, text
from policies.takeover.objects import ObjectRef

_SECRET = "quotree-webhook-certificate"  # noqa: S105, a name
_RENEW = (
    "see the logs of its process and rbac: it renews its certificates itself. With cert-manager: see the Certificate"
)
_TRUST = (
    "the webhook writes its authority there within minutes: see its logs and rbac. With cert-manager or certificates of"
    " your own, write the authority of the served certificate into caBundle"
)


@check("webhook-configurations", "Both webhook configurations exist, so that the API server calls the webhook.")
def webhook_configurations(target: CheckedCluster) -> Iterator[CheckResult]:
    for ref, found in _configurations(target):
        yield check_configuration(str(ref), found, target.has_webhook)


def _configurations(target: CheckedCluster) -> Iterator[tuple[ObjectRef, Manifest | None]]:
    for resource, ref in ((VALIDATING_WEBHOOKS, target.names.validating), (MUTATING_WEBHOOKS, target.names.mutating)):
        yield ref, target.get(resource.item(ref.name))


def check_configuration(subject: str, found: Manifest | None, installed: bool) -> CheckResult:
    if found is None and not installed:
        return skipped(subject, "the webhook is not installed")
    if found is None:
        return failure(subject, "does not exist, so no change is checked", "kubectl apply -k manifests/base")
    hooks = found.get("webhooks") or []
    if not installed:
        message = "has no webhook behind it: queues cannot be changed"
        return failure(
            subject, message, f"delete it, or install the webhook: kubectl delete {subject.replace(' ', '/')}"
        )
    return ok(subject, f"has {len(hooks)} webhooks")


@check("ca-bundle", "The API server trusts the certificate that the webhook serves, wherever it calls it.")
def ca_bundle(target: CheckedCluster) -> Iterator[CheckResult]:
    callers = dict(_callers(target))
    if not callers:
        yield skipped("", "no webhook configuration calls the webhook")
        return
    try:
        served = _served(target, callers.values())
    except OSError as error:
        yield failure(
            "", f"the webhook serves nothing: {error}", "see replicas; with --webhook, the address must be its"
        )
        return
    if isinstance(served, str):
        yield skipped("", served, "run it in the cluster, or forward a port and name it: --webhook 127.0.0.1:9443")
        return
    for subject, manifest in callers.items():
        yield check_caller(subject, manifest, served)


def check_caller(subject: str, manifest: Manifest, served: Served) -> CheckResult:
    """Check the caBundles of an object. The result has the first problem."""
    configurations = list(client_configurations(manifest))
    for configuration in configurations:
        encoded = text(configuration.get("caBundle"))
        if not encoded:
            return failure(subject, "its caBundle is empty, so no call succeeds", _TRUST)
        try:
            fault = served.distrust(base64.b64decode(encoded, validate=True), server_name(configuration))
        except binascii.Error:
            fault = "the caBundle is not base64"
        if fault:
            return failure(subject, f"its caBundle does not trust what {served.source} serves: {fault}", _TRUST)
    return ok(subject, f"trusts what {served.source} serves")


@check("certificate-expiry", "Neither the served certificates nor an authority expire soon.")
def certificate_expiry(target: CheckedCluster) -> Iterator[CheckResult]:
    callers = dict(_callers(target))
    try:
        served = _served(target, callers.values())
    except OSError as error:
        served = f"the webhook serves nothing: {error}"
    if isinstance(served, str):
        yield skipped("", served, "see ca-bundle")
    else:
        yield check_expiry(f"certificate of {served.source}", [served.certificate], target.now())
    for pem in dict.fromkeys(_bundles(callers.values())):
        try:
            yield check_expiry("authority in the caBundles", split(pem), target.now())
        except BadCertificate:
            continue  # the check ca-bundle reports it
    for ref in (target.names.reconciler, target.names.audit, target.names.dashboard):
        yield from _of_process(target, ref)


def _of_process(target: CheckedCluster, ref: ObjectRef) -> Iterator[CheckResult]:
    """Check the certificate that a Deployment serves for /v1 or the dashboard, if it is in a Secret.

    Raises ClusterError.
    """
    if (name := secret_of(target.deployment(ref))) is None:
        return
    stored = stored_certificate(target, name)
    if isinstance(stored, str):
        yield skipped("", stored, f"see the logs of {ref}")
    else:
        yield check_expiry(f"certificate of {stored.source}", [stored.certificate], target.now())


def check_expiry(subject: str, certificates: Iterable[bytes], now: datetime) -> CheckResult:
    """Check the expiry of the certificate that expires last, since authorities overlap during a rotation.

    Raises BadCertificate.
    """
    facts = max(map(inspect, certificates), key=lambda each: each.not_after)
    until = f"{facts.not_after:%Y-%m-%d %H:%M} UTC"
    if now < facts.not_before:
        fix = "set the clock that is wrong, or wait"
        return failure(subject, f"is not valid before {facts.not_before:%Y-%m-%d %H:%M} UTC", fix)
    if now >= facts.not_after:
        return failure(subject, f"expired at {until}", _RENEW)
    if now >= facts.overdue:
        return warning(
            subject, f"expires at {until}, in {_time_left(facts.not_after - now)}, and was not renewed", _RENEW
        )
    return ok(subject, f"is valid until {until}")


def _time_left(left: timedelta) -> str:
    return f"{left.days} days" if left.days > 1 else f"{left.total_seconds() / 3600:.1f} hours"


def _callers(target: CheckedCluster) -> Iterator[tuple[str, Manifest]]:
    """The objects that make the API server call the webhook, each with its name."""
    yield from ((str(ref), found) for ref, found in _configurations(target) if found is not None)
    for definition in target.definitions:
        if converts_with_us(definition):
            yield f"CustomResourceDefinition {metadata(definition).get('name')}", definition


def _bundles(manifests: Iterable[Manifest]) -> Iterator[bytes]:
    for manifest in manifests:
        for configuration in client_configurations(manifest):
            try:
                yield base64.b64decode(text(configuration.get("caBundle")) or "", validate=True)
            except binascii.Error:
                continue


def _served(target: CheckedCluster, callers: Iterable[Manifest]) -> Served | str:
    """The certificate that the webhook serves, otherwise the one in its Secret, otherwise the reason why it is unknown.

    Raises OSError.
    """
    for manifest in callers:
        for configuration in client_configurations(manifest):
            client = reached(configuration, target.webhook)
            if client is not None:
                return from_server(client)
    try:
        deployment = target.webhook_deployment
    except Forbidden:
        deployment = None
    stored = stored_certificate(target, secret_of(deployment) or _SECRET)
    return f"the webhook cannot be reached from here, and {stored}" if isinstance(stored, str) else stored


def stored_certificate(target: CheckedCluster, name: str) -> Served | str:
    """The certificate in this Secret, which a process serves; otherwise the reason why it is unknown."""
    source = f"Secret {target.names.namespace}/{name}"
    try:
        found = target.get(SECRETS.item(name, target.names.namespace))
    except ApiError as error:
        return f"you may not read {source}: {error.message}"
    encoded = text(mapping((found or {}).get("data")).get("tls.crt"))
    if encoded is None:
        return f"{source} has no certificate"
    try:
        return from_secret(source, split(base64.b64decode(encoded)))
    except (BadCertificate, binascii.Error) as error:
        return f"{source} has no certificate: {error}"


def secret_of(deployment: Manifest | None) -> str | None:
    """The Secret with the certificate that the process serves: the value of --secret, otherwise the mounted Secret."""
    if named := option(deployment, "--secret"):
        return named.rpartition("/")[2]
    folder = option(deployment, "--api-certs") or option(deployment, "--certs")
    return text(mounted(deployment, folder, "secret").get("secretName")) if folder else None
