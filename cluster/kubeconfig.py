"""Reads kubeconfigs with the `kubernetes` package: those with plugins, several files, or errors to report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubernetes.config.kube_config import ConfigNode, KubeConfigLoader, KubeConfigMerger

from cluster.errors import NotConfigured
from cluster.kubeconfig_file import read_file
from cluster.plain_login import Headers, as_kubectl, impersonation

_LISTS = ("clusters", "contexts", "users")


def load_content(content: Mapping[str, Any], settings: Any) -> Headers:
    """Copy the login of the current context into `settings`, and return the headers of impersonation.

    Raises any exception of the package.
    """
    return _load(KubeConfigLoader(config_dict=dict(content), config_base_path=None), settings)


def load_files(files: str, context: str | None, settings: Any) -> Headers:
    """Copy the login of a context of files, by default the current one, and return the headers of impersonation.

    Files are merged as kubectl does it. Writes back a renewed OIDC token. Raises NotConfigured, and any exception of
    the package for a malformed file.
    """
    merged = _Merger(files)
    if merged.config is None:
        raise NotConfigured("it is empty")
    loader = KubeConfigLoader(
        config_dict=merged.config, active_context=context, config_base_path=None, config_persister=merged.save_changes
    )
    return _load(loader, settings)


def _load(loader: KubeConfigLoader, settings: Any) -> Headers:
    cluster, user = loader._cluster, loader._user
    cluster.value, login = as_kubectl(cluster.value, user.value if user is not None else {})
    if user is not None:
        user.value = login
    loader.load_and_set(settings)
    return impersonation(login)  # the package does not read `as`


class _Merger(KubeConfigMerger):  # type: ignore[misc]  # the package has no types
    """The package's merger of files, which reads each file with `read_file`."""

    def load_config(self, path: str) -> None:
        config = self.config_files[path] = read_file(path)
        if self.config is None:
            self.config_merged: Any = ConfigNode(path, {**config, **{item: [] for item in _LISTS}}, path)
        for item in _LISTS:
            self._merge(item, config.get(item) or [], path)
        if config.get("current-context") and not self.config_merged.value.get("current-context"):
            self.config_merged.value["current-context"] = config["current-context"]
