from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.volcano import QUEUE, Queue
from policies.judging.rule import Proposal, rule
from policies.model.findings import BOTH, COMPAT_ONLY, Action, Finding, Profile

SETTABLE = ("", "Open", "Closed")


@rule(
    "queue-state-unsettable",
    source="Volcano's webhook queues/validate: status.state; Volcano issue 3517",
    kinds=(QUEUE,),
    of_change=True,
)
def queue_state_unsettable(proposal: Proposal) -> Iterator[Finding]:
    """A user sets a state of a Volcano queue that only Volcano's controller may set.

    Why it is refused: users open and close a queue. Volcano's controller sets Closing while work is left in a closed
    queue. A state that Volcano does not know stops the queue. A queue that already is Closing or Unknown may be edited,
    which Volcano's own webhook refuses. When a queue is created, the API server drops the state, so then it is a
    warning. In a cluster, the rule applies to users who write the status, but not to ServiceAccounts, since Volcano's
    controller is one.
    Example: `status: {state: Closing}` is written into a queue that is Open.
    Fix: write `Closed` or `Open`, or use `vcctl queue operate`.
    """
    for before, queue in proposal.changed(Queue):
        if queue.state in SETTABLE:
            continue
        stays = before is not None and before.state == queue.state
        yield Finding(
            queue.ref,
            "status.state",
            f"the state {queue.state} cannot be set, only Open and Closed",
            fix="leave status.state out, or write Open or Closed",
            subject=queue.state,
            profiles=COMPAT_ONLY if stays else BOTH,
            action=Action.WARN if before is None and proposal.configuration.profile is Profile.STRICT else None,
        )
