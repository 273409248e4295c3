"""The rules about the legacy quota annotations of Namespaces."""

from __future__ import annotations

from collections.abc import Iterator

from policies.cel.expression import Expression, Variables, joined
from policies.dialects import yunikorn
from policies.dialects.core import NAMESPACE, YUNIKORN, Namespace
from policies.dialects.yunikorn_flaws import shortened
from policies.judging.rule import Proposal, rule
from policies.model.findings import STRICT_ONLY, Action, Finding

_NOTES: Variables = (("notes", "object.metadata.?annotations.orValue({})"),)


def _note(key: str) -> str:
    return f"variables.notes[?'{YUNIKORN}namespace.{key}'].orValue('')"


def _each_legacy(condition: str, text: str) -> str:
    """A CEL expression that joins `text` for each present legacy annotation if the condition is true."""
    return joined(
        *(
            f"{_note(key)} != '' && {condition} ? 'namespace.{key}=' + {_note(key)} + '{text}' : ''"
            for key in ("max.cpu", "max.memory")
        )
    )


_DEPRECATED = _each_legacy(f"{_note('quota')} == ''", " is deprecated since YuniKorn 1.2; write namespace.quota")
_IGNORED = _each_legacy(f"{_note('quota')} != ''", " is ignored, since namespace.quota is given")


@rule(
    "legacy-quota-annotation",
    source="YuniKorn: namespace.max.cpu and namespace.max.memory, deprecated since 1.2",
    kinds=(NAMESPACE,),
    default=Action.WARN,
    alone=True,
    cel=[Expression((NAMESPACE,), _DEPRECATED, _NOTES)],
    denies_some=True,
)
def legacy_quota_annotation(proposal: Proposal) -> Iterator[Finding]:
    """A Namespace sets its quota with the deprecated annotations namespace.max.cpu and namespace.max.memory.

    Why it is reported: both are deprecated since YuniKorn 1.2, and YuniKorn 2.0 ignores them. A namespace without
    namespace.quota then has no quota. It is an error if the configuration names YuniKorn 2.0 or later, else a warning.
    With `yunikorn.translateLegacyAnnotations` in the configuration, the webhook translates them.
    Example: `yunikorn.apache.org/namespace.max.cpu: "4"` and `yunikorn.apache.org/namespace.max.memory: 64Gi`.
    Fix: `yunikorn.apache.org/namespace.quota: '{"cpu":"4","memory":"64Gi"}'` in place of both.
    """
    version = proposal.configuration.yunikorn.version
    for _, namespace in proposal.changed(Namespace):
        if namespace.annotations.get(yunikorn.QUOTA) and yunikorn.reads_legacy(version):
            continue  # quota-annotations-conflict reports these
        present = [key for key in yunikorn.LEGACY if namespace.annotations.get(key)]
        for key in present:
            yield Finding(
                namespace.ref,
                yunikorn.field(key),
                _message(namespace, key, version),
                fix=_fix(namespace, present),
                subject=yunikorn.LEGACY[key],
                patch=_patch(namespace) if key == present[0] else (),
                profiles=STRICT_ONLY,
                action=None if yunikorn.reads_legacy(version) else Action.DENY,
            )


def _message(namespace: Namespace, key: str, version: tuple[int, int]) -> str:
    text = f"{yunikorn.short(key)}={shortened(namespace.annotations[key])}"
    if yunikorn.reads_legacy(version):
        return f"{text} is deprecated since YuniKorn 1.2; YuniKorn 2.0 will not read it"
    if namespace.annotations.get(yunikorn.QUOTA):
        return f"{text} is not read by YuniKorn {version[0]}.{version[1]}; only namespace.quota counts"
    return f"{text} is not read by YuniKorn {version[0]}.{version[1]}, which runs this namespace without a quota"


def _fix(namespace: Namespace, present: list[str]) -> str:
    names = " and ".join(yunikorn.short(key) for key in present)
    value = yunikorn.translation(namespace)
    if namespace.annotations.get(yunikorn.QUOTA):
        return f"remove {names}"
    if value is None:
        return f'write the amounts as a JSON object into {yunikorn.QUOTA}, such as {{"cpu":"4"}}, and remove {names}'
    return f"write {yunikorn.QUOTA}: '{value}' and remove {names}"


def _patch(namespace: Namespace) -> tuple[dict[str, object], ...]:
    if namespace.annotations.get(yunikorn.QUOTA):
        return tuple(yunikorn.removed(namespace))
    return tuple(yunikorn.translated(namespace))


@rule(
    "quota-annotations-conflict",
    source="YuniKorn: namespace.quota is used instead of namespace.max.*",
    kinds=(NAMESPACE,),
    default=Action.WARN,
    alone=True,
    cel=[Expression((NAMESPACE,), _IGNORED, _NOTES)],
)
def quota_annotations_conflict(proposal: Proposal) -> Iterator[Finding]:
    """A Namespace sets its quota twice: with namespace.quota and with the legacy annotations.

    Why it is reported: YuniKorn uses only namespace.quota, even if it cannot be read, and never merges the two. A
    resource that only a legacy annotation names is not limited.
    Example: with `namespace.quota: '{"cpu":"5"}'` and `namespace.max.memory: 1Gi`, memory is not limited.
    Fix: write all amounts into `namespace.quota`, and remove `namespace.max.cpu` and `namespace.max.memory`.
    """
    if not yunikorn.reads_legacy(proposal.configuration.yunikorn.version):
        return  # legacy-quota-annotation reports them: this version never reads them
    for _, namespace in proposal.changed(Namespace):
        if not namespace.annotations.get(yunikorn.QUOTA):
            continue
        for key, resource in yunikorn.LEGACY.items():
            name, text = yunikorn.short(key), namespace.annotations.get(key)
            if text:
                yield Finding(
                    namespace.ref,
                    yunikorn.field(key),
                    f"{name}={shortened(text)} is ignored: namespace.quota is set, {_instead(namespace, resource)}",
                    fix=f"write the amount of {resource} only in namespace.quota and remove {name}",
                    subject=resource,
                    patch=({"op": "remove", "path": yunikorn.pointer(key)},),
                    profiles=STRICT_ONLY,
                )


def _instead(namespace: Namespace, resource: str) -> str:
    texts = yunikorn.quota_texts(namespace)
    if texts is None or yunikorn.quota(namespace) is None:
        return "though it limits nothing"
    written = yunikorn.written_amounts(texts).get(yunikorn.type_of(resource))  # vcore limits cpu as well
    if written is None:
        return f"which does not limit {resource}, and the two are never merged"
    return f"which says {written[0]}={written[1]}"
