"""Translates the Configuration of Kueue's manager for the reconciler, and reports each key that is left out or changed.

Source: Kueue v0.19 and v0.20, apis/config, and the flags of its manager.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from policies.configuration.kueue.defaults import KUEUES_FRAMEWORKS
from policies.configuration.kueue.gates import FeatureGates, KueueVersion, gates_of_flag
from policies.configuration.kueue.keys import KEYS, Use, idle_keys
from policies.configuration.kueue.reading import check_identity, read
from policies.configuration.kueue.values import KueueConfiguration
from policies.dialects.frameworks import FRAMEWORKS
from policies.dialects.reading import Manifest, mapping
from policies.model.errors import BadConfiguration
from policies.takeover.objects import options
from policies.text import yaml_values
from policies.text.positions import BadText

KEY = "controller_manager_config.yaml"
"""The key of Kueue's ConfigMap with the Configuration."""
_WHY = {key.path: key.why for key in KEYS if key.use is Use.IDLE}


@dataclass(frozen=True, slots=True)
class Translated:
    """The result.

    `manifest`: the Configuration for the reconciler.
    `read`: its values.
    `account`: a line for each key that is left out or changed.
    `digest`: identifies the configuration and the version of Kueue.
    `refusals`: why it cannot be translated. If there are any, the other fields are not set.
    """

    manifest: dict[str, Any] = field(default_factory=dict)
    read: KueueConfiguration | None = None
    account: tuple[str, ...] = ()
    digest: str = ""
    refusals: tuple[str, ...] = ()


def translate(
    written: str,
    manager: Manifest,
    kinds: Collection[str],
    groups: Collection[str],
    namespace: str,
    version: KueueVersion,
) -> Translated:
    """Translate a Configuration.

    `written`: the text of Kueue's Configuration.
    `manager`: the Deployment of Kueue's manager, whose flag `--feature-gates` counts as well.
    `kinds`: the frameworks that the reconciler runs.
    `groups`: the API groups that the cluster serves. A framework without its group can have no jobs.
    `namespace`: the namespace of Kueue's manager.
    `version`: the version of Kueue.
    """
    flags = options(manager, "--feature-gates", "manager")[-1:]  # the last one counts
    try:
        manifest, account = _parsed(written), list[str]()
        check_identity(manifest)
        idle = sorted(idle_keys(manifest))
        made = _without(manifest, idle)
        account += [f"{path} is left out: {_why(path)}" for path in idle]
        made.setdefault("namespace", namespace)
        if not (integrations := mapping(made.get("integrations"))).get("frameworks"):
            made["integrations"] = {**integrations, "frameworks": list(KUEUES_FRAMEWORKS)}
            account.append(f"integrations.frameworks is set to Kueue's default: {', '.join(KUEUES_FRAMEWORKS)}")
        made = {**made, **_gates(made, "".join(flags))}
        found = read(made, FeatureGates(version=version), namespace)
        refusals = list(_kinds(made, found, set(kinds), set(groups), account))
    except BadConfiguration as error:
        return Translated(refusals=(f"Kueue's Configuration: {error}",))
    lines = [written, *(f"--feature-gates={each}" for each in flags), version]
    digest = sha256("\n".join(lines).encode()).hexdigest()[:16]
    return Translated(made, found, tuple(account), digest, tuple(refusals))


def _parsed(written: str) -> dict[str, Any]:
    try:
        value = yaml_values.single(written)
    except BadText as error:
        raise BadConfiguration(f"it cannot be read: {error.message}") from error
    if not isinstance(value, Mapping):
        raise BadConfiguration("expected a mapping")
    return dict(value)


def _why(path: str) -> str:
    """The reason why a key is left out: its own, or that of the nearest key around it."""
    parts = path.split(".")
    known = (".".join(parts[:length]) for length in range(len(parts), 0, -1))
    return next((_WHY[key] for key in known if key in _WHY), "it has no effect in Quotree.")


def _without(section: Mapping[str, Any], paths: Collection[str], under: str = "") -> dict[str, Any]:
    """The section without these keys, and without sections that become empty."""
    kept: dict[str, Any] = {}
    for key, value in section.items():
        at = f"{under}.{key}" if under else key
        if at in paths:
            continue
        below = _without(value, paths, at) if isinstance(value, Mapping) else value
        if below or not isinstance(value, Mapping) or not value:
            kept[key] = below
    return kept


def _gates(manifest: Manifest, flag: str) -> dict[str, Any]:
    """The feature gates of the file or of the flag. As in Kueue, both together raise BadConfiguration."""
    chosen, gates = gates_of_flag(flag), mapping(manifest.get("featureGates"))
    if chosen and gates:
        raise BadConfiguration("they are set in the file and by --feature-gates", "featureGates")
    return {"featureGates": chosen or dict(gates)} if chosen or gates else {}


def _kinds(
    made: dict[str, Any], found: KueueConfiguration, kinds: set[str], groups: set[str], account: list[str]
) -> Iterator[str]:
    """Remove the frameworks that the cluster does not serve. Yields a refusal for each that the reconciler does not
    run."""
    named = found.integrations.frameworks
    kept = []
    for name in named:
        framework = FRAMEWORKS[name]
        kind = framework.kind
        if framework.by_pods or name in kinds:
            kept.append(name)
        elif kind.group in groups:
            yield (
                f"Kueue queues {kind.kind} ({name}), which the reconciler does not run: remove it from"
                " integrations.frameworks first"
            )
        else:
            account.append(f"integrations.frameworks {name} is left out: the cluster does not serve {kind.group}")
    if not kept:
        yield "Kueue's Configuration: the cluster serves no kind of integrations.frameworks; add batch/job"
    if kept != list(named):
        made["integrations"] = {**mapping(made.get("integrations")), "frameworks": kept}
