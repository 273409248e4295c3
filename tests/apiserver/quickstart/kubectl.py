"""`kubectl apply -k` for a cluster without kube-proxy: what it installs is called at ports of this machine.

python -m tests.apiserver.quickstart.kubectl WEBHOOK_PORT API_PORT apply -k manifests/with-reconciler
"""

from __future__ import annotations

import subprocess
import sys

import yaml

from tests.apiserver import build
from tests.apiserver.tenant.passing import Reachable
from tests.apiserver.webhook.guard import as_input, reachable


def main() -> None:
    webhook, api, *args = sys.argv[1:]
    kubectl = build.programs().kubectl
    at = args.index("-k")
    rendered = subprocess.run([*kubectl, "kustomize", args[at + 1]], stdout=subprocess.PIPE, text=True, check=True)
    passed_on = Reachable(int(api))
    manifests = yaml.load_all(rendered.stdout, yaml.CSafeLoader)
    objects = [passed_on(reachable(each, int(webhook))) for each in manifests]
    done = subprocess.run([*kubectl, *args[:at], "-f", "-", *args[at + 2 :]], input=as_input(objects), text=True)
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
