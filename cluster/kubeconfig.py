"""Kubeconfig files, read by our own YAML reader: that of the `kubernetes` package sets no bounds to aliases."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from kubernetes.config.kube_config import ConfigNode, KubeConfigLoader, KubeConfigMerger

from cluster.errors import NotConfigured
from policies.dialects.kubeconfig import MAX_COPIED
from policies.text.positions import BadText, position
from policies.text.yaml_values import single

MAX_SIZE = 16 * 2**20
"""Bytes of one file: a thousand clusters with their certificates take about 5 MiB."""
_LISTS = ("clusters", "contexts", "users")


def load_files(files: str, context: str | None, settings: Any) -> None:
    """Sets what the context, by default the current one, of these files says; of several, as kubectl merges them.

    Writes back a renewed OIDC token. Raises NotConfigured, and whatever the package raises on a hand-edited file.
    """
    merged = _Merger(files)
    if merged.config is None:
        raise NotConfigured("there is nothing in it")
    loader = KubeConfigLoader(
        config_dict=merged.config, active_context=context, config_base_path=None, config_persister=merged.save_changes
    )
    loader.load_and_set(settings)


class _Merger(KubeConfigMerger):  # type: ignore[misc]  # the package has no types
    """The package's merging; only the reading is ours."""

    def load_config(self, path: str) -> None:
        config = self.config_files[path] = _read(path)
        if self.config is None:
            self.config_merged: Any = ConfigNode(path, {**config, **{item: [] for item in _LISTS}}, path)
        for item in _LISTS:
            self._merge(item, config.get(item) or [], path)
        if "current-context" in config:
            self.config_merged.value["current-context"] = config["current-context"]


def _read(path: str) -> dict[str, Any]:
    with Path(path).open("rb") as file:
        content = file.read(MAX_SIZE + 1)
    if len(content) > MAX_SIZE:
        raise NotConfigured(f"{path}: it has more than {MAX_SIZE} bytes")
    text = content.decode("utf-8-sig")
    try:
        value = single(text, MAX_COPIED)
    except BadText as bad:
        raise NotConfigured(f"{path}, {position(text, bad.offset)}: {bad.message}") from None
    if not isinstance(value, dict):
        raise NotConfigured(f"{path}: it is no mapping")
    # a number with a fraction is exact here; the package, which writes the file again, knows floats only
    plain: dict[str, Any] = json.loads(json.dumps(value, default=float))
    return plain
