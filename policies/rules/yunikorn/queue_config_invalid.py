from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.yunikorn_config.configmap import CONFIG_MAP
from policies.dialects.yunikorn_config.structure import structure
from policies.judging.proposal import Proposal
from policies.judging.rule import rule
from policies.model.findings import Finding
from policies.rules.yunikorn._queue_config import findings


@rule(
    "queue-config-invalid",
    source="YuniKorn: validation of queues.yaml, partitions, names, ACLs, quantities",
    kinds=(CONFIG_MAP,),
)
def queue_config_invalid(proposal: Proposal) -> Iterator[Finding]:
    """YuniKorn's queue configuration has a fault of its own: its YAML, a name, an ACL, an amount.

    Why it is refused: YuniKorn refuses the whole configuration over one such fault and tells the first one only;
    where its scheduler does not answer it lets the configuration pass, and then the old tree stays with a line in the
    log. The text is strict YAML: an unknown key, one that stands twice, or a value of another type is a fault, and
    only the first document counts. Partitions have different names and `queues`; root has no resources; names have 1
    to 64 of the characters a-z A-Z 0-9 - _ : # / @ and differ among siblings in more than capitals; an ACL has two
    lists at most; an amount is a whole number with a suffix.
    Example: `max: {memory: 1.5Gi}`.
    Fix: `max: {memory: 1536Mi}`. Every finding names the line.
    """
    yield from findings(proposal, structure)
