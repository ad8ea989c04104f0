"""What is in `deploy/` fits the schemas of Kubernetes, and our settings and metrics."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any

import hcl2
import jsonschema  # type: ignore[import-untyped]  # it has no types
import kubernetes_validate
import pytest
import yaml
from tests.command_line import run_command
from tests.deploy.kustomize import Manifest, render
from tests.real_parts import CADDY, PROMTOOL, Program

from recollect.settings import Settings
from recollect.shells.api.metrics import Metrics

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
KUSTOMIZE = DEPLOY / "kustomize"
# Schemas of CloudNativePG, which are not ours to publish.
SCHEMAS = Path(os.environ.get("RECOLLECT_TEST_CRDS", ROOT.parent / "shared" / "deploy"))
OVERLAYS = ("base", "overlays/image-volume", "overlays/restore")
KUBERNETES = "1.33"
VARIABLES = {f"RECOLLECT_{field.name.upper()}" for field in fields(Settings)}


@pytest.mark.parametrize(("extras", "has_qdrant"), [("", False), ("qdrant", True)])
def test_the_image_has_the_extras_that_are_asked_for(extras: str, has_qdrant: bool) -> None:
    lines = (DEPLOY / "Containerfile").read_text()
    assert "ARG EXTRAS=" in lines
    (pins,) = re.findall(r'-r ("requirements\$\S+")', lines)
    selected = subprocess.run(
        ["sh", "-c", f"echo {pins}"],
        env={"EXTRAS": extras},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    (copied,) = re.findall(r"^COPY (requirements.*) \./$", lines, re.MULTILINE)
    assert selected in copied.split()
    assert f"!{selected}" in (ROOT / ".containerignore").read_text().splitlines()
    assert ("qdrant-client==" in (ROOT / selected).read_text()) == has_qdrant


def rendered(*, api: str) -> list[Any]:
    return [*_rendered(api)]


def _rendered(api: str) -> Iterator[Any]:
    for overlay in OVERLAYS:
        for manifest in render(KUSTOMIZE / overlay):
            name = f"{overlay} {manifest['kind']} {manifest['metadata']['name']}"
            group = manifest["apiVersion"].rpartition("/")[0]
            is_core = "." not in group or group.endswith(".k8s.io")
            if group == api or (api == "core" and is_core):
                yield pytest.param(manifest, id=name)


@pytest.mark.parametrize("manifest", rendered(api="core"))
def test_kubernetes_accepts_the_manifests(manifest: Manifest) -> None:
    kubernetes_validate.validate(manifest, KUBERNETES, strict=True)


@pytest.mark.parametrize("manifest", rendered(api="postgresql.cnpg.io"))
def test_cloudnativepg_accepts_the_manifests(manifest: Manifest) -> None:
    file = SCHEMAS / f"cnpg_{manifest['kind'].lower()}s.crd.yaml"
    if not file.exists():
        pytest.skip("RECOLLECT_TEST_CRDS names no folder with the CRDs of CloudNativePG")
    schema = read_schema(file)
    jsonschema.validate(manifest, schema)
    assert [*unknown_fields(manifest["spec"], schema["properties"]["spec"], "spec")] == []


@cache
def read_schema(file: Path) -> Any:
    (version,) = yaml.load(file.read_text(), yaml.CSafeLoader)["spec"]["versions"]
    return version["schema"]["openAPIV3Schema"]


def unknown_fields(value: Any, schema: Any, where: str) -> Iterator[str]:
    """A cluster drops fields that its schema does not name, without an error."""
    if isinstance(value, dict) and "properties" in schema:
        for name, inner in value.items():
            if name in schema["properties"]:
                yield from unknown_fields(inner, schema["properties"][name], f"{where}.{name}")
            else:
                yield f"{where}.{name}"
    elif isinstance(value, list):
        for inner in value:
            yield from unknown_fields(inner, schema["items"], f"{where}[]")


def test_both_ways_to_pgvector_and_a_restore_are_rendered() -> None:
    (base, volume, restore) = (
        next(
            manifest["spec"]
            for manifest in render(KUSTOMIZE / overlay)
            if manifest["kind"] == "Cluster"
        )
        for overlay in OVERLAYS
    )
    assert "extensions" not in base["postgresql"]
    assert [extension["name"] for extension in volume["postgresql"]["extensions"]] == ["pgvector"]
    assert "initdb" not in restore["bootstrap"]
    sources = [cluster["name"] for cluster in restore["externalClusters"]]
    assert restore["bootstrap"]["recovery"]["source"] in sources
    backups = restore["backup"]["barmanObjectStore"]["destinationPath"]
    assert backups != base["backup"]["barmanObjectStore"]["destinationPath"]


@pytest.mark.parametrize("kind", ["Deployment"])
def test_pods_run_without_privileges_and_stop_in_time(kind: str) -> None:
    found = [manifest for manifest in render(KUSTOMIZE / "base") if manifest["kind"] == kind]
    assert len(found) == 2
    for manifest in found:
        pod = manifest["spec"]["template"]["spec"]
        (container,) = pod["containers"]
        assert pod["securityContext"]["runAsNonRoot"]
        assert container["securityContext"]["readOnlyRootFilesystem"]
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        variables = {entry["name"]: entry.get("value") for entry in container["env"]}
        assert {name for name in variables if name.startswith("RECOLLECT_")} <= VARIABLES
        drain = float(variables.get("RECOLLECT_DRAIN_SECONDS", "0"))
        assert pod["terminationGracePeriodSeconds"] > drain + 10


def test_policies_and_budgets_select_pods_that_exist() -> None:
    manifests = render(KUSTOMIZE / "base")
    labels = [
        manifest["spec"]["template"]["metadata"]["labels"]
        for manifest in manifests
        if manifest["kind"] == "Deployment"
    ]
    for manifest in manifests:
        if manifest["kind"] == "NetworkPolicy":
            assert manifest["spec"]["podSelector"]["matchLabels"] in labels
        elif manifest["kind"] == "PodDisruptionBudget":
            assert manifest["spec"]["selector"]["matchLabels"] in labels
        elif manifest["kind"] == "Service":
            assert manifest["spec"]["selector"] in labels


def test_autoscaling_and_the_dashboard_use_metrics_that_exist() -> None:
    text = Metrics().text().decode()
    known = set(re.findall(r"^# TYPE (\S+)", text, re.MULTILINE))
    known |= {f"{name}_{end}" for name in known for end in ("bucket", "count", "sum")}
    scaled = [
        metric["external"]["metric"]["name"]
        for manifest in render(KUSTOMIZE / "base")
        if manifest["kind"] == "HorizontalPodAutoscaler"
        for metric in manifest["spec"]["metrics"]
        if metric["type"] == "External"
    ]
    assert scaled == ["recollect_jobs"]
    dashboard = json.loads((DEPLOY / "compose" / "grafana" / "dashboard.json").read_text())
    queries = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    named = {name for query in queries for name in re.findall(r"(?:recollect|process)_\w+", query)}
    assert len(named) > 8
    assert named | {*scaled} <= known


def test_compose_names_settings_files_and_services_that_exist() -> None:
    folder = DEPLOY / "compose"
    compose = yaml.safe_load((folder / "compose.yaml").read_text())
    services = compose["services"]
    expected = {"server", "worker", "postgres", "pgbouncer", "caddy", "prometheus", "grafana"}
    assert set(services) == expected
    for name, service in services.items():
        assert set(service.get("depends_on", {})) <= expected
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            is_there = source in compose["volumes"] or (folder / source).exists()
            assert is_there, f"{name} mounts {source}"
        if name in {"server", "worker"}:
            assert set(service["environment"]) <= VARIABLES
            assert service["read_only"]
    required = set(re.findall(r"\$\{(\w+):\?", (folder / "compose.yaml").read_text()))
    set_in_example = set(
        re.findall(r"^(\w+)=", (folder / ".env.example").read_text(), re.MULTILINE)
    )
    assert required == set_in_example
    (job,) = yaml.safe_load((folder / "prometheus.yml").read_text())["scrape_configs"]
    assert job["metrics_path"] == "/api/v1/metrics"


@pytest.mark.parametrize(
    ("program", "arguments"),
    [
        (CADDY, ("validate", "--adapter=caddyfile", "--config=Caddyfile")),
        (PROMTOOL, ("check", "config", "prometheus.yml")),
    ],
    ids=["caddy", "prometheus"],
)
def test_compose_mounts_files_that_their_programs_accept(
    program: Program, arguments: tuple[str, ...], tmp_path: Path
) -> None:
    checked = subprocess.run(
        [program.path(), *arguments],
        cwd=DEPLOY / "compose",
        env={"RECOLLECT_NAME": "memory.example.org", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_compose_checks_and_secrets_are_complete() -> None:
    folder = DEPLOY / "compose"
    compose = yaml.safe_load((folder / "compose.yaml").read_text())
    services = compose["services"]
    for name, service in services.items():
        assert set(service["networks"]) <= set(compose["networks"])
        for needed, how in service.get("depends_on", {}).items():
            is_checked = "test" in services[needed].get("healthcheck", {})
            assert is_checked or how["condition"] != "service_healthy", (name, needed)
        for variable, value in service.get("environment", {}).items():
            if "PASSWORD" in variable or "_URL" in variable:
                assert re.search(r"\$\{\w+:\?", value), f"{name} has {variable} in its file"
    assert run_command([*services["worker"]["command"], "--help"]).exit_code == 0
    ports = [port for service in services.values() for port in service.get("ports", [])]
    public = {port.split(":")[0] for port in ports if port.count(":") == 1}
    assert public == {"80", "443"}
    assert "server:8420" in (folder / "Caddyfile").read_text()
    hosts = services["server"]["environment"]["RECOLLECT_ALLOWED_HOSTS"].split(",")
    assert "server" in hosts  # Prometheus scrapes it by this name
    dashboards = yaml.safe_load(
        (folder / "grafana/provisioning/dashboards/recollect.yaml").read_text()
    )
    path = dashboards["providers"][0]["options"]["path"]
    assert any(f":{path}/" in volume for volume in services["grafana"]["volumes"])


def test_the_terraform_module_is_complete_and_names_what_is_there() -> None:
    module: dict[str, list[Any]] = {}
    text = ""
    for file in sorted((DEPLOY / "terraform").glob("*.tf")):
        text += file.read_text()
        for kind, blocks in hcl2.loads(file.read_text()).items():
            module.setdefault(kind, []).extend(blocks if isinstance(blocks, list) else [blocks])
    variables = {name.strip('"') for block in module["variable"] for name in block}
    used = set(re.findall(r"\bvar\.(\w+)", text))
    assert used == variables
    assert len(module["resource"]) == 2
    for overlay in OVERLAYS:
        assert f'"{overlay}"' in text
    # Patches by position: they must meet the entries they mean.
    (server,) = [
        manifest
        for manifest in render(KUSTOMIZE / "base")
        if manifest["kind"] == "Deployment" and manifest["metadata"]["name"] == "recollect-server"
    ]
    names = [
        variable["name"] for variable in server["spec"]["template"]["spec"]["containers"][0]["env"]
    ]
    assert names[3:5] == ["RECOLLECT_ALLOWED_HOSTS", "RECOLLECT_TRUSTED_PROXIES"]
