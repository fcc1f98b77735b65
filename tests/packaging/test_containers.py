"""The files for containers are valid by their tools' own rules, and hold what the servers need; nothing is built."""

from __future__ import annotations

import importlib
import importlib.util
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from task_hosted.service.settings import HostedSettings
from tests.packaging.projects import ROOT

FOLDER: Final = ROOT / "examples" / "hosted" / "containers"

COMPOSE: Final = FOLDER / "compose.yaml"
KUBERNETES: Final = FOLDER / "kubernetes.yaml"

BIN: Final = str(Path(sys.executable).parent)

NEEDED: Final = {
    "TASK_STORE",
    *(name.upper() for name, field in HostedSettings.model_fields.items() if field.is_required()),
}
"""The settings without which a hosted server does not start."""

pytestmark = pytest.mark.requirement("HO-9")


def check(tool: str, *arguments: str | Path) -> str:
    """Return what a checker prints if it finds nothing wrong; skip the test where there is none."""
    program = shutil.which(tool, path=BIN)
    if program is None:
        pytest.skip(f"the files for containers are not tested: {tool} is not installed")
    done = subprocess.run([program, *arguments], capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def documents() -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(KUBERNETES.read_text("utf-8")))


def pods() -> Iterator[dict[str, Any]]:
    """Yield the specification of every pod."""
    for document in documents():
        if template := document.get("spec", {}).get("template"):
            yield template["spec"]


def test_a_linter_finds_nothing_in_the_containerfile() -> None:
    check("hadolint", "--failure-threshold", "style", FOLDER / "Containerfile")


@pytest.mark.parametrize("version", ["1.30", "1.37"])
def test_the_manifests_are_valid_in_kubernetes(version: str) -> None:
    passed = check("kubernetes-validate", "--strict", "--kubernetes-version", version, KUBERNETES)
    assert passed.count("passed") == len(documents())


def test_the_compose_file_is_valid_and_refers_to_nothing_that_is_missing() -> None:
    if importlib.util.find_spec("compose_spec") is None:
        pytest.skip("the files for containers are not tested: compose-spec is not installed")
    options = importlib.import_module("compose_spec.compose_spec").PyOptions  # a stub for it is missing
    compose = options(apply_merge=True).from_yaml(COMPOSE.read_text("utf-8"))
    compose.validate()
    assert set(compose.service_names()) == {"database", "migrate", "proxy", "replica1", "replica2"}


def test_files_that_the_compose_file_mounts_and_builds_are_there() -> None:
    services = yaml.safe_load(COMPOSE.read_text("utf-8"))["services"]
    mounted = [volume.partition(":")[0] for service in services.values() for volume in service.get("volumes", ())]
    build = services["replica1"]["build"]
    context = FOLDER / build["context"]
    assert (context / build["dockerfile"]).samefile(FOLDER / "Containerfile")
    assert all((FOLDER / path).is_file() for path in mounted if path.startswith("."))


@pytest.mark.parametrize("name", ["replica1", "replica2", "migrate"])
def test_compose_gives_a_server_the_settings_that_it_needs_and_one_secret(name: str) -> None:
    service = yaml.safe_load(COMPOSE.read_text("utf-8"))["services"][name]
    assert service["environment"].keys() >= NEEDED
    assert service["secrets"] == ["owner" if name == "migrate" else "server"]


def test_kubernetes_gives_a_server_the_settings_that_it_needs() -> None:
    (settings,) = (document["data"] for document in documents() if document["kind"] == "ConfigMap")
    assert settings.keys() >= NEEDED
    drain = float(settings["TASK_DRAIN_SECONDS"])
    (server,) = (pod for pod in pods() if "terminationGracePeriodSeconds" in pod)
    (container,) = server["containers"]
    probes = {name: container[name]["httpGet"]["path"] for name in ("startupProbe", "livenessProbe", "readinessProbe")}
    assert probes == {"startupProbe": "/livez", "livenessProbe": "/livez", "readinessProbe": "/readyz"}
    assert server["terminationGracePeriodSeconds"] > drain > container["readinessProbe"]["periodSeconds"]


def test_no_pod_has_rights_that_it_does_not_need() -> None:
    for pod in pods():
        assert pod["automountServiceAccountToken"] is False
        assert pod["securityContext"]["runAsNonRoot"] is True
        for container in pod["containers"]:
            rights = container["securityContext"]
            assert (rights["allowPrivilegeEscalation"], rights["readOnlyRootFilesystem"]) == (False, True)
            assert rights["capabilities"] == {"drop": ["ALL"]}


def test_no_password_is_in_the_files() -> None:
    secrets = [document["stringData"]["services"] for document in documents() if document["kind"] == "Secret"]
    assert secrets == [f"[{name}]\npassword=REPLACE-ME\n" for name in ("server", "owner")]
    services = yaml.safe_load(COMPOSE.read_text("utf-8"))["services"].values()
    names = {name for service in services for name in service["environment"]}
    assert {name for name in names if "PASS" in name} == {"POSTGRES_PASSWORD_FILE"}
