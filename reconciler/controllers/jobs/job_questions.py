"""Jobs that no watch shows, since they name no queue or are not there: the API server is asked for them by their name.

Only its answer that a job is not there, or is another one, counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from reconciler.controllers.jobs.record import JobId
from reconciler.core.commands import ReadObject
from reconciler.core.controller import Busy
from reconciler.jobs.kind import JobKind
from reconciler.objects.observed import Key


class JobQuestions:
    """One request answers for all jobs that had one name, one after the other."""

    def __init__(self) -> None:
        self._unsent: dict[Key, dict[JobId, None]] = {}
        self._sent: dict[Key, dict[JobId, None]] = {}

    def ask(self, job: JobId) -> None:
        """An answer that is on its way does not count for this one: it may be older than what led here."""
        self._unsent.setdefault(job.key, {})[job] = None

    def requests(self, kinds: Mapping[str, JobKind], busy: Busy) -> Iterator[ReadObject]:
        """Each is sent once; where the API server fails it is sent again like any request."""
        for key in [key for key in self._unsent if not busy(*key)]:
            self._sent[key] = self._unsent.pop(key)
            yield ReadObject(key, kinds[key[0]].resource.path(key[1]))

    def answered(self, key: Key) -> list[JobId]:
        """The jobs that the answer is about."""
        later = self._unsent.get(key, {})
        return [job for job in self._sent.pop(key, {}) if job not in later]
