"""Adds Quotree's scheduling gate, at which Pods wait for the quota of YuniKorn or Volcano. A gate can only be added
when a Pod is created."""

from __future__ import annotations

from policies.configuration.settings import Configuration, Enforce, YuniKornSettings
from policies.dialects import volcano_gates, yunikorn_gates
from policies.dialects.core import namespace_in, read_namespace
from policies.dialects.quota_gates import ADMITTED, QUOTA_KEY, WAITS, is_gated, project_of
from policies.dialects.reading import Manifest, listing, mapping, metadata, text, texts
from policies.dialects.volcano_gates import TOGETHER, group_of
from policies.dialects.yunikorn import as_read
from policies.dialects.yunikorn_gates import has_quota
from policies.model.forest import Forest
from policies.mutation.patching import Patch, added, removed

_NOTES = (ADMITTED, WAITS, TOGETHER)


def quota_gate(manifest: Manifest, forest: Forest, configuration: Configuration, *, demanded: bool = False) -> Patch:
    """Add the gate and label of a Pod that waits for quota. `demanded`: all Pods of its Namespace wait for Volcano's.

    Annotations that say that the Pod was admitted are removed.
    """
    meta, spec = manifest.get("metadata"), manifest.get("spec")
    if not isinstance(meta, dict) or not isinstance(spec, dict):
        return []
    project = _project(manifest, forest, configuration, demanded=demanded)
    if not project:
        return []
    patch: Patch = []
    if project_of(manifest) != project:
        patch.append(added({**texts(meta.get("labels")), QUOTA_KEY: project}, "metadata", "labels"))
    if not is_gated(manifest):
        patch.append(added([*listing(spec.get("schedulingGates")), {"name": QUOTA_KEY}], "spec", "schedulingGates"))
    notes = texts(meta.get("annotations"))
    return [*patch, *(removed("metadata", "annotations", key) for key in _NOTES if key in notes)]


def quota_label(manifest: Manifest, settings: YuniKornSettings) -> Patch:
    """Add the label to a Namespace with YuniKorn's quota, or remove it. By this label the API server selects the Pods
    that get a gate.

    Without YuniKorn's quota, Volcano's label stays, since an administrator has set it.
    """
    if settings.enforce is not Enforce.GATES:
        return []
    project = yunikorn_gates.YUNIKORN
    wanted = has_quota(as_read(read_namespace(manifest), settings.version))
    labels = mapping(metadata(manifest).get("labels"))
    if wanted and labels.get(QUOTA_KEY) != project:
        return [added({**labels, QUOTA_KEY: project}, "metadata", "labels")]
    if not wanted and labels.get(QUOTA_KEY, volcano_gates.VOLCANO) != volcano_gates.VOLCANO:
        return [removed("metadata", "labels", QUOTA_KEY)]
    return []


def _project(manifest: Manifest, forest: Forest, configuration: Configuration, *, demanded: bool) -> str:
    """The project whose quota the Pod waits for; empty if it does not wait.

    YuniKorn's Namespaces are checked first, since a PodGroup could otherwise evade their quota. An unknown Namespace
    may have quota, so it counts.
    """
    yunikorn, volcano = (each.enforce is Enforce.GATES for each in (configuration.yunikorn, configuration.volcano))
    project = project_of(manifest)
    namespace = namespace_in(forest, text(metadata(manifest).get("namespace")) or "default")
    if yunikorn and namespace is not None and has_quota(as_read(namespace, configuration.yunikorn.version)):
        return yunikorn_gates.YUNIKORN
    demanded = demanded or (namespace is not None and namespace.labels.get(QUOTA_KEY) == volcano_gates.VOLCANO)
    if volcano and (demanded or project == volcano_gates.VOLCANO or group_of(manifest)):
        return volcano_gates.VOLCANO
    return yunikorn_gates.YUNIKORN if yunikorn and (namespace is None or project == yunikorn_gates.YUNIKORN) else ""
