"""How to install the optional packages. Not from PyPI: another project has our name there."""

from __future__ import annotations


def how_to_install(extra: str) -> str:
    if extra == "bench":  # a distribution of its own
        return (
            "In a clone of Recollect, run `make install EXTRAS=bench`, or "
            "`uv tool install '.[bench]' --with ./bench`."
        )
    return (
        f"In a clone of Recollect, run `make install EXTRAS={extra}`, "
        f"`uv tool install '.[{extra}]'` or `pipx install '.[{extra}]'`."
    )
