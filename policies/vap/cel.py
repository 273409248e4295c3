"""The rules that one object decides, said in Kubernetes' own expression language, for the time the webhook is down.

Each entry is one ValidatingAdmissionPolicy. Its expression `wrong` yields a text: what is wrong, or nothing. An update
that makes nothing worse passes, as with the webhook: what is wrong in `oldObject` to no lesser degree is left out.
Amounts that are none count as absent, as in the dialects; `bad-quantity` speaks of them.

Written for Kubernetes 1.30 and later: quantities, optional fields and list functions, but no two-variable loops.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from policies.dialects import core, kueue, volcano
from policies.model.objects import GroupKind


@dataclass(frozen=True, slots=True)
class Expression:
    """One rule for some of its kinds. `wrong` may use `variables`, in their order."""

    rule: str
    kinds: tuple[GroupKind, ...]
    wrong: str
    variables: tuple[tuple[str, str], ...] = ()

    @property
    def name(self) -> str:
        """Of the policy and its binding; the kinds tell the entries of one rule apart."""
        return f"{self.rule}.{'-'.join(kind.kind.lower() for kind in self.kinds)}.quotree.dev"


LEFT_OUT: Mapping[str, str] = {
    "admission-gate-invalid": "a gated feature, and the gate is in the configuration",
    "admission-invalid": "compares assignments with pod sets by name and in many ways, in status, which Kueue writes",
    "bad-structure": "the CustomResourceDefinitions say it, and the API server checks them itself",
    "cluster-not-nominated": "is about status, which Kueue writes",
    "concurrent-admission-conflict": "a gated feature, and the gate is in the configuration",
    "guaranteed-exceeds-quota": "CEL cannot read the JSON in an annotation",
    "job-label-invalid": "concerns work, which goes on while the webhook is down",
    "kubeconfig-path-unsafe": "goes through the path part by part, and the manager does that again itself",
    "label-invalid": "each key and value has a grammar of its own; the selector of a ClusterQueue alone has four forms",
    "partial-admission-invalid": "concerns work, which goes on while the webhook is down",
    "pod-amount-invalid": "concerns work, which goes on while the webhook is down",
    "pod-set-update-invalid": "is about status, which Kueue writes",
    "preemption-setting-ignored": "concerns work, which goes on while the webhook is down",
    "priority-boost-invalid": "a gated feature, and the gate is in the configuration",
    "quota-annotation-invalid": "CEL cannot read the JSON in an annotation, nor see a key that stands there twice",
    "quota-without-effect": "CEL cannot read the JSON in an annotation",
    "ray-cluster-invalid": "concerns work, which goes on while the webhook is down",
    "reclaimable-pods-invalid": "is about status, which Kueue writes",
    "reserved-workload-changed": "is about status, which Kueue writes",
    "topology-annotation-invalid": "concerns work, which goes on while the webhook is down",
    "topology-slice-invalid": "concerns work, which goes on while the webhook is down",
}
"""The rules of one object that have no policy, and why."""


# -- pieces ------------------------------------------------------------------------------------------------------------


def _quantity(value: str) -> str:
    return f"quantity(string({value}))"


def _amount(value: str) -> str:
    """It is a quantity of 0 or more."""
    return f"(isQuantity(string({value})) && !{_quantity(value)}.isLessThan(quantity('0')))"


def _amount_of(amounts: str, resource: str) -> str:
    """The same for a resource of a Volcano queue, where devices and pods come in whole ones."""
    value = f"{amounts}[{resource}]"
    whole = f"({resource} == 'pods' || ({resource}.contains('/') && !{resource}.contains('kubernetes.io/')))"
    number = f"{_quantity(value)}.asApproximateFloat()"  # isInteger() says no to 2000m
    integer = f"({number} > 1e15 || double(int({number})) == {number})"
    return f"({_amount(value)} && (!{whole} || {integer}))"


def _held(amounts: str, resource: str) -> str:
    """The amount, 0 where it is absent or none."""
    there = f"{resource} in {amounts} && {_amount_of(amounts, resource)}"
    return f"({there} ? {_quantity(f'{amounts}[{resource}]')} : quantity('0'))"


def _joined(texts: str) -> str:
    return f"{texts}.filter(text, text != '').join('; ')"


def _of_spec(name: str, *path: str) -> tuple[tuple[str, str], ...]:
    """A mapping below spec, and `old_<name>`, the same of the object before; empty where it is absent."""
    steps = "".join(f".?{step}" for step in ("spec", *path))
    return (
        (name, f"object{steps}.orValue({{}})"),
        (f"old_{name}", f"oldObject == null ? {{}} : oldObject{steps}.orValue({{}})"),
    )


def _list_of_spec(name: str, *path: str) -> tuple[tuple[str, str], ...]:
    return tuple((key, expression.replace("{}", "[]")) for key, expression in _of_spec(name, *path))


# -- Volcano -----------------------------------------------------------------------------------------------------------

_AMOUNTS = (
    *_of_spec("guarantee", "guarantee", "resource"),
    *_of_spec("deserved", "deserved"),
    *_of_spec("capability", "capability"),
)


def _guarantee_excess(before: str) -> str:
    return f"{_quantity(f'variables.{before}guarantee[r]')}.sub({_held(f'variables.{before}deserved', 'r')})"


def _deserved_excess(before: str) -> str:
    deserved, capability = (f"variables.{before}{field}[r]" for field in ("deserved", "capability"))
    return f"{_quantity(deserved)}.sub({_quantity(capability)})"


def _both(before: str) -> str:
    return " && ".join(
        f"r in variables.{before}{field} && {_amount_of(f'variables.{before}{field}', 'r')}"
        for field in ("deserved", "capability")
    )


_GUARANTEE = f"""\
variables.guarantee.filter(r, {_amount_of("variables.guarantee", "r")}
  && {_guarantee_excess("")}.isGreaterThan(quantity('0'))
  && !(r in variables.old_guarantee && {_amount_of("variables.old_guarantee", "r")}
    && !{_guarantee_excess("old_")}.isLessThan({_guarantee_excess("")}))
).map(r, 'is guaranteed ' + r + '=' + string(variables.guarantee[r]) + ' but deserves '
  + (r in variables.deserved ? 'only ' + string(variables.deserved[r]) : 'none: spec.deserved does not name it')
).join('; ')"""

_DESERVED = f"""\
variables.deserved.filter(r, {_both("")}
  && {_deserved_excess("")}.isGreaterThan(quantity('0'))
  && !({_both("old_")} && !{_deserved_excess("old_")}.isLessThan({_deserved_excess("")}))
).map(r, 'deserves ' + r + '=' + string(variables.deserved[r]) + ' but its capability is '
  + string(variables.capability[r])
).join('; ')"""


def _bad_amounts(field: str) -> str:
    now, old = f"variables.{field}", f"variables.old_{field}"
    return f"""\
{now}.filter(r, !{_amount_of(now, "r")} && !(r in {old} && !{_amount_of(old, "r")})
).map(r, 'spec.{field} of ' + r + ' is ' + string({now}[r]) + ', which is no amount').join('; ')"""


_BAD_AMOUNTS = _joined(f"[{', '.join(_bad_amounts(field) for field in ('guarantee', 'deserved', 'capability'))}]")


# -- Kueue -------------------------------------------------------------------------------------------------------------

_GROUPS = _list_of_spec("groups", "resourceGroups")
_PARENT = ("cohortName", "cohort", "parentName", "parent")
"""Every name that the versions of Cohort and ClusterQueue give the parent; none is another thing in another version."""


def _each_quota(texts: str) -> str:
    """`texts` for each flavor `f` of each group `g`, joined."""
    return _joined(f"variables.groups.map(g, {_joined(f'g.?flavors.orValue([]).map(f, {texts})')})")


def _same_before(holds: str) -> str:
    """`holds` of an old quota `p` for the flavor `f` and the resource `q` of now."""
    return (
        "variables.old_groups.exists(h, h.?flavors.orValue([]).exists(e, e.name == f.name "
        f"&& e.?resources.orValue([]).exists(p, p.name == q.name && {holds})))"
    )


def _lends_too_much(quota: str) -> str:
    lending, nominal = f"{quota}.lendingLimit", f"{quota}.nominalQuota"
    return (
        f"has({lending}) && has({nominal}) && {_amount(lending)} && {_amount(nominal)} "
        f"&& {_quantity(lending)}.isGreaterThan({_quantity(nominal)})"
    )


def _lending_excess(quota: str) -> str:
    return f"{_quantity(f'{quota}.lendingLimit')}.sub({_quantity(f'{quota}.nominalQuota')})"


_LENDING = _each_quota(f"""\
f.?resources.orValue([]).filter(q, {_lends_too_much("q")}
  && !{_same_before(f"{_lends_too_much('p')} && !{_lending_excess('p')}.isLessThan({_lending_excess('q')})")}
).map(q, 'may lend ' + q.name + '=' + string(q.lendingLimit) + ' in flavor ' + f.name + ', its nominalQuota is '
  + string(q.nominalQuota)).join('; ')""")


def _parents(thing: str) -> str:
    return f"[{', '.join(f'''{thing}.?spec.?{name}.orValue('')''' for name in _PARENT)}].exists(name, name != '')"


def _useless(key: str) -> str:
    return f"""\
f.?resources.orValue([]).filter(q, has(q.{key}) && {_amount(f"q.{key}")}
  && !(!variables.old_parent && {_same_before(f"has(p.{key}) && {_amount(f'p.{key}')}")})
).map(q, '{key} ' + string(q.{key}) + ' of ' + q.name + ' in flavor ' + f.name + ' has no effect without a parent'
).join('; ')"""


_USELESS = _joined(f"[{_useless('borrowingLimit')}, {_useless('lendingLimit')}]")
_LIMIT = f"variables.parent ? '' : {_each_quota(_USELESS)}"
_LIMIT_VARIABLES = (
    *_GROUPS,
    ("parent", _parents("object")),
    ("old_parent", f"oldObject != null && {_parents('oldObject')}"),
)


def _mismatch(flavor: str, group: str) -> str:
    return f"{flavor}.resources.map(n, n.name) != {group}.coveredResources"


def _gap(flavor: str, group: str) -> str:
    """By how many the lists differ in length."""
    lengths = f"{flavor}.resources.size(), {group}.coveredResources.size()"
    return f"([{lengths}].max() - [{lengths}].min())"


_MISMATCH = _each_quota(f"""\
(has(f.resources) && has(g.coveredResources) && {_mismatch("f", "g")}
  && !variables.old_groups.exists(h, h.?flavors.orValue([]).exists(e, e.name == f.name && has(e.resources)
    && has(h.coveredResources) && {_mismatch("e", "h")} && {_gap("e", "h")} >= {_gap("f", "g")}))
) ? 'flavor ' + f.name + ' lists ' + f.resources.map(n, n.name).join(', ') + ' where its group covers '
  + g.coveredResources.join(', ') : ''""")


def _counted(groups: str, names: str, name: str) -> str:
    """How often the name stands in all groups together."""
    found = f"h.?{names}.orValue([]).filter(m, m{'.name' if names == 'flavors' else ''} == {name}).size()"
    return f"variables.{groups}.map(h, {found}).sum()"


def _twice(what: str, names: str) -> str:
    name = "n.name" if names == "flavors" else "n"
    now, old = _counted("groups", names, name), _counted("old_groups", names, name)
    return f"""\
g.?{names}.orValue([]).filter(n, {now} > 1 && {now} > {old})
  .map(n, '{what} ' + {name} + ' is listed ' + string({now}) + ' times').join('; ')"""


_IN_GROUP = _joined(f"[{_twice('resource', 'coveredResources')}, {_twice('flavor', 'flavors')}]")
_TWICE = _joined(f"variables.groups.map(g, {_IN_GROUP})")


def _bad_quota(key: str) -> str:
    return f"""\
f.?resources.orValue([]).filter(q, has(q.{key}) && !{_amount(f"q.{key}")}
  && !{_same_before(f"has(p.{key}) && !{_amount(f'p.{key}')}")}
).map(q, '{key} of ' + q.name + ' in flavor ' + f.name + ' is ' + string(q.{key}) + ', which is no amount'
).join('; ')"""


_WEIGHT = "fairSharing.weight"


def _bad_weight(thing: str) -> str:
    """Kueue refuses one nano too: it divides by the weight in that unit."""
    weight = f"{thing}.spec.{_WEIGHT}"
    small = f"{_quantity(weight)}.isGreaterThan(quantity('0')) && {_quantity(weight)}.isLessThan(quantity('2n'))"
    return f"({thing}.?spec.?fairSharing.?weight.hasValue() && (!{_amount(weight)} || ({small})))"


_BAD_WEIGHT = f"""\
{_bad_weight("object")} && !(oldObject != null && {_bad_weight("oldObject")})
? 'spec.fairSharing.weight is ' + string(object.spec.{_WEIGHT}) + ', which is no amount of 2n or more, nor 0' : ''"""

_BAD_QUOTAS = _each_quota(
    _joined(f"[{', '.join(_bad_quota(key) for key in ('nominalQuota', 'borrowingLimit', 'lendingLimit'))}]")
)

_CHECKS = _joined("""\
variables.checks.map(c, c.?onFlavors.orValue([]).filter(name,
  !variables.groups.exists(g, g.?flavors.orValue([]).exists(f, f.name == name))
  && !(variables.old_checks.exists(d, d.name == c.name && name in d.?onFlavors.orValue([]))
    && !variables.old_groups.exists(g, g.?flavors.orValue([]).exists(f, f.name == name)))
).map(name, 'admission check ' + c.name + ' runs on flavor ' + name + ', which is none of this queue').join('; '))""")

_MIN_COUNT = """\
variables.sets.filter(s, has(s.minCount)).size() > 1
  && variables.sets.filter(s, has(s.minCount)).size() > variables.old_sets.filter(s, has(s.minCount)).size()
? string(variables.sets.filter(s, has(s.minCount)).size()) + ' pod sets have a minCount, at most 1 may have one' : ''"""


# -- YuniKorn ----------------------------------------------------------------------------------------------------------

_NOTES = (("notes", "object.metadata.?annotations.orValue({})"),)


def _note(key: str) -> str:
    return f"variables.notes[?'{core.YUNIKORN}namespace.{key}'].orValue('')"


def _legacy(key: str, condition: str, text: str) -> str:
    return f"{_note(key)} != '' && {condition} ? 'namespace.{key}=' + {_note(key)} + '{text}' : ''"


def _pair(condition: str, text: str) -> str:
    return _joined(f"[{', '.join(_legacy(key, condition, text) for key in ('max.cpu', 'max.memory'))}]")


_NODES = (kueue.COHORT, kueue.CLUSTER_QUEUE)

EXPRESSIONS: tuple[Expression, ...] = (
    Expression("guarantee-exceeds-deserved", (volcano.QUEUE,), _GUARANTEE, _AMOUNTS),
    Expression("deserved-exceeds-capability", (volcano.QUEUE,), _DESERVED, _AMOUNTS),
    Expression("bad-quantity", (volcano.QUEUE,), _BAD_AMOUNTS, _AMOUNTS),
    Expression("bad-quantity", _NODES, _joined(f"[{_BAD_QUOTAS}, {_BAD_WEIGHT}]"), _GROUPS),
    Expression("lending-exceeds-nominal", (kueue.CLUSTER_QUEUE,), _LENDING, _GROUPS),
    Expression("limit-without-parent", _NODES, _LIMIT, _LIMIT_VARIABLES),
    Expression("flavor-resources-mismatch", _NODES, _MISMATCH, _GROUPS),
    Expression("resource-in-two-groups", _NODES, _TWICE, _GROUPS),
    Expression(
        "check-flavor-missing",
        (kueue.CLUSTER_QUEUE,),
        _CHECKS,
        (*_GROUPS, *_list_of_spec("checks", "admissionChecksStrategy", "admissionChecks")),
    ),
    Expression("min-count-conflict", (kueue.WORKLOAD,), _MIN_COUNT, _list_of_spec("sets", "podSets")),
    Expression(
        "legacy-quota-annotation",
        (core.NAMESPACE,),
        _pair(f"{_note('quota')} == ''", " is deprecated since YuniKorn 1.2; write namespace.quota"),
        _NOTES,
    ),
    Expression(
        "quota-annotations-conflict",
        (core.NAMESPACE,),
        _pair(f"{_note('quota')} != ''", " is ignored, since namespace.quota is given"),
        _NOTES,
    ),
)
