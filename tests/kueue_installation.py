"""A cluster as Kueue v0.19.2 and Quotree's manifests leave it: the objects of both installations, Kueue at work."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

Manifest = dict[str, Any]
SYSTEM, OURS = "kueue-system", "quotree-system"
CONVERTED = ("clusterqueues", "cohorts", "localqueues", "multikueueclusters", "workloads")
KUEUE_CA, OUR_CA = "S3VldWU=", "T3Vycw=="
CONFIGURATION = """\
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
health:
  healthProbeBindAddress: :8081
metrics:
  bindAddress: :8443
webhook:
  port: 9443
leaderElection:
  leaderElect: true
  resourceName: c1f6bfd2.kueue.x-k8s.io
controller:
  groupKindConcurrency:
    Job.batch: 5
    Pod: 5
clientConnection:
  qps: 50
  burst: 100
integrations:
  frameworks:
    - batch/job
    - jobset.x-k8s.io/jobset
    - workload.codeflare.dev/appwrapper
    - pod
fairSharing:
  preemptionStrategies: [LessThanInitialShare]
"""
"""With what people change, beside what Kueue's manifests say."""


def named(kind: str, name: str, namespace: str = "", version: str = "v1", **fields: Any) -> Manifest:
    meta = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": version, "kind": kind, "metadata": meta, **fields}


def deployment(
    name: str, namespace: str, image: str, *args: str, container: str = "manager", count: int = 1
) -> Manifest:
    labels = {"app": name}
    pod = {"containers": [{"name": container, "image": image, "args": list(args)}], "serviceAccountName": name}
    template = {"metadata": {"labels": labels}, "spec": pod}
    spec = {"replicas": count, "selector": {"matchLabels": labels}, "template": template}
    return named("Deployment", name, namespace, "apps/v1", spec=spec)


def hook(name: str, namespace: str, service: str, ca: str, path: str = "/x", **fields: Any) -> Manifest:
    client = {"service": {"name": service, "namespace": namespace, "path": path, "port": 443}, "caBundle": ca}
    usual = {"admissionReviewVersions": ["v1"], "sideEffects": "None", "failurePolicy": "Fail", "timeoutSeconds": 10}
    return {"name": name, "clientConfig": client, **usual, **fields}


def kueue(image: str = "registry.k8s.io/kueue/kueue:v0.19.2", written: str = CONFIGURATION) -> list[Manifest]:
    """Kueue's objects but its definitions."""
    jobs = [{"apiGroups": ["batch"], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["jobs"]}]
    group, api = "admissionregistration.k8s.io/v1", "apiregistration.k8s.io/v1"
    only_new = {"name": "only-new", "expression": "oldObject == null"}
    mutating = [hook("mjob.kb.io", SYSTEM, "kueue-webhook-service", KUEUE_CA, "/mutate-batch-v1-job", rules=jobs)]
    validating = [
        hook("vjob.kb.io", SYSTEM, "kueue-webhook-service", KUEUE_CA, rules=jobs, matchConditions=[only_new]),
        hook("vworkload.kb.io", SYSTEM, "kueue-webhook-service", KUEUE_CA, rules=jobs),
    ]
    return [
        deployment("kueue-controller-manager", SYSTEM, image, "--config=/controller_manager_config.yaml", count=2),
        named("ConfigMap", "kueue-manager-config", SYSTEM, data={"controller_manager_config.yaml": written}),
        named("MutatingWebhookConfiguration", "kueue-mutating-webhook-configuration", version=group, webhooks=mutating),
        named(
            "ValidatingWebhookConfiguration",
            "kueue-validating-webhook-configuration",
            version=group,
            webhooks=validating,
        ),
        *(visibility(version, api) for version in ("v1beta1", "v1beta2")),
    ]


def visibility(version: str, api: str = "apiregistration.k8s.io/v1") -> Manifest:
    made = api_service(version, "visibility.kueue.x-k8s.io", "kueue-visibility-server", SYSTEM, api)
    made["metadata"]["labels"] = {"app.kubernetes.io/name": "kueue"}
    return made


def api_service(
    version: str, group: str, server: str, namespace: str, api: str = "apiregistration.k8s.io/v1"
) -> Manifest:
    spec = {
        "group": group,
        "version": version,
        "groupPriorityMinimum": 100,
        "versionPriority": 100,
        "insecureSkipTLSVerify": True,
        "service": {"name": server, "namespace": namespace, "port": 443},
    }
    return named("APIService", f"{version}.{group}", version=api, spec=spec)


def conversion() -> Manifest:
    """As Kueue's definitions have it, of the kinds that its manager converts."""
    service = {"name": "kueue-webhook-service", "namespace": SYSTEM, "path": "/convert", "port": 443}
    client = {"service": service, "caBundle": KUEUE_CA}
    return {"strategy": "Webhook", "webhook": {"clientConfig": client, "conversionReviewVersions": ["v1"]}}


def definitions() -> list[Manifest]:
    """Their conversion alone; what else they say is nobody's business here."""
    made = []
    for plural in (*CONVERTED, "resourceflavors"):
        how = conversion() if plural in CONVERTED else {"strategy": "None"}
        spec = {"group": "kueue.x-k8s.io", "names": {"plural": plural}, "conversion": how}
        made.append(
            named("CustomResourceDefinition", f"{plural}.kueue.x-k8s.io", version="apiextensions.k8s.io/v1", spec=spec)
        )
    return made


def quotree(settings: str = "  manageJobs: true\n  managePods: true\n") -> list[Manifest]:
    """Quotree's objects as far as a move goes by them."""
    own = f"apiVersion: config.quotree.dev/v1alpha1\nkind: Configuration\nprofile: strict\nkueue:\n{settings}"
    mutating = ("kueue-finalizers", "kueue-jobs", "kueue-other-jobs", "kueue-templates")
    mutating += ("kueue-pods", "kueue-default-pods")
    validating = ("kueue-trees", "kueue-localqueues", "kueue-workloads", "kueue-jobs", "kueue-pods", "kueue-pod-marks")
    group = "admissionregistration.k8s.io/v1"

    def hooks(names: tuple[str, ...]) -> list[Manifest]:
        return [hook(f"{name}.quotree.dev", OURS, "quotree-webhook", OUR_CA) for name in names]

    return [
        deployment("quotree-webhook", OURS, "quotree:0.1.0", container="webhook", count=3),
        deployment("quotree-reconciler", OURS, "quotree:0.1.0", container="reconciler", count=2),
        named("ConfigMap", "quotree-configuration", OURS, data={"configuration.yaml": own}),
        named("ConfigMap", "quotree-reconciler", OURS, data={"configuration.yaml": "kind: Configuration\n"}),
        named("MutatingWebhookConfiguration", "quotree-mutate", version=group, webhooks=hooks(mutating)),
        named("ValidatingWebhookConfiguration", "quotree-validate", version=group, webhooks=hooks(validating)),
        api_service("v1alpha1", "visibility.quotree.dev", "quotree-reconciler", OURS),
    ]


def everything() -> list[Manifest]:
    return deepcopy([*kueue(), *definitions(), *quotree()])
