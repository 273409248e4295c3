"""Writes verdicts as AdmissionReview bytes. Users read the message of a refusal, and the warnings."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from functools import cache
from http import HTTPStatus
from typing import Any

from policies.dialects.reading import listing, mapping, metadata
from policies.judging.sentence import assertion, sentence
from policies.judging.verdict import Judged, Unjudged, Verdict
from policies.model.findings import Profile, Severity
from policies.model.printing import plain
from webhook.review import API_VERSION, KIND, Review
from webhook.warning_lines import warnings

LINES = 5  # the most violations in a message: as many as fit a terminal
CAUSES = 50  # the most causes in the details: nobody fixes more than that from an error text
LENGTH = 4096  # the most characters of a violation: it may quote an annotation of 256 KiB, and audit logs keep it
RULES = 10  # the most ids in an audit annotation
_REASONS = {
    HTTPStatus.FORBIDDEN: "Forbidden",
    HTTPStatus.UNPROCESSABLE_ENTITY: "Invalid",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "RequestEntityTooLarge",
}


def validated(review: Review, verdict: Verdict, profile: Profile) -> bytes:
    """The response that allows or denies, with warnings and audit annotations."""
    if not verdict.findings and not verdict.not_evaluated:
        return json.dumps(review.uid).encode().join(_nothing_found(profile))
    response: dict[str, Any] = {
        "uid": review.uid,
        "allowed": verdict.allowed,
        "auditAnnotations": {**_followed(review.uid), **audit_annotations(verdict, profile)},
    }
    if not verdict.allowed:
        response["status"] = _status(review, verdict.of(Severity.ERROR), profile)
    if lines := [*map(_failed, verdict.failed), *warnings(verdict.of(Severity.WARNING))]:
        response["warnings"] = lines
    return _body(response)


@cache
def _nothing_found(profile: Profile) -> list[bytes]:
    """The response without findings, split at the uids. Nearly all requests get this response."""
    placeholder = "the uid of the request"
    notes = {**_followed(placeholder), **audit_annotations(Verdict(), profile)}
    return _body({"uid": placeholder, "allowed": True, "auditAnnotations": notes}).split(
        json.dumps(placeholder).encode()
    )


def unavailable(review: Review, why: str) -> bytes:
    """The response that denies because the change could not be judged. The same request may pass later."""
    return _denied(review, HTTPStatus.SERVICE_UNAVAILABLE, "ServiceUnavailable", why, verdict="unavailable")


def exists(review: Review, why: str) -> bytes:
    """The response if the name of a new object is taken, with the reason that the API server itself would give.

    For a server-side apply the reason is a conflict. Clients then apply again, which updates the object.
    """
    managers = listing(metadata(review.manifest).get("managedFields"))
    applied = any(mapping(each).get("operation") == "Apply" for each in managers)
    return _denied(review, HTTPStatus.CONFLICT, "Conflict" if applied else "AlreadyExists", why)


def mutated(review: Review, operations: list[dict[str, Any]]) -> bytes:
    """The response that allows the change, with a patch unless `operations` is empty."""
    response: dict[str, Any] = {"uid": review.uid, "allowed": True}
    if operations:
        response["auditAnnotations"] = _followed(review.uid)
        response["patchType"] = "JSONPatch"
        # A number with a fraction is a Decimal here. The API server reads it as a float64, too.
        patch = json.dumps(operations, default=float, allow_nan=False)
        response["patch"] = base64.b64encode(patch.encode()).decode()
    return _body(response)


def denied(review: Review, code: HTTPStatus, why: str) -> bytes:
    return _denied(review, code, _REASONS[code], f"{review.kind.kind} {review.name}: {why}")


def too_long(uid: str, limit: int) -> bytes:
    """Deny the creation of an object in a body that is longer than `limit` bytes and was not read."""
    code = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    why = f"the object has more than {limit} bytes as JSON, in which <, > and & take six bytes each; make it smaller"
    status = {"code": code.value, "reason": _REASONS[code], "message": why}
    return _body({"uid": uid, "allowed": False, "auditAnnotations": _followed(uid), "status": status})


def _denied(review: Review, code: HTTPStatus, reason: str, why: str, **notes: str) -> bytes:
    status = {"code": code.value, "reason": reason, "message": plain(why)}
    annotations = {**_followed(review.uid), **notes}
    return _body({"uid": review.uid, "allowed": False, "auditAnnotations": annotations, "status": status})


def outcome(verdict: Verdict) -> str:
    """The verdict as one word, for metrics, logs and the audit log."""
    if not verdict.allowed:
        return "denied"
    return "warned" if verdict.of(Severity.WARNING) else "allowed"


def rule_ids(verdict: Verdict) -> list[str]:
    """The rules with findings, worst first, each once."""
    return list(dict.fromkeys(judged.rule.id for judged in verdict.findings))


def audit_annotations(verdict: Verdict, profile: Profile) -> dict[str, str]:
    """The annotations for the API server's audit log, which prefixes each key with the webhook's name."""
    notes = {"verdict": outcome(verdict), "profile": str(profile)}
    if rules := rule_ids(verdict):
        notes["rules"] = _some(rules)
    if exempted := list(dict.fromkeys(judged.rule.id for judged in verdict.findings if judged.exemption)):
        notes["exempted"] = _some(exempted)
    if missed := list(dict.fromkeys(unjudged.rule.id for unjudged in verdict.not_evaluated)):
        notes["not-evaluated"] = _some(missed)
    return notes


def _failed(missed: Unjudged) -> str:
    return f"a rule failed with an internal error and did not judge this change [{missed.rule.id}]"


def _followed(uid: str) -> dict[str, str]:
    """The audit annotation with the request's uid: the API server's audit log lacks it, and our log lines have it."""
    return {"uid": uid}


def _some(ids: list[str]) -> str:
    return ",".join(ids[:RULES]) + (",..." if len(ids) > RULES else "")


def _status(review: Review, errors: tuple[Judged, ...], profile: Profile) -> dict[str, Any]:
    code = _code(errors, profile)
    return {
        "code": code.value,
        "reason": _REASONS[code],
        "message": _message(errors),
        "details": {
            "name": plain(review.name or errors[0].finding.object.name),
            "group": review.kind.group,
            "kind": review.kind.kind,
            "causes": [_cause(judged) for judged in errors[:CAUSES]],
        },
    }


def _code(errors: tuple[Judged, ...], profile: Profile) -> HTTPStatus:
    """The status of the rules if all have the same one, else 403. Under `compat` it is always 403, as from the webhooks
    of the projects."""
    statuses = {judged.rule.status for judged in errors}
    return statuses.pop() if profile is Profile.STRICT and len(statuses) == 1 else HTTPStatus.FORBIDDEN


def _message(errors: tuple[Judged, ...]) -> str:
    """One violation per line, worst first. The first must make sense alone: kubectl appends it to its own text."""
    lines = [f"{_cut(sentence(judged))} [{judged.rule.id}]" for judged in errors[:LINES]]
    if len(errors) > LINES:
        lines.append(f"and {len(errors) - LINES} more (quotree validate shows all)")
    return "\n".join(lines)


def _cause(judged: Judged) -> Mapping[str, str]:
    """The message includes the fix and the rule's id, since kubectl shows only the causes of a 422."""
    return {
        "reason": judged.rule.reason,
        "field": plain(judged.finding.field),
        "message": f"{_cut(assertion(judged))} [{judged.rule.id}]",
    }


def _cut(text: str) -> str:
    return text if len(text) <= LENGTH else f"{text[:LENGTH]}..."


def _body(response: Mapping[str, Any]) -> bytes:
    return json.dumps({"apiVersion": API_VERSION, "kind": KIND, "response": response}).encode()
