from __future__ import annotations

from collections.abc import Iterator
from http import HTTPStatus

from policies.dialects.misnamed import NO_KIND, OTHER, Misnamed, kinds_of, version_of
from policies.judging.rule import Proposal, rule
from policies.model.findings import Action, Finding, ObjectField, kind_field, write
from policies.model.objects import GroupKind, Ref


@rule(
    "unknown-kind",
    source="Kubernetes: no matches for kind",
    kinds=(OTHER,),
    alone=True,
    no_cel="an API server without the kind evaluates no policy",
    status=HTTPStatus.UNPROCESSABLE_ENTITY,
)
def unknown_kind(proposal: Proposal) -> Iterator[Finding]:
    """A kind or a group is missing, or does not exist and is similar to one of Kueue, Volcano or Kubernetes.

    Why it is refused: no API server knows it, so the object can never be created. Without this rule it would count as a
    kind of another project, and would not be judged. A kind in a group of Kueue or Volcano that is not similar to one
    of theirs gets a warning, since their next version may have it.
    Example: `kind: ClusterQeue`; `apiVersion: kueue.k8s.io/v1beta2`; `apiVersion: batch.volcano.io/v1alpha1`.
    Fix: write kind and apiVersion as the message suggests.
    """
    for _, obj in proposal.changed(Misnamed):
        group, kind, meant = obj.ref.group, obj.ref.kind, obj.slip.meant
        if kind == NO_KIND:
            yield Finding(obj.ref, "kind", "is required", fix="add it")
        elif obj.slip.at_group and meant is not None:
            message = f"no API server knows {kind} in {group}" if group else _without_group(obj)
            as_kind = f"kind {meant.kind} of " if meant.kind != kind else ""
            version = version_of(meant, obj.api_version)
            patch = write("apiVersion", version) if obj.slip.certain and obj.api_version else ()
            fix = f"did you mean {as_kind}{version}?" if obj.api_version else f"write apiVersion: {version}"
            yield Finding(obj.ref, "apiVersion", message, fix=fix, patch=patch, concerns=_missed(obj.ref, meant))
        elif meant is not None:
            patch = write("kind", meant.kind) if obj.slip.certain else ()
            message, fix = f"{group or 'Kubernetes'} has no kind {kind}", f"did you mean {meant.kind}?"
            yield Finding(obj.ref, "kind", message, fix=fix, patch=patch, concerns=_missed(obj.ref, meant))
        else:
            message, fix = f"{group} has no kind {kind} that is known here", f"known are {', '.join(kinds_of(group))}"
            yield Finding(obj.ref, "kind", message, fix=fix, action=Action.WARN)


def _without_group(obj: Misnamed) -> str:
    return f"{obj.ref.kind} is not a kind of Kubernetes itself" if obj.api_version else "is required"


def _missed(misnamed: Ref, meant: GroupKind) -> tuple[ObjectField, ...]:
    """The object that is meant. Findings about references to this missing object follow from this one."""
    namespaces = dict.fromkeys((misnamed.namespace, misnamed.namespace or "default"))
    return tuple(kind_field(Ref(*meant, namespace, misnamed.name)) for namespace in namespaces)
