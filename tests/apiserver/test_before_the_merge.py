"""`quotree validate --base` in a repository of a platform team, with the real git, kustomize, helm and pre-commit."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.builders import cluster_queue, cohort, flavor, group, queue, quota
from tests.cli.repository import Repository
from tests.cli.runs import write

pytestmark = pytest.mark.apiserver

ROOT = Path(__file__).parents[2]
TEMPLATE = """\
{{- range .Values.queues }}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata:
  name: {{ .name }}
spec:
  {{- with .parent }}
  parent: {{ . }}
  {{- end }}
  deserved:
    cpu: {{ .cpu | quote }}
{{- end }}
"""


@pytest.fixture
def repository(tmp_path: Path, tools: Path) -> Repository:
    """The branch `main`: a kustomization with an overlay, a chart and plain files; all of it sound."""
    made = Repository.make(tmp_path / "quota")
    made.put("kustomize/base/org.yaml", cohort("org"), queues_of(4))
    write(made.folder / "kustomize/base/kustomization.yaml", {"resources": ["org.yaml"]})
    write(
        made.folder / "kustomize/prod/kustomization.yaml",
        {"resources": ["../base"], "namePrefix": "prod-", "patches": [{"path": "more.yaml"}]},
    )
    made.put("kustomize/prod/more.yaml", queues_of(8))
    write(made.folder / "chart/Chart.yaml", {"apiVersion": "v2", "name": "trees", "version": "1.0.0"})
    (made.folder / "chart/templates").mkdir()
    (made.folder / "chart/templates/queues.yaml").write_text(TEMPLATE)
    write(made.folder / "chart/values.yaml", {"queues": []})
    values(made, 4, 3)
    made.put("plain/lab.yaml", cohort("lab"), cluster_queue("night", "lab"))
    made.commit("a sound tree")
    made.git("checkout", "--quiet", "-b", "head")
    return made


def queues_of(cpu: int) -> dict[str, Any]:
    return cluster_queue("ml", "org", group("cpu", flavor("spot", cpu=quota(cpu))))


def values(repository: Repository, parent: int, child: int) -> None:
    entries = [{"name": "eng", "cpu": parent}, {"name": "ml", "parent": "eng", "cpu": child}]
    write(repository.folder / "values-prod.yaml", {"queues": entries})


def validate(repository: Repository, *arguments: str) -> tuple[int, dict[str, Any]]:
    command = ["quotree", "validate", "plain", "--kustomize", "kustomize/prod", "--helm", "chart"]
    done = subprocess.run(
        [*command, "--values", "values-prod.yaml", "-o", "json", *arguments],
        cwd=repository.folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert not done.stderr, done.stderr
    report = json.loads(done.stdout)
    assert isinstance(report, dict)
    return done.returncode, report


def test_a_valid_repository_passes_with_all_its_sources(repository: Repository) -> None:
    code, report = validate(repository)
    since, changed = validate(repository, "--base", "main")

    assert (code, report["context"]["objects"], report["context"]["queues"]) == (0, 6, 6)
    assert (since, changed["context"]["base"]["changed"], changed["context"]["base"]["deleted"]) == (0, 0, 0)


def test_a_new_error_in_a_chart_fails_with_its_line_in_the_template(repository: Repository) -> None:
    values(repository, 4, 5)

    code, report = validate(repository, "--base", "main")

    (finding,) = report["findings"]
    assert code == 1
    assert finding["rule"] == "children-deserved-exceed-parent"
    assert (finding["file"], finding["line"]) == ("chart/templates/queues.yaml", 12)


def test_a_new_error_of_an_overlay_fails_with_its_line_in_the_base(repository: Repository) -> None:
    repository.put("kustomize/prod/more.yaml", queues_of(-1))

    code, report = validate(repository, "--base", "main")

    assert code == 1
    (finding,) = (each for each in report["findings"] if each["severity"] == "error")
    assert finding["object"]["name"] == "prod-ml"
    assert finding["file"] == "kustomize/base/org.yaml"
    text = (repository.folder / finding["file"]).read_text().splitlines()[finding["line"] - 1]
    assert "nominalQuota" in text


def test_an_object_removed_from_a_file_is_judged_as_deleted(repository: Repository) -> None:
    repository.put("plain/lab.yaml", cluster_queue("night", "lab"))

    code, report = validate(repository, "--base", "main")

    assert code == 1
    assert [each["rule"] for each in report["findings"] if each["severity"] == "error"] == ["delete-with-children"]


def test_errors_on_main_do_not_fail_an_unrelated_change(repository: Repository) -> None:
    repository.git("checkout", "--quiet", "main")
    values(repository, 4, 5)
    repository.commit("a broken tree")
    repository.git("checkout", "--quiet", "-B", "head")
    repository.put("plain/more.yaml", cohort("more"))

    assert validate(repository)[0] == 1
    assert validate(repository, "--base", "main")[0] == 0


def hooks(**more: Any) -> dict[str, Any]:
    """The hooks of this project, as pre-commit installs them, but with the `quotree` of the PATH."""
    declared = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    local = [{**hook, "language": "system", **more.get(hook["id"], {})} for hook in declared]
    return {"repos": [{"repo": "local", "hooks": [hook for hook in local if hook["id"] in more]}]}


def pre_commit(repository: Repository, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pre_commit", *arguments],
        cwd=repository.folder,
        capture_output=True,
        text=True,
        timeout=300,  # the first run may install
        check=False,
    )


def test_the_manifest_of_the_hooks_is_valid(repository: Repository) -> None:
    done = pre_commit(repository, "validate-manifest", str(ROOT / ".pre-commit-hooks.yaml"))

    assert (done.returncode, done.stdout) == (0, "")


def test_the_validate_hook_judges_all_manifests_when_one_changes(repository: Repository) -> None:
    config = hooks(**{"quotree-validate": {"args": ["plain", "--base", "HEAD"]}})
    write(repository.folder / ".pre-commit-config.yaml", config)
    repository.git("add", "--all")

    sound = pre_commit(repository, "run")
    repository.put("plain/lab.yaml", cluster_queue("night", "lab"))
    repository.git("add", "--all")
    broken = pre_commit(repository, "run")

    assert sound.returncode == 0, sound.stdout
    assert broken.returncode == 1
    assert "delete-with-children" in broken.stdout


def test_the_files_hook_judges_the_changed_files(repository: Repository) -> None:
    config = hooks(**{"quotree-files": {"args": ["--against", "files:plain"]}})
    write(repository.folder / ".pre-commit-config.yaml", config)
    repository.commit()
    repository.put("more/a.yaml", queue("eng", deserved="cpu:4"), queue("ml", "eng", deserved="cpu:5"))
    repository.git("add", "--all")

    done = pre_commit(repository, "run")

    assert done.returncode == 1
    assert "more/a.yaml:8:10: error[children-deserved-exceed-parent]" in done.stdout


@pytest.fixture
def published(tmp_path: Path) -> Repository:
    """This project as a repository that pre-commit can clone."""
    built = [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(tmp_path / "dist")]
    subprocess.run(built, cwd=ROOT, check=True, capture_output=True)
    (archive,) = (tmp_path / "dist").iterdir()
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path, filter="data")
    made = Repository.make(tmp_path / archive.name.removesuffix(".tar.gz"))
    shutil.copy(ROOT / ".pre-commit-hooks.yaml", made.folder)
    made.commit()
    return made


@pytest.mark.nightly  # CI runs the hooks with the `quotree` of the PATH; tests/test_wheel.py installs a wheel
def test_pre_commit_installs_the_hook_into_an_environment_of_its_own(
    repository: Repository, published: Repository, tools: Path
) -> None:
    (tools / "quotree").write_text("#!/bin/sh\nexit 99\n")  # the installed quotree must not be used
    hook = {"id": "quotree-validate", "args": ["plain", "--base", "HEAD"]}
    config = {"repos": [{"repo": str(published.folder), "rev": published.git("rev-parse", "HEAD"), "hooks": [hook]}]}
    write(repository.folder / ".pre-commit-config.yaml", config)
    repository.git("add", "--all")

    sound = pre_commit(repository, "run")
    repository.put("plain/lab.yaml", cluster_queue("night", "lab"))
    repository.git("add", "--all")
    broken = pre_commit(repository, "run")

    assert sound.returncode == 0, sound.stdout + sound.stderr
    assert broken.returncode == 1, broken.stdout + broken.stderr
    assert "delete-with-children" in broken.stdout
