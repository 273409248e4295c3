"""Looks up jobs that no watch shows by their name: they name no queue, or do not exist.

Only the API server's answer that a job does not exist, or has another uid, counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from reconciler.controllers.jobs.record import JobId
from reconciler.core.commands import ReadObject
from reconciler.core.controller import Busy
from reconciler.jobs.kind import JobKind
from reconciler.objects.observed import Key


class JobQuestions:
    """The requests. One request serves all jobs that had one name, one after the other."""

    def __init__(self) -> None:
        self._unsent: dict[Key, dict[JobId, None]] = {}
        self._sent: dict[Key, dict[JobId, None]] = {}

    def ask(self, job: JobId) -> None:
        """Ask for the job.

        An answer that is in flight does not count, because it may be older than the reason for asking.
        """
        self._unsent.setdefault(job.key, {})[job] = None

    def requests(self, kinds: Mapping[str, JobKind], busy: Busy) -> Iterator[ReadObject]:
        """The requests to send. Each is sent once; after a failure of the API server it is retried like any request."""
        for key in [key for key in self._unsent if not busy(*key)]:
            self._sent[key] = self._unsent.pop(key)
            yield ReadObject(key, kinds[key[0]].resource.path(key[1]))

    def answered(self, key: Key) -> list[JobId]:
        """The jobs that the answer is about."""
        later = self._unsent.get(key, {})
        return [job for job in self._sent.pop(key, {}) if job not in later]
