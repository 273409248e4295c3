"""The rules about the text of YuniKorn's quota annotations: they cannot be read, are outdated, or contradict."""

from __future__ import annotations

import jsonpatch
import pytest
from hypothesis import given

from policies.configuration.settings import Configuration, Override, YuniKornSettings
from policies.dialects import yunikorn
from policies.dialects.core import Namespace, read_namespace
from policies.judge import evaluate
from policies.judging.rule import Proposal
from policies.model.findings import Action, Finding, Profile, Severity
from tests.builders import change, found, world
from tests.policies.dialects.yunikorn_texts import ANNOTATIONS
from tests.policies.yunikorn_objects import namespace_manifest

NOTHING = world()
VERSION_2 = Configuration(yunikorn=YuniKornSettings(version=(2, 0)))
INVALID = "quota-annotation-invalid"
LEGACY = "legacy-quota-annotation"
CONFLICT = "quota-annotations-conflict"
EXCEEDS = "guaranteed-exceeds-quota"
QUOTA_FIELD = "metadata.annotations[yunikorn.apache.org/namespace.quota]"


def created(configuration: Configuration | None = None, /, **annotations: str) -> Proposal:
    """`quota`, `max_cpu`, ... of one new Namespace."""
    return change(NOTHING, manifest(**annotations), configuration=configuration)


def manifest(**annotations: str) -> dict[str, object]:
    return namespace_manifest({f"namespace.{key.replace('_', '.')}": text for key, text in annotations.items()})


def updated(before: dict[str, str], after: dict[str, str], configuration: Configuration | None = None) -> Proposal:
    return change(world(manifest(**before)), manifest(**after), configuration=configuration)


def judged(proposal: Proposal) -> list[tuple[Severity, str]]:
    return [(judged.severity, judged.rule.id) for judged in evaluate(proposal).findings]


# -- quota-annotation-invalid ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("annotations", "message"),
    [
        ({"quota": '{"cpu":4}'}, "YuniKorn would run this namespace without a quota"),
        ({"quota": "x", "max_cpu": "4"}, "without a quota, and would not use namespace.max.cpu instead"),
        ({"guaranteed": '{"cpu":4}'}, "YuniKorn would run this namespace without a guarantee"),
        ({"max_cpu": "4", "max_memory": "64MiB"}, "YuniKorn would run this namespace without a quota"),
        ({"max_cpu": "-4"}, "YuniKorn would run this namespace without a quota"),
        ({"quota": "{}", "max_cpu": "x"}, "YuniKorn ignores it here, since namespace.quota is set"),
        ({"maxApps": "-5"}, "YuniKorn would not limit the number of applications"),
        ({"quota": '{"cpu":"1","cpu":"2"}'}, 'YuniKorn would take the last, "2"'),
        ({"quota": '{"cpu":"9223372036854776"}'}, "the resulting limit is undefined"),
    ],
)
def test_invalid_annotation_is_refused_and_the_message_names_its_effect_in_yunikorn(
    annotations: dict[str, str], message: str
) -> None:
    (finding,) = found(INVALID, created(**annotations))

    assert message in finding.message
    assert finding.fix
    assert (Severity.ERROR, INVALID) in judged(created(**annotations))


def test_finding_names_the_annotation_the_key_and_the_position() -> None:
    cpu, memory = found(INVALID, created(quota='{\n "cpu": 4,\n "memory": "64MiB"\n}'))

    assert (cpu.field, cpu.subject) == (QUOTA_FIELD, "cpu")
    assert cpu.message.startswith('namespace.quota, line 2, column 9: "cpu": 4 is a number, not a string;')
    assert cpu.fix == 'write "4", in double quotes'
    assert (memory.field, memory.subject) == (QUOTA_FIELD, "memory")
    assert "line 3, column 12" in memory.message
    assert memory.fix == "write 64Mi"


def test_valid_annotations_pass() -> None:
    sound = created(quota='{"cpu":"4","memory":"64Gi"}', guaranteed='{"cpu":"4"}', maxApps="5", enableYuniKorn="true")

    assert judged(sound) == []


def test_invalid_annotations_are_info_under_compat() -> None:
    compat = Configuration(profile=Profile.COMPAT)
    verdict = evaluate(created(compat, quota="x", guaranteed="x", max_cpu="x", maxApps="x"))

    assert verdict.allowed
    assert {judged.severity for judged in verdict.findings} == {Severity.INFO}


def test_an_old_bad_annotation_does_not_stop_an_unrelated_change() -> None:
    before = {"quota": '{"cpu":4}'}

    (finding,) = evaluate(updated(before, {**before, "maxApps": "5"})).findings

    assert finding.severity is Severity.WARNING
    assert finding.preexisting


def test_new_invalid_amount_beside_a_preexisting_one_is_refused() -> None:
    verdict = evaluate(updated({"quota": '{"cpu":4}'}, {"quota": '{"cpu":4,"memory":"x"}'}))

    assert [(judged.severity, judged.finding.subject) for judged in verdict.findings] == [
        (Severity.ERROR, "memory"),
        (Severity.WARNING, "cpu"),
    ]


def test_breaking_a_good_annotation_is_refused() -> None:
    assert not evaluate(updated({"quota": '{"cpu":"4"}'}, {"quota": '{"cpu":"4"'})).allowed


def test_removing_a_bad_annotation_is_always_allowed() -> None:
    assert judged(updated({"quota": "x"}, {})) == []


def _most_apps(namespace: Namespace) -> int:
    return yunikorn.core_max_apps(yunikorn.read_max_apps(namespace))


@given(text=ANNOTATIONS)
def test_annotation_dropped_by_yunikorn_has_a_finding(text: str) -> None:
    for key, read in (("quota", yunikorn.quota), ("guaranteed", yunikorn.guaranteed), ("maxApps", _most_apps)):
        written = manifest(**{key: text})
        if not read(read_namespace(written)):
            assert evaluate(change(NOTHING, written)).findings, (key, text)


# -- legacy-quota-annotation -------------------------------------------------------------------------------------------


def test_the_legacy_pair_is_a_warning_with_the_json_to_write() -> None:
    cpu, memory = found(LEGACY, created(max_cpu="4", max_memory="64Gi"))

    assert cpu.message == "namespace.max.cpu=4 is deprecated since YuniKorn 1.2; YuniKorn 2.0 will not read it"
    assert memory.message.startswith("namespace.max.memory=64Gi is deprecated")
    assert cpu.fix == memory.fix
    assert """write yunikorn.apache.org/namespace.quota: '{"cpu":"4","memory":"64Gi"}' and remove""" in cpu.fix
    assert judged(created(max_cpu="4")) == [(Severity.WARNING, LEGACY)]


@pytest.mark.parametrize("configuration", [None, VERSION_2])
def test_patches_of_the_legacy_rule_leave_no_findings(configuration: Configuration | None) -> None:
    old = manifest(max_cpu="4", max_memory="64Gi")
    patch = [
        step for finding in found(LEGACY, change(NOTHING, old, configuration=configuration)) for step in finding.patch
    ]

    new = jsonpatch.apply_patch(old, patch)

    assert yunikorn.quota(read_namespace(new)) == {"vcore": 4000, "memory": 64 * 2**30}
    assert judged(change(NOTHING, new, configuration=configuration)) == []


def test_from_2_0_on_the_legacy_pair_is_refused() -> None:
    (finding,) = found(LEGACY, created(VERSION_2, max_cpu="4"))

    assert (
        finding.message == "namespace.max.cpu=4 is not read by YuniKorn 2.0, which runs this namespace without a quota"
    )
    assert judged(created(VERSION_2, max_cpu="4")) == [(Severity.ERROR, LEGACY)]


def test_preexisting_legacy_pair_is_a_warning_from_yunikorn_2_0() -> None:
    before = {"max_cpu": "4"}

    assert judged(updated(before, {**before, "maxApps": "5"}, VERSION_2)) == [(Severity.WARNING, LEGACY)]
    assert judged(updated(before, {**before, "max_memory": "1Gi"}, VERSION_2))[0] == (Severity.ERROR, LEGACY)


def test_rule_override_applies_to_the_legacy_pair_in_yunikorn_2_0() -> None:
    allowed = Configuration(overrides=(Override(LEGACY, Action.OFF),), yunikorn=YuniKornSettings(version=(2, 0)))

    assert judged(created(allowed, max_cpu="4")) == []


def test_an_unreadable_pair_has_no_patch() -> None:
    for finding in found(LEGACY, created(max_cpu="4", max_memory="64GiB")):
        assert finding.patch == ()
        assert "write the amounts as a JSON object" in finding.fix


def test_a_text_of_any_length_does_not_flood_the_message() -> None:
    for rule in (LEGACY, INVALID):
        for finding in found(rule, created(max_cpu="x\n" * 10_000)):
            assert len(finding.message) < 250
    (finding,) = found(CONFLICT, created(quota='{"cpu":"1"}', max_cpu="x\n" * 10_000))
    assert len(finding.message) < 250


# -- quota-annotations-conflict ----------------------------------------------------------------------------------------


def test_quota_annotation_takes_precedence_and_each_legacy_annotation_is_reported() -> None:
    both = created(quota='{"cpu":"5"}', max_cpu="1", max_memory="1Gi")

    cpu, memory = found(CONFLICT, both)

    assert cpu.message == "namespace.max.cpu=1 is ignored: namespace.quota is set, which says cpu=5"
    assert "does not limit memory, and the two are never merged" in memory.message
    assert judged(both) == [(Severity.WARNING, CONFLICT), (Severity.WARNING, CONFLICT)]


def test_invalid_quota_annotation_takes_precedence_over_the_legacy_pair() -> None:
    (finding,) = found(CONFLICT, created(quota="x", max_cpu="1"))

    assert "namespace.quota is set, though it limits nothing" in finding.message


def test_patches_remove_the_ignored_legacy_annotations() -> None:
    old = manifest(quota='{"cpu":"5"}', max_cpu="1", max_memory="1Gi")
    patch = [step for finding in found(CONFLICT, change(NOTHING, old)) for step in finding.patch]

    new = read_namespace(jsonpatch.apply_patch(old, patch))

    assert list(new.annotations) == [yunikorn.QUOTA]


@pytest.mark.parametrize("annotations", [{"quota": "", "max_cpu": "1"}, {"quota": "{}", "max_cpu": ""}])
def test_empty_annotation_is_not_a_conflict(annotations: dict[str, str]) -> None:
    assert found(CONFLICT, created(**annotations)) == []


def test_from_2_0_on_the_pair_is_outdated_rather_than_in_conflict() -> None:
    both = created(VERSION_2, quota='{"cpu":"5"}', max_cpu="1")

    (finding,) = found(LEGACY, both)

    assert judged(both) == [(Severity.ERROR, LEGACY)]
    assert finding.message.endswith("only namespace.quota counts")
    assert finding.fix == "remove namespace.max.cpu"
    assert [step["op"] for step in finding.patch] == ["remove"]


# -- guaranteed-exceeds-quota ------------------------------------------------------------------------------------------


def test_a_guarantee_above_the_quota_is_refused_for_each_resource() -> None:
    cpu, memory = found(
        EXCEEDS, created(quota='{"cpu":"4","memory":"1Gi"}', guaranteed='{"cpu":"4001m","memory":"2Gi"}')
    )

    assert (memory.subject, memory.excess) == ("vcore", 1)
    assert (cpu.subject, cpu.excess) == ("memory", 2**30)
    assert memory.message == "cpu=4001m is guaranteed, but namespace.quota allows cpu=4"
    assert memory.fix == "lower the guarantee to cpu=4 or less, or raise the quota to cpu=4001m or more"
    assert [cause.field for cause in memory.causes] == [QUOTA_FIELD]


FINE = [
    {"quota": '{"cpu":"4"}', "guaranteed": '{"cpu":"4000m"}'},
    {"quota": '{"cpu":"4"}', "guaranteed": '{"memory":"1Gi"}'},
    {"quota": "{}", "guaranteed": '{"cpu":"4"}'},
    {"quota": '{"cpu":"0"}', "guaranteed": '{"cpu":"4"}'},
    {"quota": '{"cpu":1}', "guaranteed": '{"cpu":"4"}'},
    {"guaranteed": '{"cpu":"4"}'},
]


@pytest.mark.parametrize("annotations", FINE)
def test_a_guarantee_within_the_quota_or_beside_it_passes(annotations: dict[str, str]) -> None:
    assert found(EXCEEDS, created(**annotations)) == []


def test_guarantee_above_a_quota_of_zero_is_refused() -> None:
    (finding,) = found(EXCEEDS, created(quota='{"cpu":"0","memory":"1Gi"}', guaranteed='{"cpu":"1m"}'))

    assert finding.excess == 1


def test_vcore_and_cpu_are_the_same_amount() -> None:
    (finding,) = found(EXCEEDS, created(quota='{"vcore":"4000"}', guaranteed='{"cpu":"5"}'))

    assert finding.message == "cpu=5 is guaranteed, but namespace.quota allows vcore=4000"


def test_guarantee_is_compared_with_the_legacy_quota_while_yunikorn_reads_it() -> None:
    annotations = {"max_cpu": "4", "guaranteed": '{"cpu":"5"}'}

    (finding,) = found(EXCEEDS, created(**annotations))

    assert finding.message == "cpu=5 is guaranteed, but namespace.max.cpu allows cpu=4"
    assert found(EXCEEDS, created(VERSION_2, **annotations)) == []


def test_preexisting_excess_is_refused_only_if_it_grows() -> None:
    before = {"quota": '{"cpu":"4"}', "guaranteed": '{"cpu":"6"}'}

    assert judged(updated(before, {**before, "guaranteed": '{"cpu":"5"}'})) == [(Severity.WARNING, EXCEEDS)]
    assert judged(updated(before, {**before, "guaranteed": '{"cpu":"7"}'})) == [(Severity.ERROR, EXCEEDS)]


def identities(findings: list[Finding]) -> set[object]:
    return {finding.identity for finding in findings}


@given(quota=ANNOTATIONS, cpu=ANNOTATIONS)
def test_no_two_rules_report_the_same_place_for_the_pair(quota: str, cpu: str) -> None:
    proposal = created(quota=quota, max_cpu=cpu)

    assert not identities(found(LEGACY, proposal)) & identities(found(CONFLICT, proposal))
