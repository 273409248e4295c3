"""The options of every command for the connection to a cluster, as in kubectl."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
import pytest
import yaml

from cli.exits import AccessDenied, OutOfReach
from cli.group import quotree
from cli.input.login import ClusterLogin, login_options
from tests.cli.runs import GOOD, kubeconfig, run, write
from tests.cluster.fake import WIDGETS, FakeApi, status
from tests.profiles import each_case

OFFLINE = {"certs", "completion", "explain", "install render", "rules", "simulate", "test"}
"""Commands that ask no cluster."""
SERVERS = {"serve audit", "serve dashboard", "serve reconciler", "serve webhook"}
"""They act for themselves: with the service account of their Pod, or as a kubeconfig says."""
AS_VCCTL = {"queue create", "queue delete", "queue get", "queue operate"}
"""They have vcctl's -n NAME, of a queue, which is in no namespace."""


@pytest.fixture
def api() -> Iterator[FakeApi]:
    server = FakeApi()
    yield server
    server.close()


def every(group: click.Group, *above: str) -> Iterator[tuple[str, click.Command]]:
    """All commands by their names, such as `queue list`."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from every(command, *above, name)
        elif command is not None:
            yield " ".join([*above, name]), command


COMMANDS = dict(every(quotree))


def described(command: click.Command) -> dict[str, tuple[object, ...]]:
    """By flag of an option, all that it says of itself."""
    options = [each for each in command.params if isinstance(each, click.Option)]
    return {flag: (each.name, each.metavar, each.help, each.opts) for each in options for flag in each.opts}


@each_case("name", sorted(COMMANDS.keys() - OFFLINE - SERVERS))
def test_cluster_commands_have_all_login_options(name: str) -> None:
    wanted = described(login_options(click.command()(lambda **_: None)))

    options = described(COMMANDS[name])

    assert {flag: options.get(flag) for flag in wanted} == wanted
    if name not in AS_VCCTL:
        assert ("-n" in options) == ("--namespace" in options)
        assert options.get("-n") == options.get("--namespace")


def test_offline_commands_have_no_login_options() -> None:
    assert COMMANDS.keys() >= OFFLINE | SERVERS | AS_VCCTL
    for name in OFFLINE:
        assert not described(COMMANDS[name]).keys() & {"--context", "--kubeconfig", "--as", "--request-timeout"}, name


def test_option_flags_of_a_command_are_unique() -> None:
    for name, command in COMMANDS.items():
        flags = [flag for each in command.params for flag in each.opts]
        assert len(flags) == len({*flags}), name


@pytest.mark.parametrize(
    "arguments",
    [
        ["install", "take-over"],
        ["uninstall", "--dry-run"],
        ["doctor"],
        ["queue", "list"],
        ["list", "clusterqueue"],
        ["stop", "clusterqueue", "a"],
        ["tree"],
        ["why", "ml/a"],
        ["audit"],
        ["snapshot"],
    ],
    ids=" ".join,
)
def test_command_uses_the_named_kubeconfig_and_impersonated_user(
    tmp_path: Path, api: FakeApi, arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    login = kubeconfig(tmp_path, api.url)

    run(*arguments, "--kubeconfig", login, "--context", "lab", "--as", "jane", "--request-timeout", "5s")

    assert api.seen
    assert {each.headers.get("Impersonate-User") for each in api.seen} == {"jane"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--context", "prod"), "--context is for a cluster: use it with --against cluster"),
        (("--as", "jane"), "--as is for a cluster"),
        (("--request-timeout", "3s"), "--request-timeout is for a cluster"),
        (("--kubeconfig", "x"), "--kubeconfig is for a cluster"),
        (("--against", "cluster:a", "--context", "b"), "--context b and --against cluster:a name two contexts"),
        (("--against", "cluster", "--as-group", "g"), "--as-group needs --as USER"),
        (("--against", "cluster", "--request-timeout", "soon"), "'soon' is not a duration"),
        (("--against", "cluster", "--request-timeout", "-3s"), "'-3s' is not a duration"),
    ],
)
def test_contradicting_login_options_are_rejected(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    shown = run("validate", write(tmp_path / "a.yaml", GOOD), *arguments)

    assert (shown.exit_code, said in shown.stderr) == (2, True), shown.stderr


def test_context_is_accepted_in_against_or_as_an_option(tmp_path: Path) -> None:
    file = write(tmp_path / "a.yaml", GOOD)
    login = kubeconfig(tmp_path, "http://127.0.0.1:1")
    for arguments in (("--against", "cluster:none"), ("--against", "cluster", "--context", "none")):
        shown = run("fix", file, *arguments, "--kubeconfig", login)
        assert (shown.exit_code, "cannot read cluster none" in shown.stderr) == (4, True)


def contexts(folder: Path, name: str, current: str = "", **namespaces: str | None) -> Path:
    entries = [
        {"name": each, "context": {"cluster": "c", **({"namespace": space} if space else {})}}
        for each, space in namespaces.items()
    ]
    path = folder / name
    path.write_text(yaml.safe_dump({"current-context": current, "contexts": entries}))
    return path


def test_namespace_defaults_to_that_of_the_kubeconfig_context(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = contexts(tmp_path, "one", "lab", lab="team", bare=None)
    two = contexts(tmp_path, "two", "prod", prod="ml", lab="other")

    assert ClusterLogin(kubeconfig=str(one)).namespace() == "team"
    assert ClusterLogin(kubeconfig=str(one), context="bare").namespace() == "default"
    assert ClusterLogin(kubeconfig=str(one), context="gone").namespace() == "default"
    monkeypatch.setenv("KUBECONFIG", f"{one}:{two}:{tmp_path}/none")
    assert ClusterLogin().namespace() == "team"
    assert ClusterLogin(context="prod").namespace() == "ml"
    one.write_text("{")
    with pytest.raises(OutOfReach):
        ClusterLogin().namespace()


def test_requests_have_impersonation_headers(tmp_path: Path, api: FakeApi) -> None:
    login = ClusterLogin("lab", str(kubeconfig(tmp_path, api.url)), "jane", ("a", "b"), 2.5)

    with login.connect() as cluster:
        assert not cluster.served(WIDGETS)

    assert api.seen[0].headers["Impersonate-User"] == "jane"
    assert login.endpoint().headers == (
        ("Impersonate-User", "jane"),
        ("Impersonate-Group", "a"),
        ("Impersonate-Group", "b"),
    )


def test_forbidden_response_is_distinguished_from_an_unreachable_cluster(tmp_path: Path, api: FakeApi) -> None:
    login = ClusterLogin(kubeconfig=str(kubeconfig(tmp_path, api.url)))
    for code, kind in ((403, AccessDenied), (404, OutOfReach)):
        api.others.append(status(code, "Odd"))
        with pytest.raises(OutOfReach) as raised, login.connected() as cluster:
            cluster.get("/x")
        assert type(raised.value) is kind
