from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.core import CONFIG_MAP, NAMESPACE, POD
from policies.dialects.yunikorn_config import Problem
from policies.dialects.yunikorn_config.model import ConfiguredQueue
from policies.judging.proposal import Proposal
from policies.judging.rule import rule
from policies.model.findings import Finding, NotEvaluated
from policies.rules.yunikorn._queue_config import finding
from policies.rules.yunikorn._queue_uses import Uses
from policies.rules.yunikorn._reshaped_queues import reshaped


@rule(
    "busy-queue-turned",
    source="YuniKorn: reload of the queue configuration; issues 1546 and 1566",
    kinds=(CONFIG_MAP,),
)
def busy_queue_turned(proposal: Proposal) -> Iterator[Finding | NotEvaluated]:
    """A leaf of YuniKorn's configuration becomes a parent while it is used, or a parent becomes a leaf.

    Why it is refused: only leaves take applications. A leaf that gets children or `parent: true` keeps its running
    applications, but takes no new ones. A parent that becomes a leaf still has the queues of its namespaces below it,
    and YuniKorn rejects every new application of these. YuniKorn does not compare the configuration with existing
    queues.
    Example: `root.eng.dev` gets a child queue while Pods with the label `queue: root.eng.dev` run.
    Fix: declare the new queue as a sibling, or wait until nothing uses the present one.
    """
    for written, before, after, used in reshaped(proposal):
        turned = [
            queue
            for path, queue in after.queues.items()
            if (old := before.queues.get(path, queue)) is not queue and old.is_leaf != queue.is_leaf
        ]
        if turned and (unknown := proposal.unknown(POD, NAMESPACE)):
            yield NotEvaluated(f"whether changed queues are used: not all {' and '.join(unknown)} objects are known")
        for queue in turned:
            use = used.get(queue.path.lower(), Uses())
            if use.count:
                yield finding(written, _problem(queue, use))


def _problem(queue: ConfiguredQueue, use: Uses) -> Problem:
    became, was = ("a leaf", "a parent") if queue.is_leaf else ("a parent", "a leaf")
    lost = "no queue can be created below a leaf" if queue.is_leaf else "a parent takes no applications"
    return Problem(
        queue.field,
        queue.line,
        f"queue {queue.path} becomes {became} while it is used by {use}; {lost}",
        f"leave {queue.path} {was} until nothing uses it, and declare the new queue beside it",
        queue.path,
        use.count,
        accepted=True,
    )
