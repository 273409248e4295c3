from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.yunikorn_config.configmap import CONFIG_MAP, MisnamedConfigMap
from policies.judging.proposal import Proposal
from policies.judging.rule import rule
from policies.model.cures import write
from policies.model.findings import Action, Finding


@rule(
    "queue-config-misnamed",
    source="YuniKorn: its ConfigMaps are yunikorn-defaults and yunikorn-configs",
    kinds=(CONFIG_MAP,),
    default=Action.WARN,
    alone=True,
    no_cel="the policies see the ConfigMaps of the right names only",
)
def queue_config_misnamed(proposal: Proposal) -> Iterator[Finding]:
    """A ConfigMap has settings of YuniKorn, and nearly the name of the ConfigMap that YuniKorn reads.

    Why it is reported: YuniKorn reads `yunikorn-defaults` and `yunikorn-configs` and no other. The tree in this one
    does not exist for it, and nothing says so.
    Example: a ConfigMap `yunikorn-config` with `queues.yaml`.
    Fix: write the name in full.
    """
    for _, config_map in proposal.changed(MisnamedConfigMap):
        message = f"YuniKorn does not read a ConfigMap {config_map.ref.name}"
        yield Finding(
            config_map.ref,
            "metadata.name",
            message,
            fix=f"did you mean {config_map.meant}?",
            patch=write("metadata.name", config_map.meant),
        )
