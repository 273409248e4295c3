"""Small trees with the work in them, in few words.

    state = draw('''
        cohort root
          cohort team    cpu=4 cpu.borrow=2 cpu.lend=1
            queue a      cpu=2 within=LowerPriority reclaim=Any
              work low   cpu=1 priority=-1 at=3 evicted
          queue b        spot/cpu=5 weight=0.5
    ''')

What stands deeper belongs to what stands above it. Amounts are plain numbers of the pair default/cpu, or of the pair
that is named; `at` is when quota was reserved, `created` when it was asked for.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from fractions import Fraction

from policies.dialects.kueue_state import NEVER
from policies.model.pools import Terms
from scheduling.objects.amounts import FlavorResource
from scheduling.objects.queue_settings import ClusterQueueSettings, CohortSettings, PreemptionPolicy
from scheduling.objects.workload import EVICTED, QUOTA_RESERVED, Condition, Workload
from scheduling.preemption.targets import PreemptionTarget
from scheduling.quota.state import Options, QuotaState, Reservation

CPU = FlavorResource("default", "cpu")
GPU = FlavorResource("default", "gpu")


def draw(text: str, options: Options | None = None) -> QuotaState:
    state = QuotaState(options)
    above: list[tuple[int, str]] = []
    for line in filter(str.strip, textwrap.dedent(text).splitlines()):
        depth = len(line) - len(line.lstrip())
        kind, name, *words = line.split()
        while above and above[-1][0] >= depth:
            above.pop()
        _put(state, kind, name, above[-1][1] if above else None, words)
        above.append((depth, name))
    return state


def work(name: str, *words: str) -> Workload:
    """A workload that waits."""
    fields = dict(word.partition("=")[::2] for word in words)
    conditions = {EVICTED: Condition("True")} if "evicted" in fields else {}
    if "at" in fields:
        conditions[QUOTA_RESERVED] = Condition("True", since=int(fields["at"]))
    return Workload(
        namespace="ns",
        name=name,
        uid=name,
        created=int(fields.get("created", 0)),
        base=int(fields.get("priority", 0)),
        queue=fields.get("in", ""),
        conditions=conditions,
    )


def pair(name: str) -> FlavorResource:
    return FlavorResource.parse(name) if "/" in name else FlavorResource("default", name)


def reported(targets: Iterable[PreemptionTarget]) -> dict[str, str]:
    """The names of victims and why, in order."""
    return {target.reservation.workload.name: target.reason.value for target in targets}


def usages(state: QuotaState) -> dict[str, dict[FlavorResource, int]]:
    """What is in use everywhere."""
    nodes = (*state.tree.queues.values(), *state.tree.cohorts.values())
    return {repr(node): {each: amount for each, amount in node.usage.items() if amount} for node in nodes}


def _put(state: QuotaState, kind: str, name: str, above: str | None, words: list[str]) -> None:
    fields = dict(word.partition("=")[::2] for word in words)
    if kind == "work":
        usage = {pair(each): int(amount) for each, amount in fields.items() if _is_pair(each)}
        state.reserve(Reservation(work(name, *words), state.queues[above or ""], usage))
        return
    weight = int(Fraction(fields.get("weight", "1")) * 10**9)
    if kind == "cohort":
        state.put_cohort(CohortSettings(name, above, _terms(fields), weight))
        return
    policy = PreemptionPolicy(
        fields.get("within", NEVER),
        fields.get("reclaim", NEVER),
        fields.get("borrow", NEVER),
        _number(fields.get("threshold")),
    )
    state.put_queue(ClusterQueueSettings(name, above, _terms(fields), (), weight, preemption=policy))
    if "stopped" in fields:
        state.queues[name].inactive = "stopped"


def _terms(fields: dict[str, str]) -> dict[FlavorResource, Terms]:
    return {
        pair(name): Terms(int(amount), _number(fields.get(f"{name}.borrow")), _number(fields.get(f"{name}.lend")))
        for name, amount in fields.items()
        if _is_pair(name)
    }


def _is_pair(name: str) -> bool:
    return name.rpartition("/")[2] in ("cpu", "gpu", "memory")


def _number(text: str | None) -> int | None:
    return None if text is None else int(text)
