from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.core import CONFIG_MAP
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
    """YuniKorn's queue configuration has invalid YAML, or an invalid name, ACL or amount.

    Why it is refused: YuniKorn refuses the whole configuration for one such fault, and reports only the first one. If
    its scheduler does not answer, the configuration is stored, but the old tree stays in use, with only a log entry.
    The text is strict YAML: an unknown key, a duplicate key or a value of the wrong type is a fault, and only the first
    document counts. Partitions need different names and `queues`. Root has no resources. Names have 1 to 64 of the
    characters a-z A-Z 0-9 - _ : # / @, and siblings differ in more than case. An ACL has at most two lists. An amount
    is a whole number with an optional suffix.
    Example: `max: {memory: 1.5Gi}`.
    Fix: `max: {memory: 1536Mi}`. Every finding names the line.
    """
    yield from findings(proposal, structure)
