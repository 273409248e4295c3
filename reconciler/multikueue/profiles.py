"""ClusterProfiles (multicluster.x-k8s.io): workers that an inventory of clusters describes.

A profile names providers of credentials. The administrator assigns a program to each provider in Kueue's Configuration.
The profile itself cannot name a program. The programs must be in the manager's image, which does not include any.
Source: Kueue v0.19, pkg/controller/admissionchecks/multikueue; the Cluster Inventory API, KEP-5339.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from cluster.resource import Resource
from policies.dialects.reading import Manifest, listing, mapping, text
from reconciler.multikueue.kubeconfigs import AllowedSources, RefusedKubeconfig, WorkerLogin, read_login

CLUSTER_PROFILES = Resource("multicluster.x-k8s.io", "v1alpha1", "clusterprofiles", namespaced=True)
_DISABLED = "MultiKueueClusterProfileFeatureDisabled"
_BAD, _BAD_REST = "BadClusterProfile", "BadRestConfig"
_CLUSTER_KEYS = ("server", "certificate-authority-data", "tls-server-name", "proxy-url", "insecure-skip-tls-verify")


def disabled() -> RefusedKubeconfig:
    return RefusedKubeconfig(_DISABLED, "MultiKueueClusterProfile feature gate is disabled")


def read_profile(
    name: str, profile: Manifest | None, providers: Mapping[str, Mapping[str, Any]], allowed: AllowedSources
) -> WorkerLogin | RefusedKubeconfig:
    """Read the kubeconfig of a worker from a profile.

    `profile`: None if it does not exist.
    `providers`: the program of each provider, in the form of `exec` in a kubeconfig.
    """
    if profile is None:
        return RefusedKubeconfig(_BAD, f'ClusterProfile.multicluster.x-k8s.io "{name}" not found', absent=True)
    if not providers:
        return RefusedKubeconfig(_BAD, "no access provider configured")
    for provider in _providers(profile):
        program = providers.get(text(provider.get("name")) or "")
        if program is not None:
            return _login(mapping(provider.get("cluster")), program, allowed)
    named = ", ".join(sorted(text(each.get("name")) or "" for each in _providers(profile))) or "none"
    known = ", ".join(sorted(providers))
    return RefusedKubeconfig(
        _BAD, f"no provider of credentials for it: the profile names {named}, the configuration {known}"
    )


def _providers(profile: Manifest) -> Iterator[Mapping[str, Any]]:
    """The providers of the profile: first from the present name of the field, then from its former name."""
    status = mapping(profile.get("status"))
    for key in ("accessProviders", "credentialProviders"):
        yield from map(mapping, listing(status.get(key)))


def _login(
    cluster: Mapping[str, Any], program: Mapping[str, Any], allowed: AllowedSources
) -> WorkerLogin | RefusedKubeconfig:
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "profile",
        "contexts": [{"name": "profile", "context": {"cluster": "profile", "user": "profile"}}],
        "clusters": [{"name": "profile", "cluster": {key: cluster[key] for key in _CLUSTER_KEYS if key in cluster}}],
        "users": [{"name": "profile", "user": {"exec": dict(program)}}],
    }
    login = read_login(json.dumps(config), allowed, allow_exec=True)
    return RefusedKubeconfig(_BAD_REST, login.message) if isinstance(login, RefusedKubeconfig) else login
