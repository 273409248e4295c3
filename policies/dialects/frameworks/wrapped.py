"""AppWrapper and SparkApplication, which are only judged: their controllers decide the requests of their pods.

Source: Kueue v0.19, pkg/controller/jobs/{appwrapper,sparkapplication}.
"""

from __future__ import annotations

from policies.dialects.job_shape import Framework, SuspendField
from policies.model.objects import GroupKind

APP_WRAPPER = GroupKind("workload.codeflare.dev", "AppWrapper")
SPARK_APPLICATION = GroupKind("sparkoperator.k8s.io", "SparkApplication")

FRAMEWORKS = (
    Framework(
        kind=APP_WRAPPER,
        version="v1beta2",
        plural="appwrappers",
        suspend=SuspendField("spec.suspend"),
        managed_by="spec.managedBy",
        controller="workload.codeflare.dev/appwrapper-controller",
    ),
    Framework(
        kind=SPARK_APPLICATION,
        version="v1beta2",
        plural="sparkapplications",
        suspend=SuspendField("spec.suspend"),
        prebuilt=False,
        dispatched=False,
    ),
)
