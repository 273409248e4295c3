"""The kinds that quota at gates depends on, and what is kept of each."""

from __future__ import annotations

from cluster.resource import CONFIG_MAPS, NAMESPACES, PODS
from policies.dialects import core
from policies.dialects.core import POD, read_namespace
from policies.dialects.yunikorn_config.configmap import CONFIGS, DEFAULTS, read_config_map
from reconciler.controllers.yunikorn import QUOTA_NAMESPACE
from reconciler.objects.stored import read_stored
from reconciler.objects.watched import WatchedKind, ignore
from scheduling.yunikorn.gates.gated_pod import read_gated_pod

GATED_POD = WatchedKind("GatedPod", PODS, read_gated_pod, ignore, ignore, relist=True, of=POD.kind)
NAMESPACE = WatchedKind(
    QUOTA_NAMESPACE, NAMESPACES, read_namespace, ignore, ignore, detail=read_stored, of=core.NAMESPACE.kind
)
QUEUE_DEFAULTS = WatchedKind(
    "YuniKornDefaults", CONFIG_MAPS, read_config_map, ignore, ignore, field_selector=f"metadata.name={DEFAULTS}"
)
QUEUE_CONFIGS = WatchedKind(
    "YuniKornConfigs", CONFIG_MAPS, read_config_map, ignore, ignore, field_selector=f"metadata.name={CONFIGS}"
)
WATCHED = (QUEUE_DEFAULTS, QUEUE_CONFIGS, NAMESPACE, GATED_POD)
MAPS = {QUEUE_DEFAULTS.kind: DEFAULTS, QUEUE_CONFIGS.kind: CONFIGS}
"""The name of the ConfigMap of each of these kinds."""
