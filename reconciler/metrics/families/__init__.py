"""The metrics, one file for each topic. Importing this package registers all metrics except `other_queues`."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

for _module in iter_modules(__path__, f"{__name__}."):
    if not _module.ispkg:
        import_module(_module.name)
