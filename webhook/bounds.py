"""How large an object may be: larger than any object in real use, and small enough to be judged in time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from policies.configuration.settings import YuniKornSettings
from policies.dialects.core import CONFIG_MAP
from policies.dialects.reading import group_kind, metadata
from policies.dialects.yunikorn_config.configmap import read_config_map

MAP = 10_000
"""The most entries of one map. Kubernetes' own maps stay far below: annotations have 256 KiB in all, and resources are
a handful."""
LIST = 100_000
"""The most entries of one list, as many as Kueue's definitions allow at most. In 1.5 MiB, which is what etcd stores,
each has 15 bytes."""
_FREE = 64 * 1024
"""Bytes. A review of this size cannot have enough entries to take long, so its entries are not counted."""

_FOREIGN = 64 * 1024
"""The most characters of settings in a ConfigMap that has the name of YuniKorn's in another namespace. Anybody with
rights in a namespace can write one, and 8 MiB of queues take seconds to judge."""


def crowded(manifest: Mapping[str, Any] | None, size: int) -> str:
    """Why the new object of a review is too large; empty if it is not.

    `size`: the bytes of the review. The managed fields do not count: no rule reads them, and they have a map with an
    entry for each entry of a list, such as the environment of a container.
    """
    if manifest is None or size < _FREE:
        return ""
    written = {key: value for key, value in metadata(manifest).items() if key != "managedFields"}
    waiting: list[Any] = [{**manifest, "metadata": written}]
    while waiting:
        value = waiting.pop()
        if isinstance(value, Mapping):
            if len(value) > MAP:
                return f"a map in it has {len(value)} entries; at most {MAP} are judged"
            waiting += _containers(value.values())
        else:
            if len(value) > LIST:
                return f"a list in it has {len(value)} entries; at most {LIST} are judged"
            waiting += _containers(value)
    return ""


def foreign_settings(manifest: Mapping[str, Any] | None, settings: YuniKornSettings) -> str:
    """Why a ConfigMap that YuniKorn does not read is too large; empty if it is not."""
    if manifest is None or group_kind(manifest) != CONFIG_MAP or not settings.follow:
        return ""
    config_map = read_config_map(manifest)
    if config_map is None or config_map.ref.namespace == settings.namespace:
        return ""
    size = sum(len(each.text or "") for each in config_map.settings.values())
    if size <= _FOREIGN:
        return ""
    return (
        f"it has {size} characters of settings, and outside of namespace {settings.namespace} at most {_FOREIGN} are"
        " judged; if YuniKorn is in this namespace, set yunikorn.namespace in the configuration of Quotree"
    )


def _containers(values: Iterable[Any]) -> list[Any]:
    return [value for value in values if isinstance(value, Mapping | list)]
