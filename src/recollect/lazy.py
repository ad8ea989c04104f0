"""Names of a package that are imported when they are first asked for.

Importing is most of what a short command does. A package that offers much, of which a process needs
little, says where each name is and hands out `lazy_getattr(__name__, homes)` as its `__getattr__`.
"""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` itself takes too long before a hook's watchdog runs
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def lazy_getattr(package: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """`homes` names the module of each name."""

    def get(name: str) -> object:
        if name in homes:
            from importlib import import_module

            return getattr(import_module(homes[name]), name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return get
