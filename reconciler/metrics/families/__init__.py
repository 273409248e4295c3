"""The metrics, one file by topic; importing this package registers all of them."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

for _module in iter_modules(__path__, f"{__name__}."):
    import_module(_module.name)
