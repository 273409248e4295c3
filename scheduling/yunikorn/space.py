"""What a Namespace says of its quota, read once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from policies.dialects import yunikorn
from policies.dialects.core import Namespace
from policies.dialects.yunikorn_flaws import deciding
from policies.dialects.yunikorn_gates import has_quota


class Space(NamedTuple):
    """`annotations` are those it was read from. `limited`: Pods wait for its quota. `flaw` is why that cannot be read,
    empty where it can; `tags` are those of its applications.
    """

    annotations: Mapping[str, str]
    limited: bool
    quota: Mapping[str, int] | None
    flaw: str
    tags: dict[str, str]

    @classmethod
    def of(cls, name: str, namespace: Namespace) -> Space:
        flaw = next(deciding(namespace), None)
        said = f"{flaw.annotation} cannot be read: {flaw.message}; {flaw.fix}" if flaw else ""
        tags = {"namespace": name, **yunikorn.application_tags(namespace)}
        quota = yunikorn.quota(namespace) if has_quota(namespace) and not flaw else None
        return cls(namespace.annotations, has_quota(namespace), quota, said, tags)
