"""The metrics of Volcano's and YuniKorn's queues, one file for each topic. Importing this package registers them.

They are separate because their imports are slow, and most processes manage only Kueue's queues.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

for _module in iter_modules(__path__, f"{__name__}."):
    import_module(_module.name)
