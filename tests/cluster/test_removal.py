"""How often the objects of an installation are read while Quotree is removed."""

from __future__ import annotations

from contextlib import closing

from cluster.removal import RemovalReader
from policies.takeover.objects import ObjectRef, ReleaseNames
from tests.cluster.fake import FakeApi, Reply, Seen, page, status

INSTALLED = {"metadata": {"name": "quotree-webhook", "resourceVersion": "1"}}
ROLE = "/apis/rbac.authorization.k8s.io/v1/clusterroles/quotree-webhook"


def test_objects_that_were_not_installed_are_read_once_and_others_again() -> None:
    class Installed(FakeApi):
        there = True

        def reply_to(self, seen: Seen) -> Reply:
            self.seen.append(seen)
            if seen.path == ROLE and self.there:
                return lambda handler: handler.send_json(200, INSTALLED)
            if seen.path.endswith(("/deployments", "/pods", "/customresourcedefinitions")):
                return page()
            return status(404, "NotFound")

        def roles(self) -> list[str]:
            asked = [each.path for each in self.seen if "/clusterroles/" in each.path]
            self.seen.clear()
            return asked

    role = ObjectRef("ClusterRole", "quotree-webhook")
    with closing(Installed()) as api, api.cluster() as cluster:
        reader = RemovalReader(cluster, ReleaseNames())
        assert role in reader.read().objects
        assert len(api.roles()) > 10

        api.there = False
        assert role not in reader.read().objects
        assert api.roles() == [ROLE]

        api.there = True
        assert role in reader.read().objects, "another tool has created it again"
