"""Reads `reconciler.multiKueue`: settings of MultiKueue that Kueue's own Configuration does not have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from policies.configuration.section import Section
from policies.dialects.kubeconfig import Trust
from policies.model.errors import BadConfiguration

SCORES = ("AsListed", "Spread", "Pack", "Weighted")
WITHOUT_MANAGED_BY = ("KeepSuspended", "Reject")


@dataclass(frozen=True, slots=True)
class ConnectionSettings:
    """The settings of the connections to worker clusters.

    `probe_seconds`: the time between two probes of a worker; `answer_seconds`: its time for any answer.
    `longest_wait_seconds`: the longest time between two attempts to reach it.
    `requests_per_second`: the limit of writes to it; None if it is not configured.
    `trust`: what a kubeconfig may contain.
    """

    probe_seconds: int = 5
    answer_seconds: int = 10
    longest_wait_seconds: int = 320
    requests_per_second: int | None = None
    trust: Trust = field(default_factory=Trust)


@dataclass(frozen=True, slots=True)
class ConfigRules:
    """The rules of one MultiKueueConfig.

    score: how clusters are compared, one of `SCORES`.
    weights: the weight of a cluster by its name.
    selector: the label selector of clusters, in Kubernetes' form; None selects all.
    rounds: rounds of nominations before the workload is given up; None: no limit.
    """

    score: str = SCORES[0]
    weights: Mapping[str, int] = field(default_factory=dict)
    selector: Mapping[str, Any] | None = None
    rounds: int | None = None


@dataclass(frozen=True, slots=True)
class MultiKueueOptions:
    """The settings of MultiKueue.

    `connection`: the settings of the connections to workers.
    `kubeconfig_namespace`: the namespace of Secrets with kubeconfigs; None for the default.
    `without_managed_by`: how a job without `managedBy: kueue.x-k8s.io/multikueue` is handled.
    `configs`: the rules by name of the MultiKueueConfig.
    """

    connection: ConnectionSettings = field(default_factory=ConnectionSettings)
    kubeconfig_namespace: str | None = None
    without_managed_by: str = WITHOUT_MANAGED_BY[0]
    configs: Mapping[str, ConfigRules] = field(default_factory=dict)


def read_multikueue(section: Section) -> MultiKueueOptions:
    """Read the section. Raises BadConfiguration with the path of the key and the nearest known name."""
    configs: dict[str, ConfigRules] = {}
    for entry in section.sections("configs"):
        name = entry.text("name")
        if name in configs:
            raise BadConfiguration(f"MultiKueueConfig {name} is named twice", entry.at("name"))
        configs[name] = _rules(entry)
    options = MultiKueueOptions(
        _connection(section.section("connection")),
        section.optional("kubeconfigNamespace"),
        section.text("jobsWithoutManagedBy", WITHOUT_MANAGED_BY[0], among=list(WITHOUT_MANAGED_BY)),
        configs,
    )
    section.done()
    return options


def _connection(section: Section) -> ConnectionSettings:
    usual = ConnectionSettings()
    settings = ConnectionSettings(
        section.number("probeSeconds", usual.probe_seconds),
        section.number("answerSeconds", usual.answer_seconds),
        section.number("longestWaitSeconds", usual.longest_wait_seconds),
        section.number("requestsPerSecond", 0) or None,
        Trust(
            insecure_tls=section.flag("allowInsecureTLS", usual.trust.insecure_tls),
            plain_http=section.flag("allowPlainHTTP", usual.trust.plain_http),
            link_local=section.flag("allowLinkLocal", usual.trust.link_local),
            proxy=section.flag("allowProxy", usual.trust.proxy),
        ),
    )
    section.done()
    return settings


def _rules(entry: Section) -> ConfigRules:
    rounds = entry.number("rounds", 0)
    selector = entry.section("selector")
    weights = dict(map(_weight, entry.sections("weights")))
    rules = ConfigRules(
        entry.text("score", SCORES[0], among=list(SCORES)), weights, _selector(selector), rounds or None
    )
    entry.done()
    return rules


def _weight(entry: Section) -> tuple[str, int]:
    found = entry.text("cluster"), entry.number("weight", 1)
    entry.done()
    return found


def _selector(section: Section) -> Mapping[str, Any] | None:
    """The selector in Kubernetes' form. An absent or empty selector selects all clusters."""
    labels, expressions = section.labels("matchLabels"), section.mappings("matchExpressions")
    section.done()
    return {"matchLabels": labels, "matchExpressions": expressions} if labels or expressions else None
