"""Puts the values of the chart into their places in the objects."""

from __future__ import annotations

import json
from typing import Any

from generators.chart.options import PROCESSES, SUFFIX, WEBHOOKS, webhooks_of
from generators.chart.source import CONFIGURATION, Object, replicas_of
from generators.chart.template import Chunk, Code, When, replace_key

FOLLOWED = 'dig "yunikorn" "follow" true .Values.webhook.configuration'
"""The Helm expression for whether the webhook follows YuniKorn. Otherwise its role is not needed."""


def placed(obj: Object) -> Object:
    """The object, with references to the values in their places."""
    kind, name = obj["kind"], obj["metadata"]["name"]
    if kind in WEBHOOKS:
        for webhook, _ in webhooks_of(obj):
            _webhook(webhook, WEBHOOKS[kind])
    elif kind == "Deployment":
        _deployment(obj, _process(name))
    elif kind == "PodDisruptionBudget":
        _budget(obj, _process(name))
    elif kind == "HorizontalPodAutoscaler":
        _autoscaler(obj["spec"], f".Values.{_process(name)}.autoscaling")
    elif kind == "NetworkPolicy":
        _policy(obj["spec"]["ingress"], name.removeprefix("quotree-"))
    elif kind == "ServiceMonitor":
        _monitor(obj)
    elif kind == "PrometheusRule":
        obj["metadata"]["labels"][_added_items(".Values.prometheusRule.labels")] = None
        obj["spec"] = _verbatim(obj["spec"])
    elif kind == "ConfigMap" and "data" in obj:
        _configuration(obj, name)
    elif kind == "ResourceQuota":
        obj["spec"]["hard"]["pods"] = Code("{{ .Values.criticalPods | quote }}")
    elif kind == "Namespace" and name == "quotree-system":
        return {"when": ".Values.namespace.create", **obj}
    elif name in ("quotree-webhook-yunikorn", "quotree-audit-yunikorn"):
        return {"when": FOLLOWED, **obj}
    return obj


def _block(key: str, value: str) -> Chunk:
    """The key with the YAML of the value, even if the value is empty."""
    return Chunk(f"{key}: {{{{- toYaml {value} | nindent 2 }}}}")


def _if_set(key: str, value: str) -> Chunk:
    """The key with the YAML of the value, if the value is not empty."""
    return Chunk(f"{{{{- with {value} }}}}\n{key}: {{{{- toYaml . | nindent 2 }}}}\n{{{{- end }}}}")


def _added_items(value: str) -> Chunk:
    """The items or entries of the value, which are added to those of the manifest."""
    return Chunk(f"{{{{- with {value} }}}}\n{{{{- toYaml . | nindent 0 }}}}\n{{{{- end }}}}")


def _process(name: str) -> str:
    """The process whose values apply to an object. The reconcilers of parts use the values of the reconciler."""
    return next(process for process in PROCESSES if name.startswith(f"quotree-{process}"))


def _deployment(deployment: Object, process: str) -> None:
    at, spec = f".Values.{process}", deployment["spec"]
    replicas_of(deployment)["replicas"] = Code(f"{{{{ {at}.replicas }}}}")
    meta, pod = spec["template"]["metadata"], spec["template"]["spec"]
    meta["labels"][_added_items(f"{at}.podLabels")] = None
    meta[_if_set("annotations", f"{at}.podAnnotations")] = None
    priority = f"{{{{- with {at}.priorityClassName }}}}\npriorityClassName: {{{{ . | quote }}}}\n{{{{- end }}}}"
    pod.setdefault("priorityClassName", "")
    replace_key(pod, "priorityClassName", Chunk(priority))
    replace_key(pod, "securityContext", _block("securityContext", f"{at}.podSecurityContext"))
    if deployment["metadata"]["name"] == f"quotree-{process}":  # Pods of a part are spread by their own label
        spread = _if_set("topologySpreadConstraints", f"{at}.topologySpreadConstraints")
        replace_key(pod, "topologySpreadConstraints", spread)
    pod.update(dict.fromkeys(_if_set(key, f"{at}.{key}") for key in ("affinity", "nodeSelector", "tolerations")))
    pod[_if_set("imagePullSecrets", ".Values.image.pullSecrets")] = None
    pod["volumes"].append(_added_items(f"{at}.extraVolumes"))
    (container,) = pod["containers"]
    _container(container, at)


def _container(container: Object, at: str) -> None:
    container["image"] = Code('{{ include "quotree.image" . | quote }}')
    container["args"].append(_added_items(f"{at}.extraArgs"))
    container["volumeMounts"].append(_added_items(f"{at}.extraVolumeMounts"))
    replace_key(container, "resources", _block("resources", f"{at}.resources"))
    replace_key(container, "securityContext", _block("securityContext", f"{at}.securityContext"))
    pull = "{{- with .Values.image.pullPolicy }}\nimagePullPolicy: {{ . }}\n{{- end }}"
    container[Chunk(pull)] = None
    container[_if_set("env", f"{at}.extraEnv")] = None


def _budget(obj: Object, process: str) -> None:
    at = f".Values.{process}.podDisruptionBudget"
    obj["spec"]["maxUnavailable"] = Code(f"{{{{ {at}.maxUnavailable }}}}")
    obj["when"] = f"{at}.enabled"


def _autoscaler(spec: Object, at: str) -> None:
    for key in ("minReplicas", "maxReplicas"):
        spec[key] = Code(f"{{{{ {at}.{key} }}}}")
    (metric,) = spec["metrics"]
    metric["resource"]["target"]["averageUtilization"] = Code(f"{{{{ {at}.cpu }}}}")


def _policy(ingress: list[Any], process: str) -> None:
    if process == "webhook":
        ingress[0][_if_set("from", ".Values.networkPolicy.webhookFrom")] = None
    replace_key(ingress[-1], "from", _if_set("from", ".Values.networkPolicy.metricsFrom"))


def _monitor(obj: Object) -> None:
    obj["metadata"]["labels"][_added_items(".Values.serviceMonitor.labels")] = None
    (endpoint,) = obj["spec"]["endpoints"]
    endpoint["interval"] = Code("{{ .Values.serviceMonitor.interval }}")


def _verbatim(node: Any) -> Any:
    """The node, with escapes for texts that contain `{{` for Prometheus, so that Helm does not evaluate them."""
    if isinstance(node, dict):
        return {key: _verbatim(value) for key, value in node.items()}
    if isinstance(node, list):
        return [_verbatim(item) for item in node]
    return Code(f"{{{{ `{node}` | quote }}}}") if isinstance(node, str) and "{{" in node else node


def _configuration(obj: Object, name: str) -> None:
    (process,) = (process for process, (_, config) in PROCESSES.items() if config == name)
    given = f".Values.{process}.configuration"
    added = [each for each in obj["data"] if isinstance(each, When)]
    more = " ".join(f"(ternary (fromJson `{json.dumps(each.body)}`) dict {each.condition})" for each in added)
    text = f'include "quotree.completed" (list {given} {more})' if more else f"toYaml {given}"
    obj["data"] = {Chunk(f"{CONFIGURATION}: |\n  {{{{- {text} | nindent 2 }}}}"): None}


def _webhook(webhook: Object, side: str) -> None:
    short = webhook["name"].removesuffix(SUFFIX)

    def own(*keys: str, default: str) -> str:
        quoted = " ".join(f'"{key}"' for key in (short, *keys))
        return f"dig {quoted} {default} .Values.webhooks.{side}"

    for key in ("failurePolicy", "timeoutSeconds"):
        default = f'"{webhook[key]}"' if isinstance(webhook[key], str) else str(webhook[key])
        webhook[key] = Code(f"{{{{ {own(key, default=default)} }}}}")
    for key in ("namespaceSelector", "objectSelector"):
        more = own(key, "matchExpressions", default="list")
        if key not in webhook:
            text = (
                f"{{{{- with {more} }}}}\n{key}:\n  matchExpressions: {{{{- toYaml . | nindent 4 }}}}\n{{{{- end }}}}"
            )
            webhook[Chunk(text)] = None
        elif "matchExpressions" in webhook[key]:
            webhook[key]["matchExpressions"].append(_added_items(more))
        else:
            webhook[key][_if_set("matchExpressions", more)] = None
    conditions = own("matchConditions", default="list")
    if "matchConditions" in webhook:
        webhook["matchConditions"].append(_added_items(conditions))
    else:
        webhook[_if_set("matchConditions", conditions)] = None


def conditional(obj: Object) -> Any:
    """The object, inside its condition if it has one."""
    when = obj.get("when")
    body = {key: value for key, value in obj.items() if key != "when"}
    return {When(when, body): None} if when else body
