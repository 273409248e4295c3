"""Creates the controllers of Volcano's and YuniKorn's queues. The module is separate because its imports are slow."""

from __future__ import annotations

from collections.abc import Iterator

from policies.configuration.settings import Configuration, Dialect, Enforce
from policies.dialects import volcano_gates, yunikorn_gates
from reconciler.controllers.volcano.gates import VolcanoGatesController
from reconciler.controllers.volcano.kinds import QUEUE
from reconciler.controllers.volcano.pod_comparison import VolcanoComparedPods as ComparedVolcanoPods
from reconciler.controllers.volcano.queues import VolcanoQueuesController
from reconciler.controllers.yunikorn.comparison import YuniKornComparedPods as ComparedYuniKornPods
from reconciler.controllers.yunikorn.gates import QuotaGatesController
from reconciler.core.controller import Controller
from reconciler.core.state import ClusterState


def controllers_of_others(
    dialects: frozenset[Dialect], configuration: Configuration, state: ClusterState, *, observes: bool
) -> Iterator[Controller]:
    """The controllers for these dialects. `observes`: write nothing, and compare the decisions of others instead."""
    if Dialect.VOLCANO in dialects:
        yield VolcanoQueuesController(lambda name: state.records.detail((QUEUE.kind, name)), configuration)
    yield from _at_gates(dialects, configuration, state, observes)


def _at_gates(
    dialects: frozenset[Dialect], configuration: Configuration, state: ClusterState, observes: bool
) -> Iterator[Controller]:
    """The controllers of Pods at a gate. If a dialect has no gates, `observes` compares its scheduler's decisions."""
    gates = Enforce.GATES
    volcano = Dialect.VOLCANO in dialects and configuration.volcano.enforce is gates
    yunikorn = Dialect.YUNIKORN in dialects and configuration.yunikorn.enforce is gates
    if volcano:
        others = frozenset([yunikorn_gates.YUNIKORN] if yunikorn else [])
        yield VolcanoGatesController(state.records, others, configuration.volcano)
    elif observes and Dialect.VOLCANO in dialects:
        yield ComparedVolcanoPods()
    if yunikorn:
        others = frozenset([volcano_gates.VOLCANO] if volcano else [])
        yield QuotaGatesController(state.records, configuration.yunikorn, others)
    elif observes and Dialect.YUNIKORN in dialects:
        yield ComparedYuniKornPods()
