"""The watched kinds that decide about YuniKorn's quota at scheduling gates, with the fields that are kept of each."""

from __future__ import annotations

from cluster.resource import CONFIG_MAPS, NAMESPACES, PODS, PRIORITY_CLASSES
from policies.dialects import core
from policies.dialects.core import POD, Namespace, read_namespace
from policies.dialects.priority_class import PRIORITY_CLASS, PriorityClass, read_priority_class
from policies.dialects.yunikorn_config.configmap import CONFIGS, DEFAULTS, QueueConfigMap, read_config_map
from reconciler.controllers.yunikorn import QUOTA_NAMESPACE
from reconciler.objects.stored import read_stored
from reconciler.objects.watched import WatchedKind
from scheduling.yunikorn.gates.gated_pod import YuniKornGatedPod, read_gated_pod

GATED_POD: WatchedKind[YuniKornGatedPod] = WatchedKind(
    "GatedPod", PODS, read_gated_pod, relist=True, object_kind=POD.kind
)
NAMESPACE: WatchedKind[Namespace] = WatchedKind(
    QUOTA_NAMESPACE, NAMESPACES, read_namespace, detail=read_stored, object_kind=core.NAMESPACE.kind
)
QUEUE_DEFAULTS: WatchedKind[QueueConfigMap] = WatchedKind(
    "YuniKornDefaults", CONFIG_MAPS, read_config_map, field_selector=f"metadata.name={DEFAULTS}"
)
QUEUE_CONFIGS: WatchedKind[QueueConfigMap] = WatchedKind(
    "YuniKornConfigs", CONFIG_MAPS, read_config_map, field_selector=f"metadata.name={CONFIGS}"
)
CLASS: WatchedKind[PriorityClass] = WatchedKind(
    "YuniKornPriorityClass", PRIORITY_CLASSES, read_priority_class, object_kind=PRIORITY_CLASS.kind
)
WATCHED = (QUEUE_DEFAULTS, QUEUE_CONFIGS, CLASS, NAMESPACE, GATED_POD)
MAPS = {QUEUE_DEFAULTS.kind: (QUEUE_DEFAULTS, DEFAULTS), QUEUE_CONFIGS.kind: (QUEUE_CONFIGS, CONFIGS)}
"""The name of the ConfigMap that each of these views watches, by kind."""
