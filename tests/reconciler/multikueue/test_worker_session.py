"""A session with a worker whose API server misbehaves."""

from __future__ import annotations

import queue

from reconciler.multikueue.kubeconfigs import WorkerLogin
from reconciler.multikueue.worker_session import Pulse, SessionBroken, WorkerSession
from reconciler.objects.watched import WORKLOAD_VIEW
from tests.cluster.fake import FakeApi, Reply, Seen, events, page
from tests.waiting import SECONDS


class RestoredApi(FakeApi):
    """Ends each watch at once, and then has older data than before."""

    def reply_to(self, seen: Seen) -> Reply:
        if seen.path == "/version":
            return lambda handler: handler.send_json(200, {})
        return events() if seen.is_watch else page(version=20 if seen.checks_version else 40)


def test_a_worker_that_was_restored_from_a_backup_breaks_the_session() -> None:
    api, heard = RestoredApi(), queue.Queue[object]()
    config = {
        "current-context": "a",
        "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
        "clusters": [{"name": "a", "cluster": {"server": api.url}}],
        "users": [{"name": "a", "user": {"token": "t"}}],
    }
    login = WorkerLogin("", config)
    session = WorkerSession(
        "east", login, (WORKLOAD_VIEW,), lambda _, event: heard.put(event), lambda: True, SECONDS, Pulse()
    )
    session.start()
    try:
        while not isinstance(event := heard.get(timeout=SECONDS), SessionBroken):
            pass
    finally:
        session.close()
        api.close()

    assert "set back from version 40 to 20" in event.message
