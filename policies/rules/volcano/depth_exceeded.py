from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from policies.dialects.volcano import QUEUE, ROOT, Queue, moved
from policies.judging.rule import Proposal, rule
from policies.model.findings import BOTH, COMPAT_ONLY, STRICT_ONLY, Finding

_BEYOND = 100  # the most levels beyond the limit that are counted; a longer chain is reported with about this many


@rule("depth-exceeded", source="Volcano's webhook queues/validate: --max-queue-depth", kinds=(QUEUE,))
def depth_exceeded(proposal: Proposal) -> Iterator[Finding]:
    """A Volcano queue or one of its descendants would be deeper than allowed.

    Why it is refused: each level makes every scheduling session slower, and Volcano has a limit: `--max-queue-depth`,
    by default 5. A child of root has depth 1. Volcano itself checks only the moved queue; this rule also checks its
    descendants.
    Example: with a limit of 5, a queue with two levels below it is moved to depth 4.
    Fix: move the subtree up, or flatten it; `volcano.maxQueueDepth` in the configuration follows Volcano's flag.
    """
    most = proposal.configuration.volcano.max_queue_depth
    for before, queue in proposal.changed(Queue):
        if queue.ref == ROOT or proposal.after.on_cycle(queue.ref):
            continue
        above = list(islice(proposal.after.ancestors(queue.ref), most + _BEYOND))
        depth = sum(ref != ROOT for ref in above) + 1
        deepest = depth + proposal.after.below(queue.ref).height
        endless = proposal.after.has_cycles and any(proposal.after.on_cycle(ref) for ref in above)
        moved_too_deep = depth > most and moved(before, queue)
        if deepest > most and (moved_too_deep or not endless):
            where = f"is at depth {depth}" + (f", the deepest queue below it at {deepest}" if deepest > depth else "")
            yield Finding(
                queue.ref,
                "spec.parent",
                f"{where}; the limit is {most}",
                fix=_fix(depth, deepest - most),
                excess=deepest,
                profiles=COMPAT_ONLY if endless else BOTH if moved_too_deep else STRICT_ONLY,  # strict: parent-cycle
            )
        elif endless and moved(before, queue):
            message, fix = "its ancestors never reach root", "name a parent whose ancestors lead to root"
            looped = next((ref, "") for ref in above if proposal.after.on_cycle(ref))
            yield Finding(queue.ref, "spec.parent", message, fix=fix, profiles=COMPAT_ONLY, follows=(looped,))


def _fix(depth: int, surplus: int) -> str:
    """The fix. A queue cannot move higher than depth 1, so if that is not enough, levels below it must be removed."""
    levels = "1 level" if surplus == 1 else f"{surplus} levels"
    move = f"move it up by at least {levels}" if surplus < depth else f"remove {levels} below it"
    return f"{move}, or raise volcano.maxQueueDepth"
