"""YuniKorn's annotations on Namespaces and its labels and annotations on Pods, read as YuniKorn reads them.

YuniKorn refuses nothing: an annotation that it cannot read is logged and then counts as "no quota". `quota` and
`guaranteed` give exactly its answers; `yunikorn_flaws` lists what it silently ignores.
Source: YuniKorn 1.9, k8shim `pkg/common/utils`, `pkg/common/resource.go`; core `pkg/common/resources`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, TypeAlias

from policies.dialects.core import APP_ID, YUNIKORN, Namespace, Pod
from policies.dialects.reading import mapping
from policies.model import fields
from policies.model.quantity import INT64_MAX, BadQuantity, Quantity
from policies.text.json_members import scan

QUOTA = YUNIKORN + "namespace.quota"
GUARANTEED = YUNIKORN + "namespace.guaranteed"
MAX_CPU = YUNIKORN + "namespace.max.cpu"
MAX_MEMORY = YUNIKORN + "namespace.max.memory"
MAX_APPS = YUNIKORN + "namespace.maxApps"
PARENT_QUEUE = YUNIKORN + "parentqueue"
ENABLE = YUNIKORN + "namespace.enableYuniKorn"
GENERATE_APP_ID = YUNIKORN + "namespace.generateAppId"
QUOTA_KEYS = (QUOTA, GUARANTEED, MAX_CPU, MAX_MEMORY, MAX_APPS, PARENT_QUEUE)
"""Each of them gives the namespace a queue with a quota, or says below which queue it is."""
NAMESPACE_KEYS = (*QUOTA_KEYS, ENABLE, GENERATE_APP_ID)
LEGACY: Mapping[str, str] = {MAX_CPU: "cpu", MAX_MEMORY: "memory"}

QUEUE = YUNIKORN + "queue"
USER_INFO = YUNIKORN + "user.info"
SCHEDULER = "yunikorn"
NOBODY = "nobody"

VCORE = "vcore"

Resource: TypeAlias = dict[str, int]
"""YuniKorn's own amounts: `vcore` in thousandths, memory in bytes, every other type in whole units."""


def reads_legacy(version: tuple[int, int]) -> bool:
    """Whether this YuniKorn still reads namespace.max.cpu and namespace.max.memory."""
    return version < (2, 0)


def short(annotation: str) -> str:
    """The key without the prefix, for messages."""
    return annotation.removeprefix(YUNIKORN)


def field(annotation: str) -> str:
    return fields.join("metadata.annotations", annotation)


def label_field(label: str) -> str:
    return fields.join("metadata.labels", label)


def pointer(annotation: str) -> str:
    return fields.pointer("metadata", "annotations", annotation)


# -- amounts -----------------------------------------------------------------------------------------------------------


def type_of(resource: str) -> str:
    """YuniKorn's name for a Kubernetes resource. Only this exact spelling of `cpu` is translated."""
    return VCORE if resource == "cpu" else resource


def amount(resource: str, quantity: Quantity) -> int:
    """The quantity in YuniKorn's units, rounded up; it may exceed int64."""
    return quantity.milli() if resource == "cpu" else quantity.units()


def readable_amounts(values: object) -> Resource:
    """The quantities of a resource list in YuniKorn's units; one that is not a quantity is left out."""
    found: Resource = {}
    for name, value in mapping(values).items():
        try:
            found[type_of(name)] = amount(name, Quantity.parse(value))
        except BadQuantity:
            continue
    return found


def fits(number: int) -> bool:
    return -INT64_MAX - 1 <= number <= INT64_MAX


def resource(texts: Mapping[str, str]) -> Resource | None:
    """Kubernetes quantities by resource name, as the shim reads them; None where one of them is not a quantity.

    An amount beyond int64 is undefined there and counts as unreadable here. Where both `cpu` and `vcore` are named,
    chance decides in YuniKorn; here `cpu` wins.
    """
    amounts: Resource = {}
    for name in _cpu_last(texts):
        try:
            number = amount(name, Quantity.parse(texts[name]))
        except BadQuantity:
            return None
        if not fits(number):
            return None
        amounts[type_of(name)] = number
    return amounts


def written(texts: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """The resource and its quantity as the user wrote them, by YuniKorn's type."""
    return {type_of(name): (name, texts[name]) for name in _cpu_last(texts)}


def _cpu_last(texts: Mapping[str, str]) -> list[str]:
    return sorted(texts, key=lambda name: name == "cpu")


def effective(amounts: Resource | None) -> Resource | None:
    """The amounts that the scheduler core uses: None unless none is negative and one is above zero."""
    if amounts is None or min(amounts.values(), default=0) < 0 or max(amounts.values(), default=0) <= 0:
        return None
    return amounts


CONF_FORM = "write a whole number and a suffix, as in 4, 500m or 64Gi"
_CONF_QUANTITY = re.compile(r"([0-9]+)[ \t\n\f\r]*([A-Za-z]*)").fullmatch
_CONF_SUFFIXES = {"": 1} | {suffix: 1000**power for power, suffix in enumerate("kMGTPE", 1)}
_CONF_SUFFIXES |= {suffix + "i": 1024**power for power, suffix in enumerate("KMGTPE", 1)}


def conf_quantity(resource: str, text: str) -> int:
    """An amount of queues.yaml in YuniKorn's units: a whole number and a suffix; `m` only for `vcore`.

    Raises BadQuantity, for signs, fractions and amounts beyond int64 too.
    """
    match = _CONF_QUANTITY(text.strip())
    if match is None:
        raise BadQuantity(f"{text!r} is not an amount of queues.yaml: {CONF_FORM}")
    number, suffix = match.groups()
    if resource == VCORE and suffix == "m":
        factor = 1
    elif suffix in _CONF_SUFFIXES:
        factor = _CONF_SUFFIXES[suffix] * (1000 if resource == VCORE else 1)
    else:
        hint = ", m is only for vcore" if suffix == "m" else ""
        raise BadQuantity(f"{text!r} is not an amount of queues.yaml: the suffix {suffix!r} is unknown{hint}")
    if len(number.lstrip("0")) > 19 or int(number[-19:]) * factor > INT64_MAX:
        raise BadQuantity(f"{text!r} is too large: YuniKorn counts {resource} up to {INT64_MAX}")
    return int(number[-19:]) * factor


# -- the Namespace, as YuniKorn reads it -------------------------------------------------------------------------------


def strings(text: str) -> dict[str, str] | None:
    """A JSON object of strings as Go reads it; None where it is not one.

    The last of equal keys wins, null for a value is an empty text, and null for the object is an empty object.
    """
    found = scan(text)
    if found.kind == "null" and text.strip(" \t\n\r") == "null":
        return {}
    if found.error or any(member.kind not in ("text", "null") for member in found.members):
        return None
    return {member.key: member.value or "" for member in found.members}


def quota_texts(namespace: Namespace, legacy: bool = True) -> dict[str, str] | None:
    """The quantities by resource name that are the quota, as written; None where there is none or it cannot be read.

    Once namespace.quota is there it decides alone, even where it cannot be read; an empty text counts as absent.
    """
    notes = namespace.annotations
    if notes.get(QUOTA):
        return strings(notes[QUOTA])
    return (legacy_texts(namespace) or None) if legacy else None


def legacy_texts(namespace: Namespace) -> dict[str, str]:
    """What the legacy pair says, by resource name; an empty text counts as absent."""
    return {name: namespace.annotations[key] for key, name in LEGACY.items() if namespace.annotations.get(key)}


def guaranteed_texts(namespace: Namespace) -> dict[str, str] | None:
    text = namespace.annotations.get(GUARANTEED)
    return strings(text) if text else None


def read_quota(namespace: Namespace, legacy: bool = True) -> Resource | None:
    """What the shim reads; negative and all-zero amounts are still in it."""
    texts = quota_texts(namespace, legacy)
    return None if texts is None else resource(texts)


def read_guaranteed(namespace: Namespace) -> Resource | None:
    texts = guaranteed_texts(namespace)
    return None if texts is None else resource(texts)


def read_max_apps(namespace: Namespace) -> str:
    """The text that the shim hands over; empty where it is not a number of 0 or more."""
    text = namespace.annotations.get(MAX_APPS, "")
    return text if is_count(text) else ""


def is_count(text: str) -> bool:
    """Whether the shim reads the text as a number of 0 or more: digits, with a sign if need be, within int64."""
    return re.fullmatch(r"[+-]?[0-9]+", text) is not None and 0 <= _integer(text) <= INT64_MAX


def quota(namespace: Namespace, legacy: bool = True) -> Resource | None:
    """The quota that YuniKorn enforces; None means no limit (a live queue keeps its earlier one)."""
    return effective(read_quota(namespace, legacy))


def guaranteed(namespace: Namespace) -> Resource | None:
    return effective(read_guaranteed(namespace))


def core_max_apps(text: str) -> int:
    """The core's reading of the tag: only digits, up to 64 bits; 0 for everything else."""
    number = _integer(text) if re.fullmatch(r"[0-9]+", text) else 0
    return number if number < 2**64 else 0


def parent_queue(namespace: Namespace) -> str | None:
    """The queue below which placement rules may put the namespace's own; never validated by YuniKorn."""
    return namespace.annotations.get(PARENT_QUEUE) or None


def enabled(namespace: Namespace) -> bool | None:
    """Whether the admission controller processes pods here; None leaves it to its lists of namespaces."""
    return _flag(namespace, ENABLE)


def generates_app_id(namespace: Namespace) -> bool | None:
    return _flag(namespace, GENERATE_APP_ID)


def _flag(namespace: Namespace, key: str) -> bool | None:
    text = namespace.annotations.get(key)
    return None if text is None else text == "true"


def application_tags(namespace: Namespace) -> dict[str, str]:
    """The tags that the shim gives an application of this namespace, once, when it first sees the application."""
    tags = {
        "namespace.resourcequota": _resource_tag(read_quota(namespace)),
        "namespace.resourceguaranteed": _resource_tag(read_guaranteed(namespace)),
        "namespace.resourcemaxapps": read_max_apps(namespace),
        "namespace.parentqueue": parent_queue(namespace) or "",
    }
    return {name: text for name, text in tags.items() if text}


def _resource_tag(amounts: Resource | None) -> str:
    """Amounts that are all zero give no tag; in the JSON a zero has no value."""
    if not amounts or not any(amounts.values()):
        return ""
    return _json({"resources": {name: {"value": number} if number else {} for name, number in amounts.items()}})


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _integer(text: str) -> int:
    """The number, cut where it is beyond 64 bits anyway; Python takes at most 4300 digits at a time."""
    sign, digits = ("-", text[1:]) if text[:1] == "-" else ("", text.lstrip("+"))
    return int(sign + (digits.lstrip("0")[:30] or "0"))


# -- the legacy pair in today's form -----------------------------------------------------------------------------------


def translated(namespace: Namespace) -> list[dict[str, Any]]:
    """JSON Patch that turns the legacy pair into namespace.quota and removes it; to YuniKorn 1.x the same quota.

    Empty where there is nothing to translate, where one of the pair is not an amount of 0 or more, and where
    namespace.quota is set.
    """
    value = None if namespace.annotations.get(QUOTA) else translation(namespace)
    if value is None:
        return []
    return [{"op": "add", "path": pointer(QUOTA), "value": value}, *removed(namespace)]


def removed(namespace: Namespace) -> list[dict[str, Any]]:
    """JSON Patch that removes the legacy pair."""
    return [{"op": "remove", "path": pointer(key)} for key in LEGACY if key in namespace.annotations]


def translation(namespace: Namespace) -> str | None:
    """The legacy pair as the text of namespace.quota, amounts as written; None where there is no valid one."""
    texts = legacy_texts(namespace)
    amounts = resource(texts)
    if not amounts or min(amounts.values()) < 0:
        return None
    return _json(texts)


# -- the Pod -----------------------------------------------------------------------------------------------------------


def application_id(pod: Pod, *, unique: bool = False, uid: str = "") -> str:
    """The application that the pod belongs to; empty for pods of other schedulers.

    `unique` is the setting `generateUniqueAppId`.
    """
    if pod.scheduler_name != SCHEDULER:
        return ""
    labels = pod.labels
    found = (
        labels.get(APP_ID)
        or pod.annotations.get(APP_ID)
        or labels.get("applicationId")
        or labels.get("spark-app-selector")
        or ""
    )
    if found.endswith("-uniqueautogen"):
        return f"{found.removesuffix('-uniqueautogen')}-{uid}"
    return found or generated_application_id(pod.ref.namespace, unique=unique, uid=uid)


def generated_application_id(namespace: str, *, unique: bool = False, uid: str = "") -> str:
    """The generated application id, of at most 63 characters, as for a label value.

    Before the pod has a uid, a unique id ends in a mark, which the shim replaces by the uid later.
    """
    if not unique:
        return f"yunikorn-{namespace}-autogen"[:63]
    return f"{namespace[:26]}-{uid or 'uniqueautogen'}"[:63]


def queue_of(pod: Pod) -> str | None:
    """The queue that the pod requests; None leaves it to the placement rules."""
    return pod.yunikorn_queue


def user_of(pod: Pod) -> tuple[str, list[str] | None]:
    """The user and the groups that the admission controller wrote; `nobody` where it wrote none that can be read."""
    user, groups = read_user_info(pod.annotations.get(USER_INFO, "")) or ("", None)
    return user or NOBODY, groups


def read_user_info(text: str) -> tuple[str, list[str] | None] | None:
    """The user and the groups that the annotation names; None where it cannot be read."""
    if text.strip(" \t\n\r") == "null":
        return "", None
    found = scan(text)
    if found.error:
        return None
    values = {member.key.casefold(): member.value for member in found.members}  # Go matches names of fields in any case
    user, groups = values.get("user"), values.get("groups")
    if not isinstance(user, str | None) or not isinstance(groups, list | None):
        return None
    if not all(isinstance(group, str | None) for group in groups or ()):
        return None
    return user or "", None if groups is None else [group or "" for group in groups]
