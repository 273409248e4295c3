"""Reads the owners of a job or Pod, and the Workload that a job names, from the API server: no cache has them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from cluster.errors import ClusterError
from cluster.resource import Manifest, Resource
from cluster.reviews import Access, Caller
from cluster.served import WORKLOADS
from policies.amounts.ancestry import DEEPEST, is_marked
from policies.configuration.settings import Configuration
from policies.dialects.core import POD
from policies.dialects.frameworks.replicated import LEADER, REPLICA_SET
from policies.dialects.kueue_jobs import IDENTIFIERS, QUEUE_NAME, QueuedJob, job_reader, prebuilt_of
from policies.dialects.kueue_kinds import IN_USE, WORKLOAD
from policies.dialects.kueue_owners import controller_of
from policies.dialects.kueue_workload import WrittenWorkload, read_workload
from policies.dialects.labels import is_domain
from policies.dialects.reading import listing, mapping, metadata, texts
from policies.model.change import ChangeOperation, User
from policies.model.forest import Forest
from policies.mutation.kueue_defaults import has_default_queue, settings_for
from webhook.review import Review

_BETWEEN = {each.kind: each for each in (REPLICA_SET, LEADER)}
_NO_DEFAULT_QUEUE = Forest()
_NEWEST = WORKLOADS[0]
Fetch = Callable[[Resource, str, str], Manifest | None]
"""Reads an object by its kind, namespace and name; None if it does not exist. Raises ClusterError."""
May = Callable[[Caller, Access], bool]
"""Whether the API server allows the access. Raises ClusterError."""


class OwnerUnknown(Exception):
    """An owner, or another job that the review depends on, cannot be read."""


class OwnerMissing(Exception):
    """The owner in the owner reference does not exist, so it would never be known whose quota the job uses. Or the
    owners of a new object take too long to read. The message says which."""


def owners(
    review: Review, configuration: Configuration, fetch: Fetch, forest: Forest = _NO_DEFAULT_QUEUE
) -> list[QueuedJob]:
    """The owners, the direct one first. Most objects have no owner, and then nothing is read.

    `forest`: has the LocalQueues named `default`, for objects that are about to get a queue.
    The walk ends at an owner of a kind that is not managed, or whose UID is not the one in the owner reference. Raises
    OwnerUnknown, and OwnerMissing where Kueue's webhooks refuse the object.
    """
    found: list[QueuedJob] = []
    if not _asks(review, configuration, forest):
        return found
    kind, above = review.kind, controller_of(metadata(review.manifest))
    while above is not None and is_domain(above.name) and len(found) < DEEPEST:
        between = _BETWEEN.get(above.kind)
        passes = between is not None and between.may_make(kind)
        framework = configuration.framework(above.kind) or (between if passes else None)
        if framework is None:
            break  # nobody counts it, so the object queues on its own
        resource = Resource(above.kind.group, framework.version, framework.plural, namespaced=True)
        manifest = read(fetch, resource, review.namespace or "default", above.name)
        if manifest is None and not _excused(review, configuration):
            raise OwnerMissing(f"workload owner not found: {above.kind.kind} {above.name}")
        if manifest is None or metadata(manifest).get("uid") != above.uid:
            break
        found.append(job_reader(framework)(named(manifest, resource, above.kind.kind)))
        kind, above = above.kind, found[-1].controller
    return found


def creator(review: Review, above: list[QueuedJob], may: May) -> User:
    """The user who creates a Pod; a tenant if it is a ServiceAccount that does not control the owner, `above[0]`.

    A tenant may have ServiceAccounts in other namespaces. But only a controller may write the status of its objects.
    Raises OwnerUnknown.
    """
    user = review.user
    if review.kind != POD or not above or user.is_of_kubernetes or not user.may_be_controller_in(review.namespace):
        return user
    return _known(user, above[0].ref.group, above[0].framework.plural, review.namespace, may)


def releaser(review: Review, configuration: Configuration, may: May) -> User:
    """The user who removes the finalizer of a Workload; a tenant if it may not write the status of Workloads.

    Raises OwnerUnknown.
    """
    user, both = review.user, (metadata(each or {}) for each in (review.old_object, review.object))
    before, after = (IN_USE in listing(meta.get("finalizers")) for meta in both)
    if review.kind != WORKLOAD or review.object is None or after or not before:
        return user
    if user.name in configuration.kueue.admitting_users:
        return user
    return _known(user, _NEWEST.group, _NEWEST.plural, review.namespace, may)


def _known(user: User, group: str, plural: str, namespace: str, may: May) -> User:
    """The user; a tenant if it may not write the status of these objects. Raises OwnerUnknown."""
    caller = Caller(user.name, groups=user.groups)
    accesses = [Access(verb, group, plural, "status", namespace) for verb in ("update", "patch")]
    try:
        return replace(user, tenant=not any(may(caller, access) for access in accesses))
    except ClusterError as error:
        raise OwnerUnknown(f"the rights of {user.name} cannot be read: {error}") from error


def named_workload(review: Review, configuration: Configuration, fetch: Fetch) -> list[WrittenWorkload]:
    """The existing Workload that a job newly names as its own. Most jobs name none, and then nothing is read.

    Raises OwnerUnknown.
    """
    if review.object is None or review.subresource or not configuration.kueue.manage_jobs or review.kind == POD:
        return []
    if configuration.framework(review.kind) is None:
        return []
    annotated, both = configuration.kueue.enabled(IDENTIFIERS), (review.old_object or {}, review.object)
    before, name = (prebuilt_of(metadata(each), annotated=annotated) for each in both)
    if not name or name == before or not is_domain(name):
        return []
    manifest = read(fetch, _NEWEST, review.namespace or "default", name)
    return [read_workload(named(manifest, _NEWEST, WORKLOAD.kind))] if manifest is not None else []


def _asks(review: Review, configuration: Configuration, forest: Forest) -> bool:
    """Whether the owners matter: jobs or Pods are managed, and the object names a queue or is about to get one.

    For a Pod they matter only when it is created, since a gate is added only then. They also matter if a tenant creates
    it as the Pod of a job.
    """
    settings = settings_for(review.kind, review.namespace or "default", configuration, forest)
    if review.object is None or review.subresource or not (settings.manage_jobs or settings.manage_pods):
        return False
    if review.kind == POD and review.operation is not ChangeOperation.CREATE:
        return False
    if texts(mapping(metadata(review.object).get("labels"))).get(QUEUE_NAME):
        return True
    created = review.operation is ChangeOperation.CREATE
    if review.kind == POD and is_marked(review.object) and not review.user.may_be_controller_in(review.namespace):
        return created
    return created and (settings.without_queue or has_default_queue(review.namespace or "default", forest))


def _excused(review: Review, configuration: Configuration) -> bool:
    """Whether the owner may be missing: for an object that is being deleted, and for writes of the reconciler or Kueue,
    which stop a job that has lost its owner."""
    going = review.kind != POD and metadata(review.manifest).get("deletionTimestamp")
    return bool(going) or review.user.name in configuration.kueue.admitting_users


def read(fetch: Fetch, resource: Resource, namespace: str, name: str) -> Manifest | None:
    """The object; None if it does not exist. Raises OwnerUnknown."""
    try:
        return fetch(resource, namespace, name)
    except ClusterError as error:
        raise OwnerUnknown(f"{resource} {namespace}/{name} cannot be read: {error}") from error


def named(manifest: Manifest, resource: Resource, kind: str) -> Manifest:
    """The manifest with apiVersion and kind, even if the answer lacks them."""
    return {"apiVersion": f"{resource.group}/{resource.version}", "kind": kind, **manifest}
