"""YuniKorn's queues before and after a change of its configuration, with their uses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from policies.dialects.yunikorn_config.configmap import ConfiguredQueues, tree
from policies.judging.proposal import Proposal
from policies.rules.yunikorn._namespace_shares import Declared, declared
from policies.rules.yunikorn._queue_config import trees
from policies.rules.yunikorn._queue_uses import Uses, uses


def reshaped(proposal: Proposal) -> Iterator[tuple[ConfiguredQueues, Declared, Declared, Mapping[str, Uses]]]:
    """For each written tree: the tree, the queues before and after, and the uses by the placement rules before.

    Trees without queues before or after are left out. The uses are those after the change, so a pod that the change
    deletes does not count.
    """
    namespace = proposal.configuration.yunikorn.namespace
    old_text = tree(proposal.before, namespace).text
    for written in trees(proposal):
        if written.ref.namespace != namespace or not old_text or not written.text or written.text == old_text:
            continue
        before, after = declared(old_text), declared(written.text)
        if before is not None and after is not None:
            yield written, before, after, uses(proposal.after, old_text)
