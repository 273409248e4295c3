"""The two ConfigMaps with YuniKorn's settings, and the queue tree that they define together.

A key in `yunikorn-configs` replaces the same key in `yunikorn-defaults`, and `binaryData` replaces `data`. The value of
a key that ends in `.gz` is unzipped, and the ending is dropped. The key of the tree is `<service.policyGroup>.yaml`,
by default `queues.yaml`.
"""

from __future__ import annotations

import base64
import gzip
import io
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from policies.dialects.core import CONFIG_MAP
from policies.dialects.go_values import FALSE, TRUE, read_duration
from policies.dialects.reading import Manifest, identity, mapping, metadata, text, texts
from policies.dialects.yunikorn_config import patterns
from policies.dialects.yunikorn_config.model import Config, Problem
from policies.dialects.yunikorn_config.reading import read_config
from policies.model import fields
from policies.model.forest import Forest
from policies.model.objects import KubeObject, Ref
from policies.model.suggestion import close

DEFAULTS = "yunikorn-defaults"
CONFIGS = "yunikorn-configs"
POLICY_GROUP = "service.policyGroup"

MAX_UNZIPPED = 8 * 2**20
"""The most bytes of all unzipped texts of a ConfigMap together. A tree of 10 000 queues has about 2 MiB."""

_TIME_SPANS = ("service.schedulingInterval", "service.volumeBindTimeout", "service.dispatchTimeout")
_FALLING_BACK = (
    "admissionController.filtering.generateUniqueAppId",
    "admissionController.accessControl.bypassAuth",
    "admissionController.accessControl.trustControllers",
)
PATTERNS = (
    "admissionController.filtering.processNamespaces",
    "admissionController.filtering.bypassNamespaces",
    "admissionController.filtering.labelNamespaces",
    "admissionController.filtering.noLabelNamespaces",
    "admissionController.accessControl.systemUsers",
    "admissionController.accessControl.externalUsers",
    "admissionController.accessControl.externalGroups",
)
HOT_REFRESH = "service.enableConfigHotRefresh"
QUEUES = "queues.yaml"
_KEYS = (QUEUES, "service.", "log.", "admissionController.", "kubernetes.", "health.")
"""The prefixes of the keys that YuniKorn reads in these ConfigMaps."""
_HASHED = re.compile(f"({CONFIGS}|{DEFAULTS})-[2456789bcdfghkmt]{{10}}").fullmatch
_NEAR = 0.88
"""The least similarity of a misspelt name, which is that of `yunikorn-configmap`."""
_SWITCHES = (HOT_REFRESH, "service.disableGangScheduling")
SETTINGS = frozenset((POLICY_GROUP, *_TIME_SPANS, *_SWITCHES, *_FALLING_BACK, *PATTERNS))
"""The keys that rules read, in addition to the key of the tree."""


@dataclass(frozen=True, slots=True)
class ConfigSetting:
    """The value of one key as YuniKorn reads it.

    `field`: the path of the value.
    `text`: None if the value cannot be read. Then `fault` says why.
    """

    field: str
    text: str | None
    fault: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueConfigMap(KubeObject):
    """One of the two ConfigMaps. `settings`: by key, unzipped."""

    settings: Mapping[str, ConfigSetting]


@dataclass(frozen=True, slots=True, kw_only=True)
class MisnamedConfigMap(KubeObject):
    """A ConfigMap with settings of YuniKorn, but with a misspelt name.

    `meant`: the right name. `hashed`: whether the name is the right one with the hash of a generator of kustomize.
    """

    meant: str
    hashed: bool = False


@dataclass(frozen=True, slots=True)
class ConfiguredQueues:
    """The queues.yaml that counts.

    `ref`, `key`: the ConfigMap and its key.
    `setting`: None if no ConfigMap has the key; YuniKorn then uses its built-in tree.
    """

    ref: Ref
    key: str
    setting: ConfigSetting | None

    @property
    def text(self) -> str | None:
        return self.setting.text if self.setting else None

    @property
    def config(self) -> Config:
        return read_config(self.text or "")


def read_config_map(manifest: Manifest) -> QueueConfigMap | None:
    if metadata(manifest).get("name") not in (DEFAULTS, CONFIGS):
        return None
    settings = {
        key: ConfigSetting(fields.join("data", key), text) for key, text in texts(mapping(manifest.get("data"))).items()
    }
    settings |= dict(_binary(texts(mapping(manifest.get("binaryData")))))
    return QueueConfigMap(ref=identity(manifest, CONFIG_MAP, namespaced=True), api_version="v1", settings=settings)


def read_misnamed(manifest: Manifest) -> MisnamedConfigMap | None:
    """The typed object of a ConfigMap with YuniKorn's keys and a misspelt name; None for other ConfigMaps."""
    keys = {**mapping(manifest.get("data")), **mapping(manifest.get("binaryData"))}
    if not any(isinstance(key, str) and key.startswith(_KEYS) for key in keys):
        return None
    name = text(metadata(manifest).get("name")) or ""
    hashed = _HASHED(name)
    meant = hashed[1] if hashed else close(name, (CONFIGS, DEFAULTS), _NEAR)
    ref = identity(manifest, CONFIG_MAP, namespaced=True)
    return MisnamedConfigMap(ref=ref, api_version="v1", meant=meant, hashed=bool(hashed)) if meant else None


def _binary(data: Mapping[str, str]) -> Iterator[tuple[str, ConfigSetting]]:
    left = MAX_UNZIPPED
    for key, encoded in sorted(data.items()):
        at = fields.join("binaryData", key)
        try:
            raw = base64.b64decode(encoded, validate=True)
            if key.endswith(".gz"):
                raw = _unzipped(raw, left)
                left -= len(raw)
            text = raw.decode()
        except (OSError, EOFError, ValueError, zlib.error) as error:  # OSError: not an archive
            yield key.removesuffix(".gz"), ConfigSetting(at, None, str(error))
        else:
            yield key.removesuffix(".gz"), ConfigSetting(at, text)


def _unzipped(raw: bytes, most: int) -> bytes:
    """Unzip all members of the archive, as Go does. Raises ValueError beyond `most` bytes, since a small archive could
    fill the memory.
    """
    if not raw:
        raise EOFError("the archive is empty")
    with gzip.GzipFile(fileobj=io.BytesIO(raw)) as archive:
        unzipped = archive.read(most + 1)
    if len(unzipped) > most:
        raise ValueError(f"the ConfigMap has more than {MAX_UNZIPPED // 2**20} MiB when unzipped")
    return unzipped


@lru_cache(maxsize=8)
def refs(namespace: str) -> tuple[Ref, ...]:
    """The two ConfigMaps of a namespace, in the order in which they are read."""
    return tuple(Ref(*CONFIG_MAP, namespace, name) for name in (DEFAULTS, CONFIGS))


def merged(forest: Forest, namespace: str) -> dict[str, tuple[Ref, ConfigSetting]]:
    """The settings that count, by key, each with its ConfigMap."""
    settings: dict[str, tuple[Ref, ConfigSetting]] = {}
    for ref in refs(namespace):
        obj = forest.get(ref)
        if isinstance(obj, QueueConfigMap):
            settings |= {key: (ref, setting) for key, setting in obj.settings.items()}
    return settings


def tree(forest: Forest, namespace: str) -> ConfiguredQueues:
    """The queues.yaml that the two ConfigMaps of the namespace define, if the forest has them."""
    settings = merged(forest, namespace)
    group = settings.get(POLICY_GROUP)
    key = f"{(group[1].text if group else '') or 'queues'}.yaml"
    ref, setting = settings.get(key, (Ref(*CONFIG_MAP, namespace, CONFIGS), None))
    return ConfiguredQueues(ref, key, setting)


def count_queues(objects: Iterable[KubeObject]) -> int:
    """The number of queues that the ConfigMaps among the objects define, without the roots of partitions."""
    held = Forest.of(obj for obj in objects if isinstance(obj, QueueConfigMap))
    namespaces = sorted({obj.ref.namespace for obj in held.objects()})
    partitions = (each for namespace in namespaces for each in tree(held, namespace).config.partitions)
    return sum(sum(1 for _ in each.root.walk()) - 1 for each in partitions if each.root is not None)


def unreadable_settings(config_map: QueueConfigMap) -> Iterator[Problem]:
    """Values of `service.*` keys that make the shim refuse the whole ConfigMap, with only a log entry."""
    outcome = "the shim would refuse the whole ConfigMap, with only a log entry"
    for key, setting in config_map.settings.items():
        text = setting.text or ""
        if key in _TIME_SPANS and read_duration(text) is None:
            message = f"{key} is {text!r}, which is not a duration; {outcome}"
            yield Problem(setting.field, 0, message, "write a duration such as 1s or 15m", accepted=True)
        elif key in _SWITCHES and text not in TRUE | FALSE:
            message = f"{key} is {text!r}, which is neither true nor false; {outcome}"
            yield Problem(setting.field, 0, message, "write true or false", accepted=True)


def settings_that_fall_back(config_map: QueueConfigMap) -> Iterator[Problem]:
    """Values that the admission controller cannot read. It uses the defaults of these keys."""
    for key in _FALLING_BACK:
        setting = config_map.settings.get(key)
        if setting is not None and setting.text not in TRUE | FALSE:
            message = f"{key} is {setting.text!r}, which is neither true nor false: its default applies"
            yield Problem(setting.field, 0, message, "write true or false", accepted=True)
    for key in PATTERNS:
        setting = config_map.settings.get(key)
        for pattern in (setting.text or "").split(",") if setting else ():
            if setting and not patterns.compiles(pattern.strip()):
                message = (
                    f"{key} has {pattern.strip()!r}, not a regular expression: the default of the whole key applies"
                )
                fix = "write patterns that Go compiles; a comma always separates two patterns"
                yield Problem(setting.field, 0, message, fix, pattern.strip(), accepted=True)


def settings_that_need_a_restart(before: QueueConfigMap | None, after: QueueConfigMap) -> Iterator[Problem]:
    """Changes that the running scheduler does not apply, and the switch that keeps it from applying any change."""
    old, new = (config_map.settings.get(POLICY_GROUP) if config_map else None for config_map in (before, after))
    if before is not None and (old.text if old else None) != (new.text if new else None):
        shown = [setting.text if setting else "queues" for setting in (old, new)]
        at = fields.join("data", POLICY_GROUP)
        message = f"the policy group changes from {shown[0]} to {shown[1]}; the running scheduler keeps the old one"
        yield Problem(at, 0, message, "restart the scheduler after the change", accepted=True)
    switch = after.settings.get(HOT_REFRESH)
    if switch is not None and switch.text in TRUE | FALSE and switch.text[:1] in "0fF":
        message = f"{HOT_REFRESH} is {switch.text}: the scheduler then applies no change until it is restarted"
        yield Problem(switch.field, 0, message, "restart the scheduler after each change", accepted=True)
