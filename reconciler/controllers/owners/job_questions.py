"""Jobs that no watch shows, since they name no queue or are not there: the API server is asked for them by their name.

Only its answer that a job is not there, or is another one, counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from reconciler.core.commands import ReadObject
from reconciler.core.controller import Busy
from reconciler.jobs.kind import JobKind
from reconciler.objects.observed import Key


class JobQuestions:
    """By the name that each was known under: several may have had it one after the other, so that uids are kept."""

    def __init__(self) -> None:
        self._sought: dict[Key, dict[str, None]] = {}
        self._asked: dict[Key, dict[str, None]] = {}

    def seek(self, job: Key, uid: str) -> None:
        """An answer that is on its way does not count for this one: it may be older than what led here."""
        self._sought.setdefault(job, {})[uid] = None

    def asked(self, job: Key, uid: str) -> bool:
        """Whether an answer is on its way."""
        return uid in self._asked.get(job, ())

    def sent(self, kinds: Mapping[str, JobKind], busy: Busy) -> Iterator[ReadObject]:
        """Each is asked once; where the API server fails it is sent again like any request."""
        for job in [job for job in self._sought if not busy(*job)]:
            self._asked[job] = self._sought.pop(job)
            namespace, _, name = job[1].partition("/")
            yield ReadObject(job, kinds[job[0]].resource.item(name, namespace))

    def answered(self, job: Key) -> Iterable[str]:
        """The uids that the answer is about."""
        return self._asked.pop(job, {}).keys() - self._sought.get(job, {}).keys()
