"""The metrics, one file by topic; importing this package registers all but those of `other_queues`."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

for _module in iter_modules(__path__, f"{__name__}."):
    if not _module.ispkg:
        import_module(_module.name)
