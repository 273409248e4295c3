"""CEL expressions for the resource groups of a Cohort or a ClusterQueue."""

from __future__ import annotations

from policies.cel.expression import joined_list, list_of_spec

GROUPS = list_of_spec("groups", "resourceGroups")


def each_quota(texts: str) -> str:
    """A CEL expression that joins `texts` for each flavor `f` of each group `g`."""
    of_group = joined_list(f"g.?flavors.orValue([]).map(f, {texts})")
    return joined_list(f"variables.groups.map(g, {of_group})")


def same_before(holds: str) -> str:
    """A CEL condition: `holds` is true for the old quota `p` of the current flavor `f` and resource `q`."""
    return (
        "variables.old_groups.exists(h, h.?flavors.orValue([]).exists(e, e.name == f.name "
        f"&& e.?resources.orValue([]).exists(p, p.name == q.name && {holds})))"
    )
