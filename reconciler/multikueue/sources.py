"""Watches the source of each worker's kubeconfig, and reports the kubeconfig whenever it changes.

Each Secret is watched by its name, and only if a MultiKueueCluster refers to it. So the manager's role may be limited
to these Secrets. Files are polled, because a volume changes files by moving links.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

from cluster.client import ClusterClient
from cluster.reflector import Pacing, Reflector, of_one, whole
from cluster.resource import SECRETS, Manifest, Resource
from policies.dialects.kubeconfig import BAD
from reconciler.multikueue.kubeconfigs import AllowedSources, RefusedKubeconfig, WorkerLogin, read_file, read_secret
from reconciler.multikueue.profiles import CLUSTER_PROFILES, disabled, read_profile
from reconciler.objects.workers import PathSource, ProfileSource, SecretSource, Source
from reconciler.shell.call import Call

_PERIOD = 0.5
"""Seconds between two checks of the files."""
Offer: TypeAlias = Callable[[str, WorkerLogin | RefusedKubeconfig], None]
Read: TypeAlias = Callable[[Manifest | None], WorkerLogin | RefusedKubeconfig]


@dataclass(frozen=True, slots=True)
class KubeconfigSources:
    """The sources of kubeconfigs that may be used.

    `namespace`: the manager's own namespace, which has the Secrets and ClusterProfiles.
    `allowed`: which files and which contents are allowed.
    `providers`: the programs of providers of credentials. None: no ClusterProfiles, because Kueue's gate
        MultiKueueClusterProfile is off, as by default.
    """

    namespace: str
    allowed: AllowedSources = field(default_factory=AllowedSources)
    providers: Mapping[str, Mapping[str, Any]] | None = None


class Sources:
    """Watches the sources.

    `post`: puts a call into the inbox of the loop.
    `offer`: called with each kubeconfig, in the loop's thread.
    `tick`: called about twice a second, in the loop's thread.
    """

    def __init__(
        self,
        cluster: ClusterClient,
        kept: KubeconfigSources,
        post: Callable[[Call], None],
        offer: Offer,
        tick: Callable[[], None],
    ) -> None:
        self._cluster = cluster
        self._kept = kept
        self._post = post
        self._offer = offer
        self._tick = tick
        self._ended = threading.Event()
        self._ticked = threading.Event()
        self._ticked.set()
        self._lock = threading.Lock()
        self._files: dict[str, str] = {}
        self._found: dict[str, WorkerLogin | RefusedKubeconfig] = {}
        self._reflectors: dict[str, Reflector[Manifest]] = {}
        self._thread = threading.Thread(target=self._run, name="kubeconfigs", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._ended.set()
        for reflector in self._reflectors.values():
            reflector.stop(timeout=0)
        if self._thread.ident is not None:
            self._thread.join(5)

    def follow(self, name: str, source: Source | None) -> None:
        self.drop(name)
        match source:
            case SecretSource(secret):
                kept = self._kept
                read = partial(read_secret, secret, allowed=kept.allowed, namespace=kept.namespace)
                self._reflect(name, SECRETS, secret, read)
            case PathSource(path):
                with self._lock:
                    self._files[name] = path
            case ProfileSource(profile):
                self._follow_profile(name, profile)
            case None:
                self._offer(name, RefusedKubeconfig(BAD, "kubeconfig reference is nil"))

    def drop(self, name: str) -> None:
        reflector = self._reflectors.pop(name, None)
        if reflector is not None:
            reflector.stop(timeout=0)
        with self._lock:
            self._files.pop(name, None)
            self._found.pop(name, None)

    def _follow_profile(self, name: str, profile: str) -> None:
        providers = self._kept.providers
        if providers is None:
            self._offer(name, disabled())
        else:
            read = partial(read_profile, profile, providers=providers, allowed=self._kept.allowed)
            self._reflect(name, CLUSTER_PROFILES, profile, read)

    def _reflect(self, name: str, resource: Resource, called: str, read: Read) -> None:
        if not called:
            self._offer(name, RefusedKubeconfig(BAD, f"the name of the {resource.plural} entry is empty"))
            return

        def found(manifest: Manifest | None) -> None:
            self._report(name, read(manifest), lambda: self._reflectors.get(name) is reflector)

        reflector: Reflector[Manifest] = of_one(
            self._cluster,
            resource,
            called,
            found,
            keep=whole,
            namespace=self._kept.namespace,
            pacing=Pacing(longest=30.0),
        )
        self._reflectors[name] = reflector
        reflector.start()

    def _report(self, name: str, found: WorkerLogin | RefusedKubeconfig, current: Callable[[], bool]) -> None:
        def offer() -> None:
            if current():
                self._offer(name, found)

        self._post(Call(offer))

    def _run(self) -> None:
        while not self._ended.wait(_PERIOD):
            with self._lock:
                files = dict(self._files)
            for name, path in files.items():
                self._read_path(name, path)
            if self._ticked.is_set():  # if the loop has not executed the last tick, do not send another
                self._ticked.clear()
                self._post(Call(self._turn))

    def _read_path(self, name: str, path: str) -> None:
        found = read_file(path, self._kept.allowed, self._found.get(name))
        with self._lock:
            if self._files.get(name) != path or self._found.get(name) == found:
                return
            self._found[name] = found
        self._report(name, found, lambda: self._files.get(name) == path)

    def _turn(self) -> None:
        self._ticked.set()
        for name, reflector in self._reflectors.items():
            if not reflector.synced.is_set() and reflector.last_error is not None:
                self._offer(name, RefusedKubeconfig(BAD, str(reflector.last_error)))
        self._tick()
