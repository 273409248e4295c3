"""`python -m tests.bench.serving COUNT FAN_OUT DIR`: the process of a webhook for a generated organisation.

It manages Pods, and the namespace QUEUED has a LocalQueue `default`.
"""

from __future__ import annotations

import gc
import ipaddress
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

from certs import pki
from cli.main import GARBAGE
from cluster.served import FOLLOWED
from cluster.sightings import Sighting, Sightings
from cluster.store import FixedCache
from policies.configuration.settings import Configuration, KueueSettings
from policies.dialects import read
from policies.model.forest import Forest
from tests.bench.organisation import organisation
from tests.builders import local_queue
from webhook.server import serve
from webhook.settings import WebhookSettings

QUEUED = "queued"


def main() -> int:
    gc.set_threshold(*GARBAGE)
    count, fan_out, folder = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
    now = datetime.now(UTC)
    authority = pki.new_authority("bench", now, timedelta(days=1))
    server = pki.new_server(authority, ["localhost", str(ipaddress.IPv4Address("127.0.0.1"))], now, timedelta(days=1))
    (folder / "ca.crt").write_bytes(authority.certificate)
    (folder / "tls.crt").write_bytes(server.certificate)
    (folder / "tls.key").write_bytes(server.key)

    def world() -> FixedCache:
        manifests = [*organisation(count, fan_out), local_queue("default", "cq", QUEUED)]
        objects = [obj for obj in map(read, manifests) if obj]
        seen = {obj.ref: Sighting(obj.ref.name, "1") for obj in objects}
        return FixedCache(Forest.of(objects, known=FOLLOWED), Sightings().listed("", "1", (), seen))

    settings = WebhookSettings(
        port=0,
        metrics_port=0,
        certificate=folder / "tls.crt",
        key=folder / "tls.key",
        drain_seconds=0,
        address_file=folder / "address.json",
        configuration=Configuration(kueue=KueueSettings(manage_jobs=True, manage_pods=True)),
    )
    return serve(settings, world)


if __name__ == "__main__":
    sys.exit(main())
