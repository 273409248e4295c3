"""The steps of a take-over from Kueue's manager.

The API server calls Quotree's webhook in addition to Kueue's since it was installed, so no request passes unjudged when
Kueue's webhook is not called any more. Between the two managers nothing is admitted, and running work continues.
Source: Kueue v0.19 and v0.20, config/.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from policies.dialects.kueue_kinds import CONVERSION_PATH
from policies.dialects.reading import Manifest, listing, mapping, metadata, replaced, text, texts
from policies.takeover.objects import (
    CONFIGURATION_BEFORE,
    CONVERSION_BEFORE,
    KUEUES_API,
    OUR_API,
    SERVICES_BEFORE,
    TAKEN_FROM,
    FoundCluster,
    ObjectRef,
    PlanStep,
    ReleaseNames,
    annotated,
    deletion,
    noted,
    pod_annotations,
    ref_of,
    remaining_writer,
    remembered,
    replicas,
    started,
    stopped,
    unready,
    updates,
)
from policies.takeover.translation import Translated

UNASKED = "quotree-has-taken-over"
"""The name of a match condition that is always false."""
INJECTED = "cert-manager.io/inject-ca-from"
"""The annotation that makes cert-manager write a CA. It would restore Kueue's CA."""
CONFIGURATION_KEY = "configuration.yaml"
_REPLICAS = 2
"""The replicas for a reconciler that was installed with 0."""
_TEMPLATE_NOTE = "spec.template.metadata.annotations"

Render = Callable[[dict[str, Any]], str]


def steps(found: FoundCluster, names: ReleaseNames, translated: Translated, render: Render) -> tuple[PlanStep, ...]:
    """All steps in their order, including those that are done."""
    return (
        _hide(found, names, translated),
        _pause(found, names, translated),
        _configure(found, names, translated, render),
        _silence(found, names),
        hidden(found, "remove the visibility APIServices, which Kueue's manager serves", KUEUES_API, names.manager),
        _stop(found, names),
        _convert(found, names),
        _wait_for_end(found, names),
        _start(found, names),
        shown(found, "restore the APIService of Quotree's reconciler", OUR_API, names.reconciler),
    )


def started_with(found: FoundCluster, names: ReleaseNames) -> str:
    """The digest of the configuration that the reconciler's Pods were started with."""
    return pod_annotations(found.objects[names.reconciler]).get(TAKEN_FROM, "")


def _hide(found: FoundCluster, names: ReleaseNames, translated: Translated) -> PlanStep:
    title = "remove the APIService of Quotree's reconciler until it runs again"
    if started_with(found, names) == translated.digest:
        return PlanStep(title)
    return hidden(found, title, OUR_API, names.reconciler)


def _pause(found: FoundCluster, names: ReleaseNames, translated: Translated) -> PlanStep:
    """The step that stops a running reconciler. Otherwise it would start to decide with its old configuration as soon
    as Kueue's manager has stopped."""
    title = "stop Quotree's reconciler until it has Kueue's Configuration"
    if started_with(found, names) == translated.digest:
        return PlanStep(title)
    present = found.objects[names.reconciler]
    return PlanStep(
        title, updates(found, [stopped(present)]), remaining_writer(found, names.reconciler, names.reconciler_lease)
    )


def _configure(found: FoundCluster, names: ReleaseNames, translated: Translated, render: Render) -> PlanStep:
    title = f"write Kueue's Configuration into {names.configuration}"
    if started_with(found, names) == translated.digest:
        return PlanStep(title)
    present = found.objects[names.configuration]
    if remembered(present, CONFIGURATION_BEFORE) is None:
        present = noted(present, CONFIGURATION_BEFORE, mapping(present.get("data")).get(CONFIGURATION_KEY) or "")
    data = {**mapping(present.get("data")), CONFIGURATION_KEY: render(translated.manifest)}
    deployment = found.objects[names.reconciler]
    notes = {**pod_annotations(deployment), TAKEN_FROM: translated.digest}
    wanted = [replaced(present, "data", data), replaced(deployment, _TEMPLATE_NOTE, notes)]
    return PlanStep(title, updates(found, wanted))


def _silence(found: FoundCluster, names: ReleaseNames) -> PlanStep:
    """The step that turns Kueue's webhooks off by a match condition that is always false, and by nothing else."""
    present = [found.objects[ref] for ref in names.kueue_webhooks if ref in found.objects]
    title = "stop the API server from calling Kueue's webhooks"
    return PlanStep(title, updates(found, map(silenced, present)), settles=True)


def silenced(configuration: Manifest) -> dict[str, Any]:
    return replaced(
        configuration, "webhooks", [_silent(mapping(each)) for each in listing(configuration.get("webhooks"))]
    )


def _silent(webhook: Mapping[str, Any]) -> dict[str, Any]:
    conditions = list(listing(webhook.get("matchConditions")))
    if any(mapping(each).get("name") == UNASKED for each in conditions):
        return dict(webhook)
    return {**webhook, "matchConditions": [*conditions, {"name": UNASKED, "expression": "false"}]}


def hidden(found: FoundCluster, title: str, group: str, server: ObjectRef) -> PlanStep:
    """The step that removes the APIServices of a group, since one without a server blocks the deletion of all
    namespaces. An annotation of the server's Deployment keeps their manifests."""
    services, deployment = found.api_services(group), found.objects[server]
    if services:
        title += f": {', '.join(ref_of(each).name for each in services)}"
    kept = {ref_of(each).name: bare(each) for each in services}
    known = remembered(deployment, SERVICES_BEFORE) or {}
    writes = updates(found, [noted(deployment, SERVICES_BEFORE, {**known, **kept})]) if kept else ()
    return PlanStep(title, (*writes, *map(deletion, services)))


def shown(found: FoundCluster, title: str, group: str, server: ObjectRef) -> PlanStep:
    """The step that restores the APIServices, and then removes the annotation that kept them. Those that others have
    recreated for the same Service are left unchanged."""
    deployment = found.objects[server]
    kept = mapping(remembered(deployment, SERVICES_BEFORE))
    present = {ref_of(each).name: each for each in found.api_services(group)}
    wanted: list[Manifest] = []
    for name, before in sorted(kept.items()):
        if name not in present:
            wanted.append(bare(mapping(before)))
        elif _service(present[name]) != _service(mapping(before)):
            wanted.append(replaced(present[name], "spec", mapping(before).get("spec")))
    return PlanStep(title, updates(found, wanted or [noted(deployment, SERVICES_BEFORE, None)]))


def _service(api_service: Manifest) -> tuple[str | None, str | None]:
    """The namespace and the name of the Service that serves an APIService."""
    service = mapping(mapping(api_service.get("spec")).get("service"))
    return text(service.get("namespace")), text(service.get("name"))


def bare(manifest: Manifest) -> dict[str, Any]:
    """The manifest as a user would create it, without what the API server adds."""
    meta = {key: value for key, value in metadata(manifest).items() if key in ("name", "labels", "annotations")}
    kept = {key: value for key, value in manifest.items() if key in ("apiVersion", "kind", "spec")}
    return {**kept, "metadata": meta}


def _stop(found: FoundCluster, names: ReleaseNames) -> PlanStep:
    """The step that stops Kueue's manager, without waiting: nothing converts objects until the next step is done."""
    return PlanStep(f"scale {names.manager} to 0", updates(found, [stopped(found.objects[names.manager])]))


def _convert(found: FoundCluster, names: ReleaseNames) -> PlanStep:
    """The step that turns conversion over to Quotree's webhook. Kueue's manager writes its own CA into the definitions
    while it runs, so the step is checked again until it has ended."""
    client = our_client(found.objects[names.validating])
    mine = [
        each
        for each in found.definitions
        if _by_webhook(each) and (converted_in(each, names.kueue_namespace) or is_converted(each))
    ]
    injected = injector(found.objects[names.validating])
    wanted = [converting(each, client, injected) for each in mine]
    listed = ", ".join(str(mapping(mapping(each.get("spec")).get("names")).get("plural")) for each in mine)
    title = "let Quotree's webhook convert between v1beta1 and v1beta2"
    return PlanStep(f"{title}: {listed}" if listed else title, updates(found, wanted))


def _by_webhook(definition: Manifest) -> bool:
    """Whether a webhook converts the definition. The definitions of Kueue 0.20 have one version, so none does."""
    return mapping(mapping(definition.get("spec")).get("conversion")).get("strategy") == "Webhook"


def our_client(validating: Manifest) -> dict[str, Any]:
    """The Service and the CA of Quotree's webhook, from its webhook configuration."""
    first = mapping(next(iter(listing(validating.get("webhooks"))), None))
    client = mapping(first.get("clientConfig"))
    return {
        "service": {**mapping(client.get("service")), "path": CONVERSION_PATH},
        "caBundle": text(client.get("caBundle")) or "",
    }


def converted_in(definition: Manifest, namespace: str) -> bool:
    """Whether a webhook in this namespace converts the definition."""
    return mapping(_client_config(definition).get("service")).get("namespace") == namespace


def is_converted(definition: Manifest) -> bool:
    """Whether Quotree converts the definition, and an annotation has Kueue's former conversion."""
    return bool(mapping(mapping(remembered(definition, CONVERSION_BEFORE)).get("conversion")))


def names_us(definition: Manifest) -> bool:
    return mapping(_client_config(definition).get("service")).get("path") == CONVERSION_PATH


def converting(definition: Manifest, client: Mapping[str, Any], injected: str | None) -> dict[str, Any]:
    present = mapping(mapping(definition.get("spec")).get("conversion"))
    if not is_converted(definition):
        before = {"conversion": present, "injected": injector(definition)}
        definition = noted(definition, CONVERSION_BEFORE, before)
    webhook = {**mapping(present.get("webhook")), "clientConfig": dict(client)}
    return replaced(annotated(definition, INJECTED, injected), "spec.conversion", {**present, "webhook": webhook})


def injector(manifest: Manifest) -> str | None:
    """The source of the CA that cert-manager writes into the object, or None."""
    return texts(metadata(manifest).get("annotations")).get(INJECTED)


def _wait_for_end(found: FoundCluster, names: ReleaseNames) -> PlanStep:
    """The step that waits for the end of Kueue's manager. After the reconciler has started, it does not wait for the
    Lease again, since the reconciler does."""
    begun = replicas(found.objects[names.reconciler]) > 0
    waits = "" if begun else remaining_writer(found, names.manager, names.manager_lease)
    return PlanStep("wait until Kueue's manager has ended", waits=waits)


def _start(found: FoundCluster, names: ReleaseNames) -> PlanStep:
    deployment = found.objects[names.reconciler]
    wanted = started(deployment, _REPLICAS)
    return PlanStep(
        f"start {names.reconciler} with {replicas(wanted)} replicas", updates(found, [wanted]), unready(deployment)
    )


def _client_config(definition: Manifest) -> Mapping[str, Any]:
    conversion = mapping(mapping(definition.get("spec")).get("conversion"))
    return mapping(mapping(conversion.get("webhook")).get("clientConfig"))


def traces(found: FoundCluster, names: ReleaseNames) -> Iterator[str]:
    for ref in names.kueue_webhooks:
        present = found.objects.get(ref)
        if present is not None and silenced(present) == present and listing(present.get("webhooks")):
            yield str(ref)
    yield from (str(ref_of(each)) for each in found.definitions if is_converted(each))
    if remembered(found.objects.get(names.configuration), CONFIGURATION_BEFORE) is not None:
        yield str(names.configuration)
