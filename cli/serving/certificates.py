"""The certificates of a server: Quotree creates and renews them in a folder or a Secret, or others supply them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from certs import callers, files
from certs import secret as secrets
from certs.renewal import Renewal
from certs.rotate import Bundle
from certs.watch import CertificateWatch
from cli.exits import Misused
from cluster.client import ClusterClient

LOOPBACK = ("localhost", "127.0.0.1", "::1")
"""The names in the certificate of a server that only this machine calls."""

Keeper = Callable[[], bool]
"""Creates or renews the certificates if necessary. Returns False if it should be called again soon."""


@dataclass(frozen=True, slots=True)
class Certificates:
    """The certificates of a server, in `folder`.

    `supplied`: others put them into the folder. Otherwise Quotree creates and renews them.
    `names`: names of the server.
    `secret`: NAMESPACE/NAME of the Secret that all replicas share; None for certificates in the folder only.
    `service`: the Service in the certificate, with `secret`.
    `validating`, `mutating`, `conversion`, `aggregated`: the objects whose caBundle is kept up to date: webhook
    configurations, CustomResourceDefinitions and APIServices.
    """

    folder: Path
    supplied: bool
    names: Sequence[str]
    secret: str | None
    service: str | None
    validating: Sequence[str] = ()
    mutating: Sequence[str] = ()
    conversion: Sequence[str] = ()
    aggregated: Sequence[str] = ()

    def keeper(self, cluster: Callable[[], ClusterClient]) -> Keeper | None:
        """The keeper of the certificates; None if they are supplied.

        Raises Misused, or ClusterError if a cluster is needed and none is configured.
        """
        self.check()
        if self.secret and self.service:
            settings = self._in_secret(self.secret, self.service)
            return _InSecret(cluster(), settings, self.folder)
        return None if self.supplied else partial(_in_folder, self.folder, self.names or LOOPBACK)

    def check(self) -> None:
        """Check that the options fit together. Raises Misused."""
        if self.secret and self.supplied:
            raise Misused("--secret and --supplied exclude each other; leave one of them out")
        namespace, _, name = (self.secret or "").partition("/")
        if self.secret and not (namespace and name and self.service):
            raise Misused("--secret takes NAMESPACE/NAME and needs --service, the name that clients call")

    def _in_secret(self, secret: str, service: str) -> secrets.SecretSettings:
        namespace, _, name = secret.partition("/")
        calling: list[callers.Caller] = []
        calling += [callers.Webhooks("ValidatingWebhookConfiguration", each) for each in self.validating]
        calling += [callers.Webhooks("MutatingWebhookConfiguration", each) for each in self.mutating]
        calling += map(callers.ConversionWebhook, self.conversion)
        calling += map(callers.AggregatedApi, self.aggregated)
        names = (*secrets.service_names(service, namespace), *self.names)
        return secrets.SecretSettings(namespace, name, names, tuple(calling))


def _in_folder(folder: Path, names: Sequence[str]) -> bool:
    files.ensure(folder, names, datetime.now(UTC))
    return True


class _InSecret:
    """A keeper that copies the Secret into the folder, without the key of the certificate authority."""

    def __init__(self, cluster: ClusterClient, settings: secrets.SecretSettings, folder: Path) -> None:
        self._cluster = cluster
        self._settings = settings
        self._folder = folder
        self._written: Bundle | None = None

    def __call__(self) -> bool:
        ensured = secrets.ensure(self._cluster, self._settings, datetime.now(UTC), self._written)
        if ensured.bundle != self._written:
            files.write(ensured.bundle, self._folder, signing_key=False)
            self._written = ensured.bundle
        return not ensured.missing

    def watch(self, changed: Callable[[], None]) -> CertificateWatch:
        return CertificateWatch(self._cluster, self._settings, changed)


class KeptCertificates:
    """Renews the certificates from `start` to `stop`. Changes by others in the cluster are corrected at once."""

    def __init__(self, keeper: Keeper) -> None:
        self._renewal = Renewal(keeper)
        self._watch = keeper.watch(self._renewal.wake) if isinstance(keeper, _InSecret) else None

    def start(self) -> None:
        self._renewal.start()
        if self._watch:
            self._watch.start()

    def stop(self) -> None:
        if self._watch:
            self._watch.stop()
        self._renewal.stop()
