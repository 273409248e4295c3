"""YuniKorn's own tables of annotations, labels and amounts, against our reading of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from policies.dialects import yunikorn, yunikorn_gangs, yunikorn_pods
from policies.dialects.core import Namespace, Pod, read_namespace, read_pod
from policies.dialects.yunikorn_config import configmap
from policies.model.forest import Forest
from tests.conformance import yunikorn_admission, yunikorn_config, yunikorn_queues
from tests.conformance.suite import Data, Suite, mismatch, suite

Answer = Callable[[Data], object]
"""What we make of a case's `given`, in the form of its `expect`."""

_NOT_YET = "needs a part of YuniKorn that no rule reads yet"


def suites(folder: Path) -> Iterator[Suite]:
    for file in sorted((folder / "yunikorn").glob("*.json")):
        if file.stem in (*yunikorn_config.NAMES, *yunikorn_admission.CHECKS, *yunikorn_queues.NAMES):
            continue  # those modules run them
        yield _suite(file, *SUITES.get(file.stem, ("", {}, _NOT_YET)))


def _suite(file: Path, selector: str, answers: dict[str, Answer], reason: str) -> Suite:
    """The cases that one of `answers` speaks to, by what `given` has under `selector`."""

    def answer(case: Data) -> Answer | None:
        return answers.get(case["given"].get(selector, ""))

    def check(case: Data) -> str | None:
        answering = answer(case)
        assert answering
        return mismatch(_comparable(case["expect"]), answering(case["given"]))

    return suite("yunikorn", file, check, lambda case: "" if answer(case) else reason)


def _comparable(expect: Data) -> Data:
    """Of an error only counts that there is one; the JSON inside of tags is compared as JSON."""
    comparable = dict(expect)
    if "error" in comparable:
        comparable["error"] = comparable["error"] is not None
    if "tags" in comparable:
        comparable["tags"] = _tags(comparable["tags"])
    return comparable


# -- Namespaces --------------------------------------------------------------------------------------------------------


def _namespace(given: Data) -> Namespace:
    return read_namespace(given["namespace"])


def _application_tags(given: Data) -> object:
    added = yunikorn.application_tags(_namespace(given)) if given["namespace"] else {}
    return {"tags": _tags({**(given["tags"] or {}), **added})}


def _tags(tags: dict[str, str] | None) -> dict[str, Any]:
    return {name: json.loads(text) if text.startswith("{") else text for name, text in (tags or {}).items()}


# -- amounts -----------------------------------------------------------------------------------------------------------


def _from_tag(tag: str) -> Answer:
    def answer(given: Data) -> object:
        try:
            amounts = json.loads((given["tags"] or {}).get(tag) or "null")
        except ValueError:
            amounts = None
        resources = (amounts or {}).get("resources") or {}
        return {"result": yunikorn.effective({name: amount.get("value", 0) for name, amount in resources.items()})}

    return answer


def _legacy_pair(given: Data) -> object:
    notes = {key: given[name] for key, name in yunikorn.LEGACY.items()}
    namespace = read_namespace({"metadata": {"name": "ns", "annotations": notes}})
    return {"resource": yunikorn.read_quota(namespace)}


# -- Pods --------------------------------------------------------------------------------------------------------------


def _pod(given: Data) -> Pod:
    return read_pod(given["pod"])


def _annotations(given: Data) -> dict[str, str]:
    return given["pod"]["metadata"].get("annotations") or {}


def _application_id(given: Data) -> object:
    uid = given["pod"]["metadata"].get("uid", "")
    return {"value": yunikorn.application_id(_pod(given), unique=given["generateUniqueAppIds"], uid=uid)}


def _generated_id(given: Data) -> object:
    unique, uid = given["generateUniqueAppIds"], given.get("podUID") or ""
    return {"value": yunikorn.generated_application_id(given["namespace"], unique=unique, uid=uid)}


def _user(given: Data) -> object:
    user, groups = yunikorn.user_of(_pod(given))
    return {"user": user, "groups": groups}


def _queues_yaml(given: Data) -> object:
    meta = {"name": configmap.CONFIGS, "namespace": "yunikorn"}
    config_map = configmap.read_config_map({"metadata": meta, "data": given["configMapData"]})
    assert config_map is not None
    return {"value": configmap.tree(Forest().put(config_map), "yunikorn").text or ""}


SUITES: dict[str, tuple[str, dict[str, Answer], str]] = {
    "shim-namespace-annotations": (
        "wants",
        {
            "quota": lambda given: {"resource": yunikorn.read_quota(_namespace(given))},
            "guaranteed": lambda given: {"resource": yunikorn.read_guaranteed(_namespace(given))},
            "maxApps": lambda given: {"value": yunikorn.read_max_apps(_namespace(given))},
        },
        _NOT_YET,
    ),
    "shim-app-tags": ("wants", {"": _application_tags}, _NOT_YET),
    "shim-resource": (
        "wants",
        {
            "cpuMemoryPair": _legacy_pair,
            "pod": lambda given: {"resource": yunikorn_pods.requests(given["pod"])},
            "resourceMap": lambda given: {"resource": yunikorn.resource(given["resources"] or {})},
        },
        _NOT_YET,
    ),
    "shim-pod-metadata": (
        "wants",
        {
            "applicationId": _application_id,
            "generatedApplicationId": _generated_id,
            "queue": lambda given: {"value": _pod(given).yunikorn_queue or ""},
            "user": _user,
            "queuesYaml": _queues_yaml,
            "taskGroup": lambda given: {"value": yunikorn_gangs.task_group(_annotations(given))},
            "placeholder": lambda given: {"value": yunikorn_gangs.is_placeholder(_annotations(given))},
        },
        _NOT_YET,
    ),
    "core-app-tags": (
        "op",
        {
            "GetMaxResource": _from_tag("namespace.resourcequota"),
            "GetGuaranteedResource": _from_tag("namespace.resourceguaranteed"),
            "GetMaxApps": lambda given: {
                "result": yunikorn.core_max_apps((given["tags"] or {}).get("namespace.resourcemaxapps", ""))
            },
        },
        _NOT_YET,
    ),
}
