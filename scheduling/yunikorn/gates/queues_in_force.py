"""The queues of YuniKorn's ConfigMaps, if they can be used."""

from __future__ import annotations

from policies.dialects.yunikorn_config.configmap import QueueConfigMap, tree
from policies.dialects.yunikorn_config.model import Partition
from policies.dialects.yunikorn_config.reading import read_config
from policies.dialects.yunikorn_config.validation import unusable
from policies.model.forest import Forest
from scheduling.yunikorn.intake import BUILT_IN
from scheduling.yunikorn.simulation import NOBODY


class QueuesInForce:
    """The queues. `namespace`: of the ConfigMaps. `fault`: why they cannot be used; then no new Pod is admitted."""

    def __init__(self, namespace: str) -> None:
        self._namespace = namespace
        self._maps: dict[str, QueueConfigMap] = {}
        self._text: str | None = ""
        self.fault = ""
        self.partition = _partition(BUILT_IN)
        self._renewed = False

    def put(self, name: str, config_map: QueueConfigMap | None) -> None:
        """Store the ConfigMap; None removes it."""
        if config_map is None:
            self._maps.pop(name, None)
        elif config_map.ref.namespace == self._namespace:
            self._maps[name] = config_map
        self._read()

    def renewed(self) -> bool:
        """Whether the queues changed since the last call."""
        found, self._renewed = self._renewed, False
        return found

    def _read(self) -> None:
        found = tree(Forest().put_all(self._maps.values()), self._namespace)
        text = found.text if found.setting is not None else BUILT_IN
        if text == self._text:
            return
        self._text, self._renewed = text, True
        config = read_config(text or "")
        self.fault = next((problem.message for problem in unusable(config)), "")
        if text is None or config.partition is None or config.partition.root is None:
            self.fault = self.fault or "it has no default partition with queues"
        self.partition = _partition(NOBODY if self.fault else text or "")


def _partition(text: str) -> Partition:
    found = read_config(text).partition
    assert found is not None
    return found
