"""YuniKorn's own reading: the tables of sections 2 and 3 of its specification, row by row."""

from __future__ import annotations

import json
from typing import Any

import jsonpatch
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.dialects import yunikorn
from policies.dialects.core import YUNIKORN, read_namespace
from policies.model.quantity import BadQuantity
from tests.policies.dialects.yunikorn_texts import ANNOTATIONS, JSON_VOID, QUANTITIES, RESOURCES, UNREADABLE
from tests.policies.yunikorn_objects import namespace, namespace_manifest, pod
from tests.profiles import each_case

G = 10**9


# -- 2.1 annotation values ---------------------------------------------------------------------------------------------

READABLE = [
    ("cpu", "4", {"vcore": 4000}),
    ("cpu", "0.5", {"vcore": 500}),
    ("cpu", "100m", {"vcore": 100}),
    ("cpu", "100n", {"vcore": 1}),
    ("cpu", "-10", {"vcore": -10000}),
    ("cpu", "9223372036854775", {"vcore": 9223372036854775000}),
    ("memory", "1G", {"memory": G}),
    ("memory", "1Gi", {"memory": 2**30}),
    ("memory", "1.5Gi", {"memory": 3 * 2**29}),
    ("memory", "1e3", {"memory": 1000}),
    ("memory", "100m", {"memory": 1}),
    ("nvidia.com/gpu", "1", {"nvidia.com/gpu": 1}),
    ("nvidia.com/gpu", "0.5", {"nvidia.com/gpu": 1}),
    ("pods", "20", {"pods": 20}),
    ("vcore", "4", {"vcore": 4}),
    ("CPU", "4", {"CPU": 4}),
    ("Memory", "4", {"Memory": 4}),
    ("cpus", "4", {"cpus": 4}),
    ("", "4", {"": 4}),
]


@each_case(("resource", "text", "expected"), READABLE)
def test_an_annotation_value_is_a_kubernetes_quantity(resource: str, text: str, expected: dict[str, int]) -> None:
    assert yunikorn.resource({resource: text}) == expected


@pytest.mark.parametrize(("resource", "text"), UNREADABLE)
def test_one_invalid_value_voids_the_whole_quota(resource: str, text: str) -> None:
    assert yunikorn.resource({"pods": "1", resource: text}) is None


@pytest.mark.parametrize("order", [("cpu", "vcore"), ("vcore", "cpu")])
def test_cpu_takes_precedence_over_vcore(order: tuple[str, str]) -> None:
    assert yunikorn.resource(dict.fromkeys(order, "4")) == {"vcore": 4000}


# -- 2.2 queues.yaml values --------------------------------------------------------------------------------------------

CONF_READABLE = [
    ("vcore", "1", 1000),
    ("vcore", "500m", 500),
    ("vcore", "2k", 2_000_000),
    ("vcore", " 25 k ", 25_000_000),
    ("vcore", "9223372036854775", 9223372036854775000),
    ("memory", "4G", 4 * G),
    ("memory", "4Gi", 4 * 2**30),
    ("memory", "010", 10),
    ("memory", "0" * 5000 + "7", 7),
    ("memory", "9223372036854775807", 2**63 - 1),
    ("cpu", "4", 4),
]
CONF_UNREADABLE = [
    ("vcore", "0.5"),
    ("vcore", "-1"),
    ("vcore", "+1"),
    ("vcore", "5X"),
    ("vcore", "9223372036854776"),
    ("vcore", "null"),
    ("vcore", ""),
    ("vcore", "1 0"),
    ("memory", "500m"),
    ("memory", "1.5Gi"),
    ("memory", "1e3"),
    ("memory", "0x10"),
    ("memory", "4K"),
    ("memory", "1000E"),
    ("memory", "9223372036854775808"),
    ("memory", "9" * 5000),
    ("memory", "٣"),
]


@pytest.mark.parametrize(("resource", "text", "expected"), CONF_READABLE)
def test_an_amount_of_queues_yaml_is_a_whole_number_with_a_suffix(resource: str, text: str, expected: int) -> None:
    assert yunikorn.conf_quantity(resource, text) == expected


@each_case(("resource", "text"), CONF_UNREADABLE)
def test_queues_yaml_rejects_amounts_that_are_not_whole_numbers(resource: str, text: str) -> None:
    with pytest.raises(BadQuantity):
        yunikorn.conf_quantity(resource, text)


@each_case("suffix", ["", *"kMGTPE", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"])
def test_vcore_is_converted_to_millicores_for_every_suffix(suffix: str) -> None:
    plain = yunikorn.conf_quantity("memory", "1" + suffix)

    if plain * 1000 < 2**63:
        assert yunikorn.conf_quantity("vcore", "1" + suffix) == plain * 1000
    else:
        with pytest.raises(BadQuantity, match="too large"):
            yunikorn.conf_quantity("vcore", "1" + suffix)


# -- 2.3 the JSON ------------------------------------------------------------------------------------------------------

JSON_READ = [  # the text, what the shim reads, what the scheduler keeps of it
    (
        '{"cpu":"64","memory":"100G","nvidia.com/gpu":"1"}',
        {"vcore": 64000, "memory": 100 * G, "nvidia.com/gpu": 1},
        {"vcore": 64000, "memory": 100 * G, "nvidia.com/gpu": 1},
    ),
    ("null", {}, None),
    (" null\n", {}, None),
    ("{}", {}, None),
    ('{"cpu":"0","memory":"0"}', {"vcore": 0, "memory": 0}, None),
    ('{"cpu":"0","memory":"1G"}', {"vcore": 0, "memory": G}, {"vcore": 0, "memory": G}),
    ('{"cpu":"-1","memory":"1G"}', {"vcore": -1000, "memory": G}, None),
    ('{"cpu":"1","cpu":"2"}', {"vcore": 2000}, {"vcore": 2000}),
    ('{"cpu":null,"cpu":"2"}', {"vcore": 2000}, {"vcore": 2000}),
    ('{"cpu":"xyz","cpu":"2"}', {"vcore": 2000}, {"vcore": 2000}),
    (' {\n\t"cpu" : "\\u0034"\r\n} ', {"vcore": 4000}, {"vcore": 4000}),
    ('{"\\ud800":"1"}', {"\ufffd": 1}, {"\ufffd": 1}),
]


@each_case(("text", "read", "kept"), JSON_READ)
def test_the_quota_is_a_json_object_of_texts(text: str, read: dict[str, int], kept: dict[str, int] | None) -> None:
    assert yunikorn.read_quota(namespace(quota=text)) == read
    assert yunikorn.quota(namespace(quota=text)) == kept
    assert yunikorn.read_guaranteed(namespace(guaranteed=text)) == read
    assert yunikorn.guaranteed(namespace(guaranteed=text)) == kept


@each_case("text", JSON_VOID)
def test_invalid_quota_json_does_not_fall_back_to_the_legacy_pair(text: str) -> None:
    assert yunikorn.read_quota(namespace(quota=text, max_cpu="1", max_memory="1G")) is None
    assert yunikorn.quota(namespace(quota=text, max_cpu="1", max_memory="1G")) is None
    assert yunikorn.guaranteed(namespace(guaranteed=text)) is None


@pytest.mark.parametrize("absent", ["", None])
def test_empty_quota_falls_back_to_the_legacy_pair(absent: str | None) -> None:
    assert yunikorn.quota(namespace(quota=absent, max_cpu="1")) == {"vcore": 1000}
    assert yunikorn.quota(namespace(quota=absent)) is None


# -- 3.1 keys and flags ------------------------------------------------------------------------------------------------


def test_namespace_without_annotations_has_no_settings() -> None:
    bare = namespace()

    assert yunikorn.quota(bare) is None
    assert yunikorn.guaranteed(bare) is None
    assert yunikorn.read_max_apps(bare) == ""
    assert yunikorn.parent_queue(bare) is None
    assert yunikorn.enabled(bare) is None
    assert yunikorn.generates_app_id(bare) is None


@pytest.mark.parametrize(("text", "expected"), [("true", True), ("false", False), ("True", False), ("", False)])
def test_namespace_flag_is_true_only_for_the_text_true(text: str, expected: bool) -> None:
    assert yunikorn.enabled(namespace(enableYuniKorn=text)) is expected
    assert yunikorn.generates_app_id(namespace(generateAppId=text)) is expected


def test_keys_are_case_sensitive() -> None:
    assert yunikorn.enabled(namespace(enableYunikorn="true")) is None
    assert yunikorn.quota(namespace(Quota='{"cpu":"1"}')) is None


@pytest.mark.parametrize(
    ("text", "expected"), [("root.production", "root.production"), ("no such", "no such"), ("", None)]
)
def test_the_parent_queue_is_any_text(text: str, expected: str | None) -> None:
    assert yunikorn.parent_queue(read_namespace(namespace_manifest({"parentqueue": text}))) == expected


# -- 3.2 precedence ----------------------------------------------------------------------------------------------------

PRECEDENCE = [
    ('{"cpu":"5"}', "1", "1G", {"vcore": 5000}),
    ('{"cpu":"bad"}', "1", "1G", None),
    ("bad", "1", "1G", None),
    (None, "1", None, {"vcore": 1000}),
    (None, "1", "64M", {"vcore": 1000, "memory": 64_000_000}),
    (None, None, "128M", {"memory": 128_000_000}),
    (None, "", "128M", {"memory": 128_000_000}),
    (None, "error", "128M", None),
    (None, "1", "error", None),
    (None, "", "", None),
]


@pytest.mark.parametrize(("quota", "cpu", "memory", "expected"), PRECEDENCE)
def test_precedence(quota: str | None, cpu: str | None, memory: str | None, expected: dict[str, int] | None) -> None:
    assert yunikorn.quota(namespace(quota=quota, max_cpu=cpu, max_memory=memory)) == expected


def test_from_2_0_on_the_legacy_pair_is_not_read() -> None:
    pair = namespace(max_cpu="1", max_memory="1G")

    assert yunikorn.reads_legacy((1, 9))
    assert not yunikorn.reads_legacy((2, 0))
    assert yunikorn.quota(yunikorn.as_read(pair, (2, 0))) is None
    both = namespace(quota='{"cpu":"5"}', max_cpu="1")
    assert yunikorn.quota(yunikorn.as_read(both, (2, 0))) == {"vcore": 5000}


# -- 3.3 hand-over -----------------------------------------------------------------------------------------------------


def test_an_application_gets_the_annotations_as_tags() -> None:
    annotations = {
        "namespace.quota": '{"cpu":"4","memory":"0"}',
        "namespace.guaranteed": '{"cpu":"1"}',
        "namespace.maxApps": "05",
        "parentqueue": "root.production",
    }

    tags = yunikorn.application_tags(read_namespace(namespace_manifest(annotations)))

    assert tags == {
        "namespace.resourcequota": '{"resources":{"memory":{},"vcore":{"value":4000}}}',
        "namespace.resourceguaranteed": '{"resources":{"vcore":{"value":1000}}}',
        "namespace.resourcemaxapps": "05",
        "namespace.parentqueue": "root.production",
    }


@pytest.mark.parametrize("text", ["{}", "null", '{"cpu":"0"}', "bad"])
def test_zero_or_unreadable_amount_sets_no_tag(text: str) -> None:
    assert yunikorn.application_tags(namespace(quota=text, guaranteed=text)) == {}


def test_negative_amount_is_in_the_tag_but_not_in_the_quota() -> None:
    negative = namespace(quota='{"cpu":"-1","memory":"1G"}')

    assert "-1000" in yunikorn.application_tags(negative)["namespace.resourcequota"]
    assert yunikorn.quota(negative) is None


# -- 3.4 maxApps -------------------------------------------------------------------------------------------------------

MAX_APPS = [  # the text, what the shim hands over, the limit
    ("5", "5", 5),
    ("05", "05", 5),
    ("", "", None),
    ("abc", "", None),
    ("1.5", "", None),
    ("-5", "", None),
    (" 5", "", None),
    ("5\n", "", None),
    ("٥", "", None),
    ("1_0", "", None),
    ("0", "0", None),
    ("+5", "+5", None),
    ("9223372036854775807", "9223372036854775807", 2**63 - 1),
    ("9223372036854775808", "", None),
    ("0" * 5000 + "5", "0" * 5000 + "5", 5),
    ("9" * 5000, "", None),
]


@each_case(("text", "handed_over", "limit"), MAX_APPS)
def test_max_apps_is_read_as_by_the_shim_and_the_core(text: str, handed_over: str, limit: int | None) -> None:
    assert yunikorn.read_max_apps(namespace(maxApps=text)) == handed_over
    assert yunikorn.core_max_apps(handed_over) == (limit or 0)


# -- 3.5 Pods ----------------------------------------------------------------------------------------------------------

APP_ID, QUEUE = YUNIKORN + "app-id", YUNIKORN + "queue"
PODS = [  # labels, annotations, application id, queue
    ({}, {}, "yunikorn-dev-autogen", None),
    ({"applicationId": "a"}, {APP_ID: "b"}, "b", None),
    ({APP_ID: "c", "spark-app-selector": "s"}, {APP_ID: "b"}, "c", None),
    ({"queue": "root.x"}, {QUEUE: "root.y"}, "yunikorn-dev-autogen", "root.y"),
    ({QUEUE: "root.z", "queue": "root.x"}, {QUEUE: "root.y"}, "yunikorn-dev-autogen", "root.z"),
    ({"spark-app-selector": "s", "queue": "team.a"}, {}, "s", "team.a"),
    ({"applicationId": "a", "spark-app-selector": "s"}, {}, "a", None),
    ({APP_ID: "", "applicationId": "a", QUEUE: ""}, {APP_ID: "", QUEUE: ""}, "a", None),
]


@pytest.mark.parametrize(("labels", "annotations", "application", "queue"), PODS)
def test_first_non_empty_application_id_and_queue_are_used(
    labels: dict[str, str], annotations: dict[str, str], application: str, queue: str | None
) -> None:
    assert yunikorn.application_id(pod(labels, annotations)) == application
    assert pod(labels, annotations).yunikorn_queue == queue


def test_a_pod_of_another_scheduler_belongs_to_no_application() -> None:
    assert yunikorn.application_id(pod({APP_ID: "a"}, {}, scheduler="default-scheduler")) == ""


GENERATED = [  # namespace, unique, uid, id
    ("dev", False, "", "yunikorn-dev-autogen"),
    ("n" * 46, False, "", f"yunikorn-{'n' * 46}-autogen"),
    ("n" * 47, False, "", f"yunikorn-{'n' * 47}-autoge"),
    ("n" * 53, False, "", f"yunikorn-{'n' * 53}-"),
    ("n" * 60, False, "", f"yunikorn-{'n' * 54}"),
    ("dev", True, "1234", "dev-1234"),
    ("n" * 30, True, "1234", "n" * 26 + "-1234"),
    ("n" * 30, True, "", "n" * 26 + "-uniqueautogen"),
    ("n" * 30, True, "u" * 50, "n" * 26 + "-" + "u" * 36),
]


@pytest.mark.parametrize(("name", "unique", "uid", "expected"), GENERATED)
def test_a_generated_id_fits_a_label(name: str, unique: bool, uid: str, expected: str) -> None:
    assert yunikorn.generated_application_id(name, unique=unique, uid=uid) == expected
    assert len(expected) <= 63


def test_uid_replaces_the_uniqueautogen_suffix() -> None:
    marked = pod({APP_ID: "dev-uniqueautogen"}, {})

    assert yunikorn.application_id(marked, unique=True, uid="1234") == "dev-1234"


USERS = [
    ('{"user":"sue","groups":["dev","ops"]}', ("sue", ["dev", "ops"])),
    ('{"User":"sue"}', ("sue", None)),
    ('{"user":"","groups":["dev"]}', ("nobody", ["dev"])),
    ('{"groups":["dev",null]}', ("nobody", ["dev", ""])),
    ('{"user":"sue","groups":[5]}', ("nobody", None)),
    ('{"user":5}', ("nobody", None)),
    ('{"user":5,"user":"sue"}', ("nobody", None)),
    ('{"groups":"dev","user":"sue","Groups":["dev"]}', ("nobody", None)),
    ('{"user":"sue","USER":"tom","user":null}', ("tom", None)),
    ('{"user":"sue","groups":"dev"}', ("nobody", None)),
    ("null", ("nobody", None)),
    ("sue", ("nobody", None)),
    ("", ("nobody", None)),
    ('{"user":"sue","x":' + "[" * 100_000, ("nobody", None)),
]


@each_case(("text", "expected"), USERS)
def test_user_is_read_from_the_user_info_annotation(text: str, expected: tuple[str, Any]) -> None:
    assert yunikorn.user_of(pod({}, {YUNIKORN + "user.info": text})) == expected


def test_pod_without_user_info_has_the_user_nobody() -> None:
    assert yunikorn.user_of(pod({"username": "sue"}, {})) == ("nobody", None)


# -- translation -------------------------------------------------------------------------------------------------------

QUOTA_PATH = "/metadata/annotations/yunikorn.apache.org~1namespace.quota"
CPU_PATH = "/metadata/annotations/yunikorn.apache.org~1namespace.max.cpu"
MEMORY_PATH = "/metadata/annotations/yunikorn.apache.org~1namespace.max.memory"


def test_the_legacy_pair_becomes_one_json_object_with_the_amounts_as_written() -> None:
    assert yunikorn.translated(namespace(max_memory="64Gi", max_cpu="4")) == [
        {"op": "add", "path": QUOTA_PATH, "value": '{"cpu":"4","memory":"64Gi"}'},
        {"op": "remove", "path": CPU_PATH},
        {"op": "remove", "path": MEMORY_PATH},
    ]


def test_empty_legacy_annotation_is_removed() -> None:
    assert yunikorn.translated(namespace(quota="", max_memory="", max_cpu="4")) == [
        {"op": "add", "path": QUOTA_PATH, "value": '{"cpu":"4"}'},
        {"op": "remove", "path": CPU_PATH},
        {"op": "remove", "path": MEMORY_PATH},
    ]


LEFT_ALONE: list[dict[str, str]] = [
    {},
    {"max_cpu": ""},
    {"max_cpu": "4", "max_memory": "64GiB"},
    {"max_cpu": "-4"},
    {"max_cpu": "9223372036854776"},
    {"quota": "{}", "max_cpu": "4"},
    {"quota": " ", "max_cpu": "4"},
]


@pytest.mark.parametrize("annotations", LEFT_ALONE)
def test_unreadable_or_already_translated_annotations_are_not_changed(annotations: dict[str, str]) -> None:
    assert yunikorn.translated(namespace(**annotations)) == []


AMOUNTS = (
    st.none() | st.sampled_from(["0", "1", "500m", "64Gi", "-1", "bad", "", "1e20", "9223372036854776"]) | st.text()
)


@given(quota=st.none() | st.sampled_from(["", "{}", '{"cpu":"1"}']), cpu=AMOUNTS, memory=AMOUNTS)
def test_translation_keeps_the_quota_and_is_idempotent(quota: str | None, cpu: str | None, memory: str | None) -> None:
    manifest = namespace_manifest(
        {"namespace.quota": quota, "namespace.max.cpu": cpu, "namespace.max.memory": memory, "other": "kept"}
    )
    before = read_namespace(manifest)

    after = read_namespace(jsonpatch.apply_patch(manifest, yunikorn.translated(before)))

    assert yunikorn.read_quota(after) == yunikorn.read_quota(before)
    assert yunikorn.translated(after) == []
    assert after.annotations[YUNIKORN + "other"] == "kept"


# -- any text ----------------------------------------------------------------------------------------------------------


@given(text=ANNOTATIONS)
def test_any_text_is_read_without_an_error(text: str) -> None:
    read = namespace(quota=text, guaranteed=text, max_cpu=text, max_memory=text, maxApps=text)

    for amounts in (yunikorn.quota(read), yunikorn.guaranteed(read)):
        assert amounts is None or (min(amounts.values()) >= 0 and max(amounts.values()) > 0)
    assert yunikorn.core_max_apps(yunikorn.read_max_apps(read)) >= 0
    assert yunikorn.user_of(pod({}, {YUNIKORN + "user.info": text}))[0]


@given(texts=st.dictionaries(RESOURCES, QUANTITIES, max_size=4))
def test_python_and_the_scanner_read_the_same_objects(texts: dict[str, str]) -> None:
    assert yunikorn.strings(json.dumps(texts)) == texts
    assert yunikorn.strings(json.dumps(texts, ensure_ascii=False, indent=1)) == texts
