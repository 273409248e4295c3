"""With `--mode observe`: the quota with which the Pods that YuniKorn's scheduler binds are compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from cluster.resource import PODS, Manifest
from policies.configuration.settings import YuniKornSettings
from policies.dialects.core import POD
from policies.dialects.quota_gates import QUOTA_KEY
from policies.dialects.yunikorn import SCHEDULER, as_read
from policies.dialects.yunikorn_gates import YUNIKORN
from reconciler.controllers.gates.comparison import EVERYWHERE, GateVerdict, Judge, said_of
from reconciler.controllers.yunikorn.gates import reason_text, warn_of_legacy
from reconciler.controllers.yunikorn.kinds import MAPS, NAMESPACE, QUEUE_CONFIGS, QUEUE_DEFAULTS
from reconciler.core.controller import Controller
from reconciler.objects.observed import Observed
from reconciler.objects.watched import WatchedKind
from scheduling.yunikorn.gates.gated_pod import YuniKornGatedPod, read_gated_pod
from scheduling.yunikorn.gates.gatekeeper import YuniKornGatekeeper
from scheduling.yunikorn.gates.queues_in_force import QueuesInForce
from scheduling.yunikorn.queue import QueueLack


def read_scheduled_pod(manifest: Manifest) -> YuniKornGatedPod:
    """Read a Pod of YuniKorn's scheduler as if it waited at our gate until it is bound.

    `waits` is the reason that YuniKorn gives. Each Pod of a gang counts by itself, and so does a placeholder. A Pod
    that still has a scheduling gate is not compared.
    """
    found = read_gated_pod(manifest)
    return replace(
        found,
        ask=replace(found.ask, group=""),
        gang="",
        project=YUNIKORN,
        gates=() if found.bound else (QUOTA_KEY,),
        admitted="",
        waits=said_of(manifest),
        deleting=found.deleting or (bool(found.gates) and not found.bound),
    )


SCHEDULED_POD: WatchedKind[YuniKornGatedPod] = WatchedKind(
    "YuniKornPod",
    PODS,
    read_scheduled_pod,
    field_selector=f"spec.schedulerName={SCHEDULER}",
    object_kind=POD.kind,
)


class YuniKornComparedPods(Controller):
    """Watches the kinds that the comparison needs. It writes nothing."""

    watched = (QUEUE_DEFAULTS, QUEUE_CONFIGS, NAMESPACE, SCHEDULED_POD)


class YuniKornJudge(Judge[YuniKornGatekeeper]):
    """Judges by YuniKorn's quota."""

    pods = SCHEDULED_POD

    def __init__(self, settings: YuniKornSettings) -> None:
        super().__init__(YuniKornGatekeeper(QueuesInForce(settings.namespace), once=False))
        self._version = settings.version

    def take(self, before: Observed[object] | None, after: Observed[object]) -> str | None:
        kind, name = after.key
        if kind in MAPS:
            view, map_name = MAPS[kind]
            self.keeper.queues.put(map_name, view.value(after))
            return EVERYWHERE
        if kind != NAMESPACE.kind:
            return None
        namespace = NAMESPACE.value(after)
        namespace = as_read(namespace, self._version) if namespace is not None else None
        warn_of_legacy(self.keeper.spaces.annotations(name), namespace)
        self.keeper.put_namespace(name, namespace)
        return name if _annotations(before) != _annotations(after) else None

    def verdict(self, name: str) -> GateVerdict | None:
        waiting = self.keeper.why(name)
        if waiting is None:
            return None
        lacks = waiting.lacks
        return GateVerdict(
            "" if waiting.has_room else reason_text(waiting), lambda: not lacks or any(map(self._is_over, lacks))
        )

    def queue_of(self, name: str) -> str:
        application = self.keeper.scheduler.owners.get(name)
        return application.leaf.path if application is not None else ""

    def fitting(self) -> Mapping[str, str]:
        return {ask.key: application.leaf.path for application, ask in self.keeper.scheduler.fitting()}

    def _is_over(self, lack: QueueLack) -> bool:
        """Whether the queue still exceeds its limit. Limits of users are not checked again."""
        queue = self.keeper.scheduler.tree.queues.get(lack.queue)
        return bool(lack.whose) or (queue is not None and queue.allocated.get(lack.resource, 0) > lack.limit)


def _annotations(observed: Observed[object] | None) -> Mapping[str, str]:
    namespace = NAMESPACE.value(observed)
    return namespace.annotations if namespace is not None else {}
