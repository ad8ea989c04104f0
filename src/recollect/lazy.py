"""Import the names of a package on first use.

A short command spends most of its time on imports. A package of which a process needs only a part
assigns `lazy_getattr(__name__, modules_by_name)` to its `__getattr__`.
"""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` itself takes too long before a hook's watchdog runs
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def lazy_getattr(package: str, modules_by_name: Mapping[str, str]) -> Callable[[str], object]:
    """Create a `__getattr__` for a package; `modules_by_name` maps each name to the module that
    defines it.
    """

    def get(name: str) -> object:
        if name in modules_by_name:
            from importlib import import_module

            return getattr(import_module(modules_by_name[name]), name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return get
