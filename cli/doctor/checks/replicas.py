"""The Deployments: their replicas and their versions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cli.doctor.result import Result, check, failure, ok, skipped, warning
from cli.doctor.target import Target
from cli.version import VERSION
from policies.dialects.reading import Manifest, mapping
from policies.takeover.objects import Ref


@check("replicas", "Webhook and reconciler run, with all their replicas ready.")
def replicas(target: Target) -> Iterator[Result]:
    names = target.names
    yield judged_replicas(names.webhook, target.webhook_deployment)
    yield judged_replicas(names.reconciler, target.reconciler_deployment)


def judged_replicas(ref: Ref, deployment: Manifest | None) -> Result:
    if deployment is None:
        return skipped(str(ref), "is not installed")
    wanted = mapping(deployment.get("spec")).get("replicas", 1)
    ready = mapping(deployment.get("status")).get("readyReplicas") or 0
    look = f"kubectl -n {ref.namespace} get pods, and describe and logs of one that is not ready"
    if not ready:
        return failure(str(ref), f"no replica of {wanted} is ready", look if wanted else "scale it up again")
    if ready < wanted:
        return warning(str(ref), f"{ready} of {wanted} replicas are ready", look)
    return ok(str(ref), f"{ready} of {wanted} replicas are ready")


@check("versions", "Webhook, reconciler and this program are of one version.")
def versions(target: Target) -> Iterator[Result]:
    both = {target.names.webhook: target.webhook_deployment, target.names.reconciler: target.reconciler_deployment}
    yield from judged_versions({ref: images(each) for ref, each in both.items() if each is not None})


def images(deployment: Manifest) -> list[str]:
    pod = mapping(mapping(mapping(deployment.get("spec")).get("template")).get("spec"))
    return [str(mapping(each).get("image")) for each in pod.get("containers") or ()]


def judged_versions(found: Mapping[Ref, list[str]], own: str = VERSION) -> Iterator[Result]:
    """A container that is not Quotree's says nothing, and neither does an image without a tag."""
    if not found:
        yield skipped("", "neither webhook nor reconciler is installed")
    for ref, names in found.items():
        tags = sorted({tag for name in names if (tag := _tag(name))})
        if not tags:
            yield skipped(str(ref), f"its image names no version: {', '.join(names) or 'none'}")
        elif tags != [own]:
            message = f"runs {', '.join(tags)}, and this program is {own}"
            yield warning(str(ref), message, "upgrade the older one; a rule may say something else in the other")
        else:
            yield ok(str(ref), f"runs {own}, as this program")


def _tag(image: str) -> str:
    """The tag of an image of ours; a digest and the port of a registry are none."""
    name, _, tag = image.partition("@")[0].rpartition("/")[2].partition(":")
    return tag if "quotree" in name else ""
