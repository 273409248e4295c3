"""Readers from manifests to typed objects, for every version that the three projects serve or have served.

`read` and `READERS` load all dialects, so they are imported only when they are first used: a starting process needs
few dialects.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = ["READERS", "read"]

if TYPE_CHECKING:  # the readers load all dialects
    from policies.dialects.readers import READERS, read
else:  # a type checker would take any name for one of this module

    def __getattr__(name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from policies.dialects import readers  # here, since the readers load all dialects

        return getattr(readers, name)
