"""`--kustomize` and `--helm` on files of a pull request, with the real programs: nothing is fetched, run or leaked."""

from __future__ import annotations

import http.server
import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.builders import queue
from tests.cli.runs import GOOD, report, run, write

TOKEN = "token-of-the-machine"
NAMED = """\
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: {{ NAME }}}
"""


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tools: Path) -> Path:
    folder = tmp_path / "checkout"
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "config").write_text(TOKEN)
    write(tmp_path / "elsewhere" / "queue.yaml", queue(TOKEN))
    write(tmp_path / "elsewhere" / "kustomization.yaml", {"resources": ["queue.yaml"]})
    (tmp_path / "elsewhere" / "values.yaml").write_text(f"name: {TOKEN}\n")
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The paths requested from a server on loopback; its address is in the variable SERVER."""
    paths: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            paths.append(self.path)
            self.send_error(404)

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        monkeypatch.setenv("SERVER", f"http://127.0.0.1:{server.server_address[1]}")
        try:
            yield paths
        finally:
            server.shutdown()
            thread.join()


def server() -> str:
    return os.environ["SERVER"]


def kustomization(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "kustomization.yaml").write_text(text)
    return folder


def chart(folder: Path, template: str) -> Path:
    (folder / "templates").mkdir(parents=True)
    (folder / "Chart.yaml").write_text("apiVersion: v2\nname: trees\nversion: 0.1.0\n")
    (folder / "templates" / "queue.yaml").write_text(template)
    return folder


@pytest.mark.parametrize(
    "text",
    [
        "resources: [SERVER/queue.yaml]",
        "bases: [SERVER/org/repository]",
        "components: ['git::SERVER/org/repository?ref=main']",
        "RESOURCES: [' SERVER/queue.yaml']",
        "patches: [{path: SERVER/patch.yaml, target: {kind: Queue}}]",
        "configMapGenerator: [{name: a, files: [key=SERVER/file]}]",
        "crds: [SERVER/crd.json]",
        "openapi: {path: SERVER/schema.json}",
        "replacements: [{path: SERVER/replacement.yaml}]",
        "transformers: ['SERVER/transformer.yaml']",
        "transformers: ['{apiVersion: builtin, kind: PatchTransformer, metadata: {name: a}, path: SERVER/p.yaml}']",
        "transformers:\n- |\n  apiVersion: builtin\n  kind: PatchTransformer\n  metadata: {name: a}\n  path: SERVER/p",
        "transformers: [transformer.yaml]",
        "transformers: [plugins]",
        "resources: [deep]",
        "resources: [file:///etc]",
        "resources: ['git@127.0.0.1:org/repository']",
        "resources: [github.com/org/repository]",
    ],
)
def test_a_kustomization_fetches_nothing(checkout: Path, asked: list[str], text: str) -> None:
    patch = "apiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: a}\npath: SERVER/patch.yaml\n"
    folder = kustomization(checkout / "overlay", text.replace("SERVER", server()))
    kustomization(folder / "deep", f"resources: [{server()}/queue.yaml]")
    kustomization(folder / "plugins", "resources: [plugin.yaml]")
    for file in (folder / "transformer.yaml", folder / "plugins" / "plugin.yaml"):
        file.write_text(patch.replace("SERVER", server()))
    write(folder / "queue.yaml", GOOD)

    result = run("validate", "--kustomize", "overlay")

    assert asked == []
    assert result.exit_code == 3
    assert "would have to be downloaded, which is not done here; render it elsewhere and pipe" in result.stderr
    assert ".yaml:1:1: unreadable" not in result.stderr or text.startswith("transformers: [")


@pytest.mark.parametrize("base", ["../../elsewhere", "linked", "../linked"])
def test_a_base_outside_of_the_checkout_is_rejected(checkout: Path, base: str) -> None:
    folder = kustomization(checkout / "overlay", f"resources: [{base}]")
    for link in (folder / "linked", checkout / "linked"):
        link.symlink_to(checkout.parent / "elsewhere")

    result = run("validate", "--kustomize", "overlay")

    assert TOKEN not in result.output
    assert f"overlay/kustomization.yaml:1:13: unreadable: {base} leads out of the checkout" in result.stderr


@pytest.mark.parametrize(
    "text",
    [
        "patchesJson6902: [{path: .git/config, target: {version: v1, kind: Queue, name: eng}}]",
        "patches: [{path: .git/config, target: {kind: Queue}}]",
        "patchesStrategicMerge: [.git/config]",
        "resources: [queue.yaml, .git/config]\nnamePrefix: a-",
        "resources: [queue.yaml, linked]\nnamePrefix: a-",
        "configMapGenerator: [{name: a, files: [key=.git/config]}]",
        "configMapGenerator: [{name: a, envs: [.git/config]}]",
        "replacements: [{path: .git/config}]",
        "openapi: {path: .git/config}",
        "crds: [.git/config]",
        "configurations: [.git/config]",
    ],
)
@pytest.mark.parametrize("arguments", [("--kustomize", "."), (".",)])
def test_a_kustomization_at_the_root_of_a_checkout_cannot_read_the_git_folder(
    checkout: Path, text: str, arguments: tuple[str, ...]
) -> None:
    """A replacement can put any generated key into a name, and kustomize quotes patches that it cannot read."""
    (checkout / "linked").symlink_to(".git/config")
    write(checkout / "queue.yaml", queue("eng", deserved="cpu:4"))
    kustomization(checkout, text if text.startswith("resources") else f"resources: [queue.yaml]\n{text}")

    result = run("validate", *arguments)

    assert TOKEN not in result.output + result.stderr
    assert f"leads out of the checkout {checkout}" in result.output + result.stderr


def test_plugins_of_a_kustomization_do_not_run(checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plugin = tmp_path / "home" / "kustomize" / "plugin" / "example.dev" / "v1" / "maker" / "Maker"
    plugin.parent.mkdir(parents=True)
    plugin.write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung\n")
    plugin.chmod(0o755)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("KUSTOMIZE_PLUGIN_HOME", str(tmp_path / "home" / "kustomize" / "plugin"))
    function = {"config.kubernetes.io/function": f"exec: {{path: {plugin}}}"}
    for key, name in (("generators", "made"), ("transformers", "function")):
        notes = function if name == "function" else {}
        folder = kustomization(checkout / name, f"{key}: [maker.yaml]\n")
        maker = {"apiVersion": "example.dev/v1", "kind": "Maker", "metadata": {"name": "a", "annotations": notes}}
        write(folder / "maker.yaml", maker)
        assert run("validate", "--kustomize", name).exit_code == 3
    chart(checkout / "charted" / "charts" / "trees", NAMED.replace("{{ NAME }}", "eng"))
    kustomization(checkout / "charted", "helmCharts: [{name: trees}]\n")
    assert run("validate", "--kustomize", "charted").exit_code == 3

    assert not (tmp_path / "sprung").exists()


def test_bases_of_the_checkout_are_built(checkout: Path) -> None:
    write(checkout / "base" / "queue.yaml", queue("eng", deserved="cpu:4"))
    kustomization(checkout / "base", "resources: [queue.yaml]\ncommonAnnotations: {home: 'https://example.com/'}")
    kustomization(checkout / "overlay", "resources: [../base]")

    assert "1 object, 1 queue" in run("validate", "--kustomize", "overlay").stdout


@pytest.mark.parametrize("link", ["file", "folder", "git", "nested"])
def test_a_chart_with_a_link_out_of_the_checkout_is_rejected(checkout: Path, link: str) -> None:
    """Helm follows links, so a template could put a file of the machine into the name of a queue."""
    inner = chart(checkout / "trees", NAMED.replace("NAME", '.Files.Get "leak/queue.yaml" | b64enc | quote'))
    targets = {"file": "elsewhere/queue.yaml", "folder": "elsewhere", "git": "checkout/.git", "nested": "elsewhere"}
    if link == "nested":
        (checkout / "shared").mkdir()
        (checkout / "shared" / "leak").symlink_to(checkout.parent / "elsewhere")
        (inner / "shared").symlink_to("../shared")
    else:
        (inner / "leak").symlink_to(checkout.parent / targets[link])

    result = run("validate", "--helm", "trees")

    assert result.exit_code == 3
    assert f"a link leads out of {checkout}" in result.stderr
    assert "objects" not in result.stdout.replace("0 objects", "")


def test_a_chart_at_the_root_of_a_checkout_cannot_read_the_git_folder(checkout: Path) -> None:
    """actions/checkout keeps a token there."""
    name = NAMED.replace("NAME", '.Files.Get ".git/config" | default "none" | quote')
    chart(checkout, name + "spec: {parent: nowhere}\n")

    (finding,) = report(run("validate", "--helm", ".", "-o", "json"))["findings"]

    assert finding["object"]["name"] == "none"
    assert finding["file"] == "templates/queue.yaml"


def test_values_behind_a_link_out_of_the_checkout_are_rejected(checkout: Path) -> None:
    chart(checkout / "trees", NAMED.replace("NAME", ".Values.name"))
    (checkout / "values.yaml").symlink_to(checkout.parent / "elsewhere" / "values.yaml")

    result = run("validate", "--helm", "trees", "--values", "values.yaml")

    assert TOKEN not in result.output
    assert "values.yaml:1:1: unreadable: a link leads out of the checkout" in result.stderr


@pytest.mark.parametrize(
    "schema", ["SERVER/schema.json", "file:///etc/hostname", "../../elsewhere/x", "base", "escaped"]
)
@pytest.mark.parametrize("place", [".", "charts/inner"])
def test_a_remote_values_schema_is_not_fetched(checkout: Path, asked: list[str], schema: str, place: str) -> None:
    folder = chart(checkout / "trees", NAMED.replace("{{ NAME }}", "eng"))
    if place != ".":
        chart(folder / place, "")
        (folder / place / "Chart.yaml").write_text("apiVersion: v2\nname: inner\nversion: 0.1.0\n")
    text = json.dumps({"$ref": schema.replace("SERVER", server())})
    if schema == "base":
        text = json.dumps({"$id": f"{server()}/a/", "$ref": "b.json"})
    if schema == "escaped":
        text = '{"\\u0024ref": "' + server() + '/x.json"}'
    (folder / place / "values.schema.json").write_text(text)

    result = run("validate", "--helm", "trees")

    assert asked == []
    assert "1 object, 1 queue" in result.stdout, result.output


def test_a_self_contained_values_schema_is_applied(checkout: Path) -> None:
    folder = chart(checkout / "trees", NAMED.replace("{{ NAME }}", "eng"))
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "definitions": {"size": {"type": "integer"}},
        "properties": {"size": {"$ref": "#/definitions/size"}},
    }
    (folder / "values.schema.json").write_text(json.dumps(schema))
    (folder / "values.yaml").write_text(yaml.safe_dump({"size": "large"}))

    assert "size" in run("validate", "--helm", "trees").stderr
    (folder / "values.yaml").write_text(yaml.safe_dump({"size": 3}))
    assert "1 object, 1 queue" in run("validate", "--helm", "trees").stdout


def test_plugins_of_helm_do_not_run(checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plugin = tmp_path / "plugins" / "getter"
    plugin.mkdir(parents=True)
    (plugin / "run.sh").write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung\n")
    (plugin / "run.sh").chmod(0o755)
    about = {"name": "getter", "version": "0.1.0", "downloaders": [{"command": "run.sh", "protocols": ["getter"]}]}
    (plugin / "plugin.yaml").write_text(yaml.safe_dump(about))
    monkeypatch.setenv("HELM_PLUGINS", str(plugin.parent))
    chart(checkout / "trees", NAMED.replace("{{ NAME }}", "eng"))

    assert run("validate", "--helm", "trees", "--values", "getter://x").exit_code == 3
    assert run("validate", "--helm", "getter://trees").exit_code == 3
    assert not (tmp_path / "sprung").exists()


def test_a_finding_in_a_chart_has_the_file_of_its_template(checkout: Path) -> None:
    chart(checkout / "trees", NAMED.replace("{{ NAME }}", "eng") + "spec: {parent: nowhere}\n")

    (finding,) = report(run("validate", "--helm", "trees", "-o", "json"))["findings"]

    assert finding["file"] == "trees/templates/queue.yaml"


# -- sources that `validate` detects --


def test_validate_runs_and_fetches_nothing_of_a_repository(checkout: Path, asked: list[str], tmp_path: Path) -> None:
    """The files of a rejected kustomization are read unbuilt, a rejected chart is skipped; neither ends the run."""
    ran = tmp_path / "ran"
    program = checkout / "plugin" / "run.sh"
    generated = kustomization(checkout / "plugin", "resources: [queue.yaml]\ngenerators: [generator.yaml]\n")
    write(generated / "queue.yaml", queue("of-the-plugin"))
    run_by = {"config.kubernetes.io/function": "exec: {path: ./run.sh}"}
    generator = {"apiVersion": "example.com/v1", "kind": "Run", "metadata": {"name": "x", "annotations": run_by}}
    write(generated / "generator.yaml", generator)
    program.write_text(f"#!/bin/sh\ntouch {ran}\n")
    program.chmod(0o755)
    fetched = kustomization(checkout / "remote", f"resources: [queue.yaml, {server()}/trees.yaml]\npatches: []\n")
    write(fetched / "queue.yaml", queue("of-the-base"))
    chart(checkout / "chart", NAMED.replace("NAME", '.Files.Get "secret"'))
    (checkout / "chart" / "secret").symlink_to(tmp_path / "elsewhere" / "values.yaml")

    shown = run("validate", ".")

    assert (shown.exit_code, asked, ran.exists()) == (0, [], False)
    assert "2 objects, 2 queues" in shown.stdout
    assert "plugin: not built: " in shown.stdout
    assert "chart: not rendered: " in shown.stdout
    assert "helm would read it" in shown.stdout
    assert TOKEN not in shown.stdout + shown.stderr
