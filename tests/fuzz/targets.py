"""The code under test and the checks of its results. A target raises an exception for a failure."""

from __future__ import annotations

import base64
import io
import json
import logging
import random
import sys
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from typing import Any
from wsgiref.util import setup_testing_defaults

import jsonpatch

from analysis.judgement import judge
from analysis.report import report
from cli.input.against import Against
from cli.input.context import load
from cli.input.documents import gather, read
from cli.input.migration import Origin, migrated
from cli.input.options import EngineOptions
from cli.input.simulation import start
from cli.output import json_text
from cli.report.migrations import migration_json, migration_text
from cli.report.reports import as_json, as_text
from cli.report.simulations import kueue as of_kueue
from cli.report.simulations import volcano as of_volcano
from cli.report.simulations import yunikorn as of_yunikorn
from cluster.store import FixedCache
from policies import dialects
from policies.configuration.file import read_configuration
from policies.configuration.settings import Configuration, Enforce, KueueSettings, VolcanoSettings, YuniKornSettings
from policies.dialects.yunikorn_config.reading import read_config
from policies.migration import MigrationWish
from policies.model.errors import PolicyError
from policies.model.forest import Forest
from policies.rules import registry
from reconciler.configured import read_configured
from reconciler.multikueue.kubeconfigs import AllowedSources, read_login
from tests.fuzz import corpus
from tests.fuzz.gates import quota_gates, volcanos_gates
from tests.fuzz.mutations import Mutator, copied, written
from webhook.app import CONVERTING, create_app
from webhook.review_handler import MUTATING, VALIDATING
from webhook.settings import WebhookSettings

ANSWERS = ("200 OK", "400 BAD REQUEST")
_WORLDS = 40
_LONGEST_PATCH = 200
Status = str


class Webhook:
    """The app with several worlds, some of them broken; a request is judged in one of them."""

    def __init__(self, seed: str) -> None:
        chance = random.Random(seed)
        self._mutator = Mutator(chance, corpus.manifests())
        self._world = Forest()
        gates = YuniKornSettings(enforce=Enforce.GATES)
        volcano = VolcanoSettings(enforce=Enforce.GATES)
        managed = KueueSettings(manage_jobs=True)
        settings = Configuration(), Configuration(kueue=managed, yunikorn=gates, volcano=volcano)
        self._apps = [
            create_app(WebhookSettings(configuration=each), lambda: FixedCache(self._world)) for each in settings
        ]
        self._worlds = [self._made(chance) for _ in range(_WORLDS)]

    def validate_or_mutate(self, chance: random.Random, mutator: Mutator) -> Status:
        new = chance.choice(corpus.manifests())
        old = new if chance.random() < 0.7 else chance.choice(corpus.manifests())
        review = {
            "apiVersion": "admission.k8s.io/v1",
            "kind": "AdmissionReview",
            "request": {
                "uid": "u",
                "operation": chance.choice(("CREATE", "UPDATE", "DELETE")),
                "name": "x",
                "namespace": chance.choice(("", "ns", "default")),
                "subResource": chance.choice(("", "", "status")),
                "userInfo": {"username": "ada", "groups": ["system:authenticated"]},
                "object": _identified(chance, mutator.tree(new), new),
                "oldObject": _identified(chance, mutator.tree(old), new),
                "dryRun": chance.random() < 0.5,
            },
        }
        if chance.random() < 0.1:
            review = mutator.tree(review)
        body = written(review)
        if chance.random() < 0.05:
            body = mutator.data(body)
        group = str(new.get("apiVersion", "")).rpartition("/")[0]
        fitting = [path for path, groups in (*VALIDATING.items(), *MUTATING.items()) if group in groups]
        return self._post(chance, chance.choice(fitting or [*VALIDATING]), body)

    def convert(self, chance: random.Random, mutator: Mutator) -> Status:
        objects = [mutator.tree(chance.choice(_of_kueue())) for _ in range(chance.choice((0, 1, 1, 3)))]
        version = chance.choice(("v1beta1", "v1beta2", "v1beta2", "v9"))
        request = {"uid": "u", "desiredAPIVersion": f"kueue.x-k8s.io/{version}", "objects": objects}
        review = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": request}
        body = written(mutator.tree(review) if chance.random() < 0.1 else review)
        return self._post(chance, CONVERTING, mutator.data(body) if chance.random() < 0.05 else body)

    def _made(self, chance: random.Random) -> Forest:
        """A world of examples, most of them valid."""
        picked = (chance.choice(corpus.manifests()) for _ in range(60))
        objects = [dialects.read(self._mutator.mapping(each) if chance.random() < 0.3 else each) for each in picked]
        return Forest(frozenset(dialects.READERS)).put_all(filter(None, objects))

    def _post(self, chance: random.Random, path: str, body: bytes) -> Status:
        self._world = chance.choice(self._worlds)
        with _Traceback() as caught:
            status, answer = _called(chance.choice(self._apps), path, body)
        assert status in ANSWERS, f"{path}: {status}\n{caught.text}"
        if status == ANSWERS[0]:
            _check(json.loads(answer), body)
        else:
            assert answer.decode().rstrip("\n").isprintable(), answer
        return status[:3]


def _identified(chance: random.Random, mutated: Any, like: Mapping[str, Any]) -> Any:
    """The object, mostly with its kind restored, since an API server sends only objects of the kind."""
    if chance.random() < 0.1:
        return mutated
    return {
        **(mutated if isinstance(mutated, dict) else {}),
        "apiVersion": like.get("apiVersion"),
        "kind": like.get("kind"),
    }


def _called(app: Any, path: str, body: bytes) -> tuple[str, bytes]:
    environ: dict[str, Any] = {}
    setup_testing_defaults(environ)
    environ |= {"REQUEST_METHOD": "POST", "PATH_INFO": path, "CONTENT_TYPE": "application/json"}
    environ |= {"CONTENT_LENGTH": str(len(body)), "wsgi.input": io.BytesIO(body)}
    statuses: list[str] = []
    answer = b"".join(app.wsgi_app(environ, lambda status, _headers, _info=None: statuses.append(status)))
    return statuses[0], answer


class _Traceback(logging.Handler):
    """The log of the app about internal errors."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.text = ""

    def emit(self, record: logging.LogRecord) -> None:
        self.text += logging.Formatter().format(record)

    def __enter__(self) -> _Traceback:
        logging.getLogger("webhook").addHandler(self)
        return self

    def __exit__(self, *_: object) -> None:
        logging.getLogger("webhook").removeHandler(self)


def _check(envelope: Mapping[str, Any], body: bytes) -> None:
    """Check that an API server accepts the response, and that its texts are printable."""
    response = envelope["response"]
    if "result" in response:
        assert response["result"].get("message", "").isprintable()
        return
    status = response.get("status", {})
    causes = status.get("details", {}).get("causes", [])
    texts = [*status.get("message", "").split("\n"), *response.get("warnings", [])]
    texts += [text for cause in causes for text in (cause["message"], cause["field"])]
    assert all(text.isprintable() for text in texts), texts
    assert sum(len(text.encode()) for text in response.get("warnings", [])) <= 4096
    if "patch" in response:
        operations = json.loads(base64.b64decode(response["patch"]))
        if len(operations) < _LONGEST_PATCH:
            jsonpatch.apply_patch(
                json.loads(body)["request"]["object"], operations, in_place=True
            )  # copying a deep object would exceed the stack


def texts(chance: random.Random, mutator: Mutator) -> Status:
    """Read bytes as files, through the dialects and the search for positions."""
    documents, unreadable = read(["-"], io.BytesIO(_text(chance, mutator)))
    for document in documents:
        obj = dialects.read(document.manifest)
        fields = ["spec", "metadata.name", *(defect.field for defect in (obj.defects if obj else ())[:20])]
        assert all(document.locate(field).line >= 1 for field in fields)
    return f"{min(len(documents), 2)} read, {min(len(unreadable), 2)} not"


def trees(chance: random.Random, mutator: Mutator) -> Status:
    """Read the text of a YuniKorn configuration."""
    content = mutator.data(chance.choice(_of_yunikorn()).encode()).decode(errors="surrogateescape")
    return "problems" if read_config(content).problems else "read"


def kubeconfigs(chance: random.Random, mutator: Mutator) -> Status:
    content = written(mutator.tree(corpus.KUBECONFIG))
    if chance.random() < 0.4:
        content = mutator.data(content)
    return type(read_login(content.decode(errors="replace"), AllowedSources())).__name__


def configurations(chance: random.Random, mutator: Mutator) -> Status:
    own, kueue = corpus.CONFIGURATIONS
    try:
        if chance.random() < 0.5:
            read_configuration(_mapping(mutator.tree(own)), registry())
        else:
            read_configured(_mapping(mutator.tree(kueue)))
    except PolicyError as error:
        return "refused" if str(error) else "refused without a word"
    return "read"


def files(chance: random.Random, mutator: Mutator) -> Status:
    """Run all of `quotree validate -`."""
    with _StandardInput(_manifests(chance, mutator)), redirect_stderr(io.StringIO()):
        inputs = gather(["-"])
        context = load(Against())
        found = report(inputs, context, judge(inputs, context, Configuration()))
    assert all(line.isprintable() for line in f"{as_text(found)}\n{json_text(as_json(found))}".split("\n"))
    return "findings" if found.entries else "clean"


def simulations(chance: random.Random, mutator: Mutator) -> Status:
    """Run all of `quotree simulate -`."""
    shown = io.StringIO()
    with _StandardInput(_manifests(chance, mutator)), redirect_stderr(shown), redirect_stdout(shown):
        played = start(["-"], EngineOptions(None, None, None, False))
        taken, simulation = played.files, played.kueue
        text = "\n".join(
            (
                of_kueue.as_text(simulation, taken.forest),
                of_volcano.as_text(played.volcano),
                of_yunikorn.as_text(played.yunikorn),
            )
        )
    of_kueue.as_json(simulation, taken)
    of_volcano.as_json(played.volcano)
    of_yunikorn.as_json(played.yunikorn)
    assert all(line.isprintable() for line in text.split("\n"))
    return "unreadable" if taken.unreadable else "played"


def migrations(chance: random.Random, mutator: Mutator) -> Status:
    """Run all of `quotree migrate -`, and check that its output can be read."""
    origin = chance.choice(list(Origin))
    with _StandardInput(_manifests(chance, mutator)), redirect_stderr(io.StringIO()):
        found = migrated(origin, ["-"], Against(), MigrationWish({"cpu": chance.choice((0, 8000))}))
    text = migration_text(found)
    assert all(line.isprintable() for line in f"{text}\n{migration_json(found)}".split("\n"))
    documents, unreadable = read(["-"], io.BytesIO(text.encode()))
    assert len(documents) == len(found.migration.objects) or unreadable, text
    return f"{origin}: {'some' if documents else 'nothing'}"


class _StandardInput:
    def __init__(self, content: bytes) -> None:
        self._content = content
        self._before = sys.stdin

    def __enter__(self) -> None:
        sys.stdin = io.TextIOWrapper(io.BytesIO(self._content))

    def __exit__(self, *_: object) -> None:
        sys.stdin = self._before


def _text(chance: random.Random, mutator: Mutator) -> bytes:
    if chance.random() < 0.5:
        return mutator.data(chance.choice(corpus.texts()).encode())
    return _manifests(chance, mutator)


def _manifests(chance: random.Random, mutator: Mutator) -> bytes:
    picked = [chance.choice(corpus.manifests()) for _ in range(chance.choice((1, 2, 5)))]
    items = [mutator.tree(each) for each in picked]
    content = b"\n---\n".join(map(written, items))
    return mutator.data(content) if chance.random() < 0.1 else content


def _mapping(value: Any) -> dict[str, Any]:
    """The value as the reader of files returns configurations: a mapping with string keys."""
    read_again = json.loads(json.dumps(copied(value)))
    return read_again if isinstance(read_again, dict) else {}


@cache
def _of_kueue() -> tuple[Any, ...]:
    return tuple(each for each in corpus.manifests() if str(each.get("apiVersion")).startswith("kueue.x-k8s.io/"))


@cache
def _of_yunikorn() -> tuple[str, ...]:
    return tuple(text for text in corpus.texts() if "partitions" in text and "apiVersion" not in text)


Target = Callable[[random.Random, Mutator], Status]


def targets(seed: str) -> list[tuple[str, int, Target]]:
    """The targets with their names and their share of the inputs in percent."""
    webhook = Webhook(seed)
    return [
        ("webhook", 46, webhook.validate_or_mutate),
        ("conversion", 8, webhook.convert),
        ("texts", 20, texts),
        ("trees", 8, trees),
        ("kubeconfigs", 6, kubeconfigs),
        ("configurations", 4, configurations),
        ("files", 3, files),
        ("simulations", 1, simulations),
        ("migrations", 2, migrations),
        ("quota gates", 1, quota_gates),
        ("volcano's gates", 1, volcanos_gates),
    ]
