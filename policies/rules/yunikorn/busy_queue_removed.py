from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.core import CONFIG_MAP, NAMESPACE, POD
from policies.judging.proposal import Proposal
from policies.judging.rule import rule
from policies.model.findings import STRICT_ONLY, Finding, NotEvaluated
from policies.rules.yunikorn._queue_uses import Uses
from policies.rules.yunikorn._reshaped_queues import reshaped


@rule("busy-queue-removed", source="YuniKorn: reload of the queue configuration, draining queues", kinds=(CONFIG_MAP,))
def busy_queue_removed(proposal: Proposal) -> Iterator[Finding | NotEvaluated]:
    """A queue is removed from YuniKorn's configuration while it is used.

    Why it is refused: YuniKorn accepts the change and drains the queue. Running applications continue, but new ones
    follow the next placement rule, into another queue or none. Namespaces with this `parentqueue` lose the parent of
    their queues. Pods that run in the queue and Namespaces that name it count as uses. The queue of a Pod is computed
    from the placement rules and the queue that it requests. Rules that depend on the user are not evaluated.
    Example: `root.eng.dev` is removed while Pods with the label `queue: root.eng.dev` run.
    Fix: close the queue to new applications (`submitacl: ""`), wait until the running ones have ended, then remove it.
    """
    for written, before, after, used in reshaped(proposal):
        gone = [path for path in before.queues if path not in after.queues]
        if gone and (unknown := proposal.unknown(POD, NAMESPACE)):
            yield NotEvaluated(f"whether removed queues are used: not all {' and '.join(unknown)} objects are known")
        for path in sorted(gone):
            use, name = used.get(path, Uses()), before.queues[path].path
            if use.count:
                assert written.setting is not None
                yield Finding(
                    written.ref,
                    written.setting.field,
                    f"queue {name} is removed while it is used by {use}",
                    fix=f"keep {name} until what runs there has ended and no namespace names it; an empty submitacl "
                    "keeps new applications out",
                    subject=name,
                    excess=use.count,
                    causes=use.causes(f"uses queue {name}"),
                    profiles=STRICT_ONLY,
                )
