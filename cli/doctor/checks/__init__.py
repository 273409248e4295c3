"""The checks of `quotree doctor`, one file for each topic."""

from __future__ import annotations

from cli.doctor.checks.answering import webhook_answers
from cli.doctor.checks.certificates import ca_bundle, certificate_expiry, webhook_configurations
from cli.doctor.checks.dashboard import dashboard
from cli.doctor.checks.definitions import crds
from cli.doctor.checks.gates import quota_gates
from cli.doctor.checks.health import audit_age, cache_age
from cli.doctor.checks.kueue_version import kueue_version
from cli.doctor.checks.leases import audit_lease, kueue_manager, reconciler_lease
from cli.doctor.checks.ledger import ledger
from cli.doctor.checks.parts import parts
from cli.doctor.checks.pods import ungated_pods
from cli.doctor.checks.replicas import replicas, versions
from cli.doctor.checks.reports import reports
from cli.doctor.checks.rights import rbac
from cli.doctor.checks.server import api_server, clock
from cli.doctor.checks.services import api_service, endpoints
from cli.doctor.checks.volcano import volcano_controller
from cli.doctor.checks.workers import workers
from cli.doctor.checks.yunikorn import yunikorn_queues

CHECKS = (
    api_server,
    clock,
    versions,
    crds,
    replicas,
    endpoints,
    api_service,
    webhook_configurations,
    ca_bundle,
    certificate_expiry,
    webhook_answers,
    cache_age,
    ledger,
    rbac,
    reconciler_lease,
    parts,
    kueue_manager,
    kueue_version,
    volcano_controller,
    ungated_pods,
    quota_gates,
    yunikorn_queues,
    workers,
    audit_lease,
    audit_age,
    reports,
    dashboard,
)
"""The checks in the order of the report. A check comes after those that it depends on."""
