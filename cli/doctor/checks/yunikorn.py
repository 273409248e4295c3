"""Checks that YuniKorn can load its queues.yaml."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from cli.doctor.target import CheckedCluster, CheckResult, check, failure, ok, skipped
from cluster.resource import CONFIG_MAPS
from policies.dialects.yunikorn_config.configmap import (
    ConfiguredQueues,
    read_config_map,
    refs,
    tree,
    unreadable_settings,
)
from policies.dialects.yunikorn_config.model import Problem
from policies.dialects.yunikorn_config.validation import unusable
from policies.model.findings import apart
from policies.model.forest import Forest
from policies.model.objects import Ref

_UNTIL = "YuniKorn keeps the queues that it has, and has none after a restart"


@check("yunikorn-queues", "YuniKorn can load its queues.yaml.")
def yunikorn_queues(target: CheckedCluster) -> Iterator[CheckResult]:
    namespace = target.configuration.yunikorn.namespace
    stored = [target.get(CONFIG_MAPS.item(ref.name, namespace)) for ref in refs(namespace)]
    config_maps = [typed for manifest in stored if manifest and (typed := read_config_map(manifest))]
    written = tree(Forest.of(config_maps), namespace)
    if written.setting is None:
        yield skipped("", f"no ConfigMap of YuniKorn in the namespace {namespace} has {written.key}")
        return
    if written.text is None:
        fault = Problem(
            written.setting.field, 0, f"{written.key} cannot be read: {written.setting.fault}", "write it again"
        )
        found = [_failure(written, [fault])]
    else:
        found = [_failure(written, list(unusable(written.config)))]
    found += [_failure(replace(written, ref=each.ref), list(unreadable_settings(each))) for each in config_maps]
    good = ok(_name(written.ref), f"YuniKorn can load its {written.key}")
    yield from [each for each in found if each] or [good]


def _failure(written: ConfiguredQueues, problems: list[Problem]) -> CheckResult | None:
    """A failure with the first of the problems; None if there are none."""
    if not problems:
        return None
    first, others = problems[0], len(problems) - 1
    message, fix = (first.message, first.fix) if first.fix else apart(first.message, "correct the YAML in that line")
    where = f"{written.key}, line {first.line}: " if first.line else ""
    until = "" if first.accepted else f"; {_UNTIL}"  # the other messages say it themselves
    more = f"; `quotree audit` lists {others} more" if others else ""
    return failure(_name(written.ref), f"{where}{message}{until}{more}", fix)


def _name(config_map: Ref) -> str:
    return f"ConfigMap {config_map.namespace}/{config_map.name}"
