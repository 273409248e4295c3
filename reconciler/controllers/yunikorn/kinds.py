"""The kinds that quota at gates depends on, and what is kept of each."""

from __future__ import annotations

from dataclasses import replace

from cluster.resource import CONFIG_MAPS, NAMESPACES, PODS
from cluster.stream import Manifest
from policies.dialects.core import read_namespace
from policies.dialects.quota_gates import MARK
from policies.dialects.reading import listing, mapping, text
from policies.dialects.yunikorn import SCHEDULER
from policies.dialects.yunikorn_config.configmap import CONFIGS, DEFAULTS, read_config_map
from reconciler.core.watched import WatchedKind, ignore
from reconciler.objects.stored import read_stored
from scheduling.yunikorn.gated_pod import GatedPod, read_gated_pod


def read_scheduled_pod(manifest: Manifest) -> GatedPod:
    """A Pod of YuniKorn's scheduler, as if it waited at our gate until it is bound; `waits` is what YuniKorn says.

    Each Pod of a gang counts for itself, placeholders as well. One with a scheduling gate is not looked at yet.
    """
    found, spec = read_gated_pod(manifest), mapping(manifest.get("spec"))
    bound = bool(spec.get("nodeName"))
    stated = map(mapping, listing(mapping(manifest.get("status")).get("conditions")))
    said = next((text(each.get("message")) for each in stated if each.get("type") == "PodScheduled"), "")
    return replace(
        found,
        ask=replace(found.ask, group=""),
        gang="",
        marked=True,
        gates=() if bound else (MARK,),
        admitted="",
        waits=said or "",
        leaving=found.leaving or (bool(found.gates) and not bound),
    )


GATED_POD = WatchedKind("GatedPod", PODS, read_gated_pod, ignore, ignore, relist=True)
NAMESPACE = WatchedKind("QuotaNamespace", NAMESPACES, read_namespace, ignore, ignore, detail=read_stored)
QUEUE_DEFAULTS = WatchedKind(
    "YuniKornDefaults", CONFIG_MAPS, read_config_map, ignore, ignore, field_selector=f"metadata.name={DEFAULTS}"
)
QUEUE_CONFIGS = WatchedKind(
    "YuniKornConfigs", CONFIG_MAPS, read_config_map, ignore, ignore, field_selector=f"metadata.name={CONFIGS}"
)
SCHEDULED_POD = WatchedKind(
    "YuniKornPod",
    PODS,
    read_scheduled_pod,
    ignore,
    ignore,
    field_selector=f"spec.schedulerName={SCHEDULER}",
)
WATCHED = (QUEUE_DEFAULTS, QUEUE_CONFIGS, NAMESPACE, GATED_POD)
COMPARED = (QUEUE_DEFAULTS, QUEUE_CONFIGS, NAMESPACE, SCHEDULED_POD)
"""With `--mode observe`: what YuniKorn's own decisions are compared by."""
MAPS = {QUEUE_DEFAULTS.kind: DEFAULTS, QUEUE_CONFIGS.kind: CONFIGS}
"""The name of the ConfigMap of each of these kinds."""
