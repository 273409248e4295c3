"""`kubectl` for a cluster whose Services lead nowhere: what `apply -k` installs is called at a port of this machine.

python -m tests.apiserver.quickstart.kubectl PORT apply -k manifests/with-reconciler
"""

from __future__ import annotations

import os
import subprocess
import sys

import yaml

from tests.apiserver import build
from tests.apiserver.webhook.guard import as_input, reachable


def main() -> None:
    port, *args = sys.argv[1:]
    kubectl = build.programs().kubectl
    if args[:1] == ["apply"] and "-k" in args:
        at = args.index("-k")
        rendered = subprocess.run([*kubectl, "kustomize", args[at + 1]], stdout=subprocess.PIPE, text=True, check=True)
        objects = [reachable(each, int(port)) for each in yaml.load_all(rendered.stdout, yaml.CSafeLoader)]
        done = subprocess.run([*kubectl, *args[:at], "-f", "-", *args[at + 2 :]], input=as_input(objects), text=True)
        sys.exit(done.returncode)
    os.execv(kubectl[0], [*kubectl, *args])


if __name__ == "__main__":
    main()
