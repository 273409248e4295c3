from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.core import CONFIG_MAP
from policies.dialects.yunikorn_config.configmap import QUEUES, MisnamedConfigMap, QueueConfigMap
from policies.judging.rule import Proposal, rule
from policies.model.findings import Action, Finding, rename, write
from policies.model.suggestion import certain

_NO_HASH = "set generatorOptions.disableNameSuffixHash to true in the kustomization, which appends a hash to the name"


@rule(
    "queue-config-misnamed",
    source="YuniKorn: its ConfigMaps are yunikorn-defaults and yunikorn-configs",
    kinds=(CONFIG_MAP,),
    default=Action.WARN,
    alone=True,
    no_cel="the policies see the ConfigMaps of the right names only",
)
def queue_config_misnamed(proposal: Proposal) -> Iterator[Finding]:
    """A ConfigMap with settings of YuniKorn has a misspelt name or key.

    Why it is reported: YuniKorn reads the ConfigMaps `yunikorn-defaults` and `yunikorn-configs`, and their key
    `queues.yaml`. A tree under another name does not exist for it, and no message reports that.
    Example: a ConfigMap `yunikorn-config` with `queues.yaml`; a key `queue.yaml`; a name to which the
    configMapGenerator of a kustomization appends a hash.
    Fix: write the right name or key.
    """
    for _, config_map in proposal.changed(MisnamedConfigMap):
        message = f"YuniKorn does not read a ConfigMap {config_map.ref.name}"
        yield Finding(
            config_map.ref,
            "metadata.name",
            message,
            fix=_NO_HASH if config_map.hashed else f"did you mean {config_map.meant}?",
            patch=() if config_map.hashed else write("metadata.name", config_map.meant),
        )
    for before, config in proposal.changed(QueueConfigMap):
        for key, setting in config.settings.items():
            known = before is not None and key in before.settings
            if key != QUEUES and not known and certain(key, [QUEUES]):
                is_free = QUEUES not in config.settings
                yield Finding(
                    config.ref,
                    setting.field,
                    f"YuniKorn does not read the key {key}",
                    fix=f"did you mean {QUEUES}?" if is_free else f"remove it: {QUEUES} is set as well",
                    patch=rename(setting.field, QUEUES) if is_free else (),
                )
