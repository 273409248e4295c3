"""A kind of Kueue's that an administrator describes, since Quotree has no description of it."""

from policies.configuration.settings import ReconcilerSettings
from policies.dialects.frameworks.wrapped import APP_WRAPPER
from policies.dialects.job_shape import JobShape, PodSetPath, SuspendField

_SHAPE = JobShape(
    kind=APP_WRAPPER,
    version="v1beta2",
    plural="appwrappers",
    suspend=SuspendField("spec.suspend"),
    pod_sets=(PodSetPath("main", "spec.template"),),
)
WRAPPERS = ReconcilerSettings(jobs={APP_WRAPPER: _SHAPE})
