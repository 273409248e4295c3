"""The certificate of the reconciler's own server."""

from __future__ import annotations

from collections.abc import Iterator

from cluster.metrics import Family, Sample, Type
from reconciler.metrics.occasions import Certificate
from reconciler.metrics.source import source

EXPIRY = Family(
    "quotree_reconciler_certificate_expiry_timestamp_seconds",
    Type.GAUGE,
    "When the certificate of /v1 expires, in Unix seconds; not where /v1 is served without one.",
)


@source(Certificate, EXPIRY)
def expiry(certificate: Certificate) -> Iterator[Sample]:
    yield EXPIRY.sample(certificate.expires)
