"""YuniKorn's annotations on Namespaces and its labels and annotations on Pods, read as YuniKorn reads them.

YuniKorn refuses nothing. It logs an annotation that it cannot read, and continues without quota. `quota` and
`guaranteed` return the same as YuniKorn; `yunikorn_flaws` lists the faults that YuniKorn ignores.
Source: YuniKorn 1.9, k8shim `pkg/common/utils`, `pkg/common/resource.go`; core `pkg/common/resources`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from policies.dialects.core import UNFINISHED, YUNIKORN, Namespace, Pod
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
"""The annotations that give the queue of a Namespace a quota or a parent."""
NAMESPACE_KEYS = (*QUOTA_KEYS, ENABLE, GENERATE_APP_ID)
LEGACY: Mapping[str, str] = {MAX_CPU: "cpu", MAX_MEMORY: "memory"}

QUEUE = YUNIKORN + "queue"
USER_INFO = YUNIKORN + "user.info"
SCHEDULER = "yunikorn"
NOBODY = "nobody"

VCORE = "vcore"

Resource: TypeAlias = dict[str, int]
"""Amounts in YuniKorn's units: `vcore` in thousandths, memory in bytes, all others in whole units."""


PRESENT = (1, 9)
"""The newest version of YuniKorn that is known here."""


def reads_legacy(version: tuple[int, int]) -> bool:
    """Whether this YuniKorn still reads namespace.max.cpu and namespace.max.memory."""
    return version < (2, 0)


def as_read(namespace: Namespace, version: tuple[int, int]) -> Namespace:
    """The Namespace without the annotations that this YuniKorn no longer reads."""
    if reads_legacy(version) or not any(key in namespace.annotations for key in LEGACY):
        return namespace
    return replace(namespace, annotations={k: v for k, v in namespace.annotations.items() if k not in LEGACY})


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
    """The quantities of a resource list in YuniKorn's units. Values that are not quantities are left out."""
    return {
        type_of(name): amount(name, quantity)
        for name, value in mapping(values).items()
        if (quantity := Quantity.read(value))
    }


def fits(number: int) -> bool:
    return -INT64_MAX - 1 <= number <= INT64_MAX


def resource(texts: Mapping[str, str]) -> Resource | None:
    """Read Kubernetes quantities by resource name as the shim does. None if one of them is not a quantity.

    An amount beyond int64 has an undefined effect in YuniKorn, and counts as unreadable here. If `cpu` and `vcore` are
    both present, it is undefined which one YuniKorn uses; here it is `cpu`.
    """
    amounts: Resource = {}
    for name in _cpu_last(texts):
        quantity = Quantity.read(texts[name])
        if quantity is None or not fits(number := amount(name, quantity)):
            return None
        amounts[type_of(name)] = number
    return amounts


def written_amounts(texts: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """The name and the quantity as the user wrote them, by YuniKorn's name of the resource."""
    return {type_of(name): (name, texts[name]) for name in _cpu_last(texts)}


def _cpu_last(texts: Mapping[str, str]) -> list[str]:
    return sorted(texts, key=lambda name: name == "cpu")


def quota_key(namespace: Namespace, resource: str) -> str:
    """The annotation with the quota of the resource. The legacy ones count only if namespace.quota is absent."""
    if namespace.annotations.get(QUOTA):
        return QUOTA
    return next(key for key, name in LEGACY.items() if type_of(name) == type_of(resource))


def effective(amounts: Resource | None) -> Resource | None:
    """The amounts as the scheduler core uses them: None if one is negative, or none is above zero."""
    if amounts is None or min(amounts.values(), default=0) < 0 or max(amounts.values(), default=0) <= 0:
        return None
    return amounts


CONF_FORM = "write a whole number and a suffix, as in 4, 500m or 64Gi"
_CONF_QUANTITY = re.compile(r"([0-9]+)[ \t\n\f\r]*([A-Za-z]*)").fullmatch
_CONF_SUFFIXES = {"": 1} | {suffix: 1000**power for power, suffix in enumerate("kMGTPE", 1)}
_CONF_SUFFIXES |= {suffix + "i": 1024**power for power, suffix in enumerate("KMGTPE", 1)}


def conf_quantity(resource: str, text: str) -> int:
    """Read an amount of queues.yaml: a whole number and a suffix. The suffix `m` is only for `vcore`.

    The result is in YuniKorn's units. Raises BadQuantity, also for signs, fractions and amounts beyond int64.
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


# -- Namespaces --------------------------------------------------------------------------------------------------------


def strings(text: str) -> dict[str, str] | None:
    """Read a JSON object of strings as Go does. None if the text is not such an object.

    The last of equal keys wins, null for a value is an empty text, and null for the object is an empty object.
    """
    found = scan(text)
    if found.kind == "null" and text.strip(" \t\n\r") == "null":
        return {}
    if found.error or any(member.kind not in ("text", "null") for member in found.members):
        return None
    return {member.key: member.value or "" for member in found.members}


def quota_texts(namespace: Namespace) -> dict[str, str] | None:
    """The quota as texts by resource name; None if there is none, or it cannot be read.

    If namespace.quota is set, it alone counts, even if it cannot be read. An empty text counts as absent.
    """
    notes = namespace.annotations
    if notes.get(QUOTA):
        return strings(notes[QUOTA])
    return legacy_texts(namespace) or None


def legacy_texts(namespace: Namespace) -> dict[str, str]:
    """The quota of the two legacy annotations as texts by resource name. An empty text counts as absent."""
    return {name: namespace.annotations[key] for key, name in LEGACY.items() if namespace.annotations.get(key)}


def guaranteed_texts(namespace: Namespace) -> dict[str, str] | None:
    text = namespace.annotations.get(GUARANTEED)
    return strings(text) if text else None


def read_quota(namespace: Namespace) -> Resource | None:
    """The quota as the shim reads it, which does not reject negative amounts or zeros."""
    texts = quota_texts(namespace)
    return None if texts is None else resource(texts)


def read_guaranteed(namespace: Namespace) -> Resource | None:
    texts = guaranteed_texts(namespace)
    return None if texts is None else resource(texts)


def read_max_apps(namespace: Namespace) -> str:
    """The maximum of applications as the shim passes it to the core; empty if it is not a number of 0 or more."""
    text = namespace.annotations.get(MAX_APPS, "")
    return text if is_count(text) else ""


def is_count(text: str) -> bool:
    """Whether the shim reads the text as a number of 0 or more: digits with an optional sign, within int64."""
    return re.fullmatch(r"[+-]?[0-9]+", text) is not None and 0 <= _integer(text) <= INT64_MAX


def quota(namespace: Namespace) -> Resource | None:
    """The quota that YuniKorn enforces. None means no limit, but an existing queue keeps its earlier quota."""
    return effective(read_quota(namespace))


def guaranteed(namespace: Namespace) -> Resource | None:
    return effective(read_guaranteed(namespace))


def core_max_apps(text: str) -> int:
    """The maximum of applications as the core reads it from the tag: only digits, up to 64 bits, else 0."""
    number = _integer(text) if re.fullmatch(r"[0-9]+", text) else 0
    return number if number < 2**64 else 0


def parent_queue(namespace: Namespace) -> str | None:
    """The queue that placement rules may use as the parent of the Namespace's queue. YuniKorn does not validate it."""
    return namespace.annotations.get(PARENT_QUEUE) or None


def parent_path(namespace: Namespace) -> str:
    """The path of that queue; empty for none. YuniKorn replaces the dots of a name that does not begin with `root.`."""
    name = parent_queue(namespace) or ""
    return name if not name or name.startswith("root.") else f"root.{name.replace('.', '_dot_')}"


def enabled(namespace: Namespace) -> bool | None:
    """Whether the admission controller processes the Pods of the Namespace. None: its lists of namespaces decide."""
    return _flag(namespace, ENABLE)


def generates_app_id(namespace: Namespace) -> bool | None:
    return _flag(namespace, GENERATE_APP_ID)


def _flag(namespace: Namespace, key: str) -> bool | None:
    text = namespace.annotations.get(key)
    return None if text is None else text == "true"


def application_tags(namespace: Namespace) -> dict[str, str]:
    """The tags that the shim gives an application of this Namespace when it first sees the application."""
    tags = {
        "namespace.resourcequota": _resource_tag(read_quota(namespace)),
        "namespace.resourceguaranteed": _resource_tag(read_guaranteed(namespace)),
        "namespace.resourcemaxapps": read_max_apps(namespace),
        "namespace.parentqueue": parent_queue(namespace) or "",
    }
    return {name: text for name, text in tags.items() if text}


def _resource_tag(amounts: Resource | None) -> str:
    """The tag for amounts as JSON; empty if all amounts are zero. A zero is an object without a value."""
    if not amounts or not any(amounts.values()):
        return ""
    return _json({"resources": {name: {"value": number} if number else {} for name, number in amounts.items()}})


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _integer(text: str) -> int:
    """The number. Digits beyond 64 bits are cut, since Python refuses to convert more than 4300 digits."""
    sign, digits = ("-", text[1:]) if text[:1] == "-" else ("", text.lstrip("+"))
    return int(sign + (digits.lstrip("0")[:30] or "0"))


# -- translation of the legacy annotations -----------------------------------------------------------------------------


def translated(namespace: Namespace) -> list[dict[str, Any]]:
    """A JSON Patch that replaces the legacy annotations by namespace.quota, with the same quota for YuniKorn 1.x.

    Empty if there are none, if one is not an amount of 0 or more, or if namespace.quota is set.
    """
    value = None if namespace.annotations.get(QUOTA) else translation(namespace)
    if value is None:
        return []
    return [{"op": "add", "path": pointer(QUOTA), "value": value}, *removed(namespace)]


def removed(namespace: Namespace) -> list[dict[str, Any]]:
    """A JSON Patch that removes the legacy annotations."""
    return [{"op": "remove", "path": pointer(key)} for key in LEGACY if key in namespace.annotations]


def translation(namespace: Namespace) -> str | None:
    """The text of namespace.quota for the legacy annotations, with amounts as written; None if they are not valid."""
    texts = legacy_texts(namespace)
    amounts = resource(texts)
    if not amounts or min(amounts.values()) < 0:
        return None
    return _json(texts)


# -- Pods --------------------------------------------------------------------------------------------------------------


def application_id(pod: Pod, *, unique: bool = False, uid: str = "") -> str:
    """The id of the application that the Pod belongs to; empty for Pods of other schedulers.

    `unique`: the setting `generateUniqueAppId`.
    `uid`: the uid of the Pod; empty before it is stored.
    """
    if pod.scheduler_name != SCHEDULER:
        return ""
    found = pod.application_id
    if found.endswith(UNFINISHED):
        return f"{found.removesuffix(UNFINISHED)}-{uid}"
    return found or generated_application_id(pod.ref.namespace, unique=unique, uid=uid)


def generated_application_id(namespace: str, *, unique: bool = False, uid: str = "") -> str:
    """The generated application id, cut to 63 characters, which is the limit of a label value.

    Without a `uid`, a unique id ends in `uniqueautogen`, which the shim replaces by the uid later.
    """
    if not unique:
        return f"yunikorn-{namespace}-autogen"[:63]
    return f"{namespace[:26]}-{uid or 'uniqueautogen'}"[:63]


def user_of(pod: Pod) -> tuple[str, list[str] | None]:
    """The user and groups that the admission controller wrote; `nobody` if the annotation is missing or unreadable."""
    user, groups = read_user_info(pod.annotations.get(USER_INFO, "")) or ("", None)
    return user or NOBODY, groups


def read_user_info(text: str) -> tuple[str, list[str] | None] | None:
    """The user and groups; None if the text is not such an object. A wrong type counts even if its key comes again."""
    if text.strip(" \t\n\r") == "null":
        return "", None
    found = scan(text)
    if found.error:
        return None
    user: str = ""
    groups: list[str] | None = None
    for member in found.members:
        key, value = member.key.casefold(), member.value  # Go matches names of fields in any case
        if key == "user":
            if not isinstance(value, str | None):
                return None
            user = user if value is None else value  # to Go, null leaves a text as it is
        elif key == "groups":
            if not isinstance(value, list | None) or not all(isinstance(group, str | None) for group in value or ()):
                return None
            groups = None if value is None else [group or "" for group in value]
    return user, groups
