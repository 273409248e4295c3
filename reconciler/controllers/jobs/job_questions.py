"""Looks up jobs by name that no watch shows: they may have no queue label, or may not exist.

Only a response of the API server shows that a job does not exist, or that another job has its name.
"""

from __future__ import annotations

from collections.abc import Iterator

from reconciler.controllers.jobs.record import JobId
from reconciler.core.commands import ReadObject
from reconciler.core.controller import Busy
from reconciler.objects.observed import Key


class JobQuestions:
    """The requests. If several jobs had the same name, one request serves all of them."""

    def __init__(self) -> None:
        self._unsent: dict[Key, dict[JobId, None]] = {}
        self._sent: dict[Key, dict[JobId, None]] = {}

    def ask(self, job: JobId) -> None:
        """Look up the job.

        A response that is on its way is ignored, because it may be older than the event that led to this look-up.
        """
        self._unsent.setdefault(job.key, {})[job] = None

    def requests(self, busy: Busy) -> Iterator[ReadObject]:
        """The requests to send. Each is returned once; the core sends it again if the API server fails."""
        for key in [key for key in self._unsent if not busy(*key)]:
            self._sent[key] = self._unsent.pop(key)
            yield ReadObject(key)

    def answered(self, key: Key) -> list[JobId]:
        """The jobs that waited for this response."""
        later = self._unsent.get(key, {})
        return [job for job in self._sent.pop(key, {}) if job not in later]
