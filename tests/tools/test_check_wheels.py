"""Pins are checked for wheels on every machine we promise, and the check names what is missing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import check_wheels

ROOT = Path(__file__).parents[2]
# A source distribution, wheels for x86-64 and macOS, and none for Linux on aarch64.
NO_AARCH64_WHEEL = Path(__file__).with_name("no_aarch64_wheel.txt")


def test_the_pins_were_checked_for_wheels() -> None:
    """If this fails, the pins changed without the check: run `make check-wheels`."""
    assert json.loads(check_wheels.RECORD.read_text()) == check_wheels.fingerprint()


def test_every_promised_machine_is_checked() -> None:
    promised = (ROOT / "docs" / "platforms.md").read_text()
    for name in (*check_wheels.PLATFORMS, check_wheels.PYTHONS[0], check_wheels.PYTHONS[-1]):
        assert name in promised


def test_runtime_and_build_pins_are_part_of_the_development_pins() -> None:
    *parts, dev = (
        check_wheels.pins_by_name((ROOT / name).read_text()) for name in check_wheels.PINS
    )
    assert len(parts) == 3
    for pins in parts:
        for name, pin in pins.items():
            assert pin.split()[0] == dev[name].split()[0]


def test_a_missing_wheel_is_named() -> None:
    folder = Path(sys.executable).parent  # where the pinned uv is
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "check_wheels.py", NO_AARCH64_WHEEL],
        env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    missing = [line for line in done.stdout.splitlines() if line.startswith("missing")]
    assert missing == [
        f"missing: pytrec-eval-terrier has no wheel for Linux aarch64 on Python {python}"
        for python in check_wheels.PYTHONS
    ]
