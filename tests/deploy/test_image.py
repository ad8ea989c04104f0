"""The image is built and run, where there is an image of Debian to build on.

RECOLLECT_TEST_IMAGE_BASE names it. Without a registry, mmdebstrap makes one:

    mmdebstrap --variant=minbase --include=ca-certificates bookworm base.tar
    podman import base.tar localhost/debian:bookworm
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from tests.real_parts import BUILDAH
from tests.waiting import SECONDS, wait_until

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
# No container runtime is needed: it also works inside of a container.
ISOLATION = "--isolation=chroot"


def buildah(*arguments: str) -> str:
    command = [BUILDAH.path(), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture(scope="module")
def container(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    base = os.environ.get("RECOLLECT_TEST_IMAGE_BASE")
    if base is None:
        pytest.skip("RECOLLECT_TEST_IMAGE_BASE names no image of Debian: see tests/deploy")
    wheels = tmp_path_factory.mktemp("wheels")
    pins = [
        f"--requirement={ROOT / name}" for name in ("requirements.txt", "requirements-build.txt")
    ]
    download = ("download", "--quiet", "--no-deps", "--require-hashes", "--only-binary=:all:")
    subprocess.run([sys.executable, "-m", "pip", *download, f"--dest={wheels}", *pins], check=True)
    image = "localhost/recollect-test"
    buildah(
        *("build", ISOLATION, "--network=host", "--format=docker", f"--tag={image}"),
        *(f"--file={ROOT / 'deploy' / 'Containerfile'}", f"--build-arg=BASE={base}"),
        *("--build-arg=MODEL=none", "--build-arg=PIP_OPTIONS=--no-index --find-links=/wheels"),
        *(f"--volume={wheels}:/wheels:ro", str(ROOT)),
    )
    name = buildah("from", image)
    yield name
    buildah("rm", name)
    buildah("rmi", image)


def test_the_image_has_a_health_check_and_no_privileges(container: str) -> None:
    config = json.loads(buildah("inspect", container))["Docker"]["config"]
    assert config["User"] == "10001:10001"
    assert "health/ready" in config["Healthcheck"]["Test"][-1]
    assert config["Entrypoint"] == ["recollect"]
    with pytest.raises(subprocess.CalledProcessError):
        buildah("run", ISOLATION, container, "--", "touch", "/opt/recollect/written")


def test_the_image_serves(container: str, tmp_path: Path) -> None:
    variables = {"RECOLLECT_HOST": "127.0.0.1", "RECOLLECT_PORT": "0", "RECOLLECT_EMBEDDER": "none"}
    options = [f"--env={name}={value}" for name, value in variables.items()]
    command = ["run", ISOLATION, "--network=host", *options, container, "--"]
    output = tmp_path / "output"
    with output.open("wb") as file:
        serving = subprocess.Popen(
            [BUILDAH.path(), *command, "recollect", "serve", "--json"], stdout=file
        )
    try:
        ready = json.loads(wait_until(output.read_text))
        headers = {"Authorization": f"Bearer {ready['key']}"}
        with httpx.Client(
            base_url=f"{ready['url']}/api/v1/", headers=headers, trust_env=False, timeout=SECONDS
        ) as client:
            assert client.get("health/ready").status_code == 200
            stored = client.post("memories", json={"content": "the harbour is deep"})
            assert stored.status_code == 201
            assert client.post("recall", json={"query": "harbour"}).json()["hits"]
    finally:
        serving.terminate()
        serving.wait()
