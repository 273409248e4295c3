"""The routes of the dashboard. It reads with the rights of the user, and writes only the list of ended sessions."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from flask import Flask, Response, g, redirect, render_template, request, url_for
from werkzeug.datastructures import MultiDict
from werkzeug.exceptions import HTTPException

from analysis.impact import effect_text
from certs.pki import CertificateFacts
from cluster.errors import ApiError, ClusterError, Forbidden, NotFound, Unauthorized, Unreachable
from cluster.roles import missing_role
from dashboard.backend import Backend
from dashboard.login.authenticators import ByKey
from dashboard.login.ended import TooManyEnded
from dashboard.login.sessions import LASTS, TokenTooLong
from dashboard.pages import (
    clusters,
    findings,
    formatting,
    mine,
    morning,
    namespace,
    node,
    topologies,
    trees,
    what_if,
    workload,
)
from dashboard.pages.ink import file_ink, no_ink
from dashboard.pages.installed import CertificateSources
from dashboard.pages.outlined import outline_picture, quota_word
from dashboard.pages.times import lasting, past, relative
from dashboard.reading.backend import UserLogin
from dashboard.reading.cache import FRESH, RECENT, AnswerCache, CachedReader
from dashboard.reading.remote import ServerAway
from dashboard.reading.self_access import SelfAccess
from dashboard.reading.served import ServedCertificates
from dashboard.settings import DashboardSettings
from dashboard.trees.tree import FlavorPair, NodeKey
from dashboard.what_if.edits import BadEdit
from dashboard.what_if.form import Form, linked, sent
from dashboard.what_if.links import BadLink, ChangeLinks
from dashboard.what_if.processes import MissingRights
from policies.impact.quotas import amount_text
from policies.model.printing import plain

log = logging.getLogger(__name__)
READ = "Quotree-Read"
"""A header with the time at which the oldest data of the page was read.

It is not part of the page, so that the page stays the same until its content changes.
"""
_STAMP = "@@quotree-read@@"
_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_BODY = 256 * 1024
"""The maximum size of a form in bytes."""
_ENDED_HERE = (
    "This browser is signed out, but the session did not end at every replica: a copy of the cookie may open the"
    f" dashboard for up to {LASTS // 3600} hours. To rule that out, delete the service account of the token, or ask an"
    " administrator."
)
_TENANT_PAGES = (("/workloads/", "My workloads, and why they wait"), ("/namespaces/", "My namespaces"))
"""Pages for users who may not see the pages about the whole cluster."""
_NAMESPACES = "quotree-namespaces"
"""The cookie with the namespaces that were opened in this browser."""
_WITHOUT_LOGIN = {"static", "sign_in", "sign_in_with", "start"}
"""The endpoints that need no login."""


def create_app(
    settings: DashboardSettings, backend: Backend, certificate: Callable[[], CertificateFacts] | None = None
) -> Flask:
    """The WSGI application. Many threads call it. `certificate`: reads the served certificate; None for plain HTTP."""
    app = Flask(__name__)
    app.config["MAX_CONTENT_LENGTH"] = _BODY
    app.jinja_options["finalize"] = _printable
    app.jinja_env.trim_blocks = app.jinja_env.lstrip_blocks = True
    app.jinja_env.globals |= {
        "node_url": formatting.node_url,
        "queue_url": formatting.queue_url,
        "workload_url": formatting.workload_url,
        "what_if_url": formatting.what_if_url,
        "namespace_url": formatting.namespace_url,
        "object_url": formatting.object_url,
        "job_text": formatting.job_text,
        "free_text": formatting.free_text,
        "scarce_text": formatting.scarce_text,
        "relative": relative,
        "lasting": lasting,
        "past": past,
        "amount_text": amount_text,
        "effect_text": effect_text,
        "refresh": settings.refresh_seconds,
        "signs_in": settings.authenticator.asks,
        "stamp": _STAMP,
        "audited": backend.audited,
        "quota_word": quota_word,
        "file_ink": file_ink,
        "no_ink": no_ink,
    }
    app.jinja_env.filters["coded"] = formatting.coded
    app.jinja_env.filters["lines"] = what_if.printed_lines
    cache = AnswerCache()
    app.before_request(lambda: _authenticate(settings, backend, cache))
    app.after_request(_with_headers)
    app.register_error_handler(ClusterError, partial(_cluster_error, settings))
    app.register_error_handler(HTTPException, _http_error)
    sources = CertificateSources(ServedCertificates(), lambda: backend.servers, certificate)
    _pages(app, settings, sources, audited=backend.audited)
    _what_if(app, backend, ChangeLinks(settings.link_key))
    _add_sign_in(app, settings, backend)
    return app


def compile_templates(app: Flask) -> None:
    """Compile all templates, which takes 0.4 s. Otherwise the first visitor of each page would wait for it."""
    for name in app.jinja_env.list_templates():
        app.jinja_env.get_template(name)


def _authenticate(settings: DashboardSettings, backend: Backend, cache: AnswerCache) -> Any:
    """Authenticate the caller. Returns a response if the request is refused, otherwise None."""
    if request.method not in ("GET", "HEAD") and not _same_origin():
        return _page("error.html", code=403, title="Refused", message="This form was not sent from this page."), 403
    if request.endpoint in _WITHOUT_LOGIN:
        return None
    login = settings.authenticator.login(request)
    if login is None:
        return _not_signed_in(settings)
    g.reader = CachedReader(cache, login, backend.reader(login), FRESH if _wants_news() else RECENT)
    g.login, g.may = login, SelfAccess(g.reader)
    return None


def _wants_news() -> bool:
    """Whether the request needs fresh data: a page that updates itself, a reload, or a link from a page to itself."""
    control = request.cache_control
    return bool(control.no_cache or control.no_store or control.max_age == 0 or request.referrer == request.url)


def _not_signed_in(settings: DashboardSettings) -> Any:
    if settings.authenticator.asks:
        return _to_sign_in()
    message = "Open the address that the command printed; it has a key."
    if not isinstance(settings.authenticator, ByKey):
        message = "The proxy in front of this page did not name you, or it is not a trusted proxy."
    return _page("error.html", code=401, title="Not signed in", message=message), 401


def _to_sign_in() -> Any:
    """A redirect to the sign-in form, which leads back to this page, or to the page of the form that was sent."""
    target = _last_page() if request.method == "POST" else request.full_path.rstrip("?")
    return redirect(url_for("sign_in", next=target), 303)


def _pages(app: Flask, settings: DashboardSettings, sources: CertificateSources, *, audited: bool) -> None:
    @app.get("/")
    def home() -> Any:
        if not g.may.now:
            return my_workloads()  # the first page for users who may not see queues
        found = morning.page(g.reader, sources, audited=audited)
        if found["denied"] and not found["notices"]:
            return my_workloads()
        return _page("morning.html", **found)

    @app.get("/trees/<dialect>")
    def show_trees(dialect: str) -> Any:
        named = formatting.dialect_named(dialect)
        if named is None:
            return _missing(f"The dashboard shows trees of Kueue, Volcano and YuniKorn, not of {dialect}.")
        try:
            return _page("trees.html", **trees.page(g.reader, named, request.args))
        except (Forbidden, NotFound) as error:
            return _page("no_trees.html", code=error.status, **trees.no_trees(named, error)), error.status

    @app.get("/trees/<dialect>/picture.svg")
    def tree_picture(dialect: str) -> Any:
        named = formatting.dialect_named(dialect)
        if named is None:
            return _missing(f"The dashboard shows trees of Kueue, Volcano and YuniKorn, not of {dialect}.")
        return _file("picture.svg", f"{dialect}.svg", **trees.drawn(g.reader, named, request.args))

    @app.get("/queues/<dialect>/<kind>/<name>")
    def show_node(dialect: str, kind: str, name: str) -> Any:
        named = formatting.dialect_named(dialect)
        found = node.page(g.reader, named, NodeKey(kind, name)) if named else None
        return _page("node.html", **found) if found else _missing(f"{kind} {name} does not exist, or was deleted.")

    @app.get("/queues/<dialect>/<kind>/<name>/history.svg")
    def history_picture(dialect: str, kind: str, name: str) -> Any:
        named, pair = formatting.dialect_named(dialect), FlavorPair.parse(request.args.get("pair", ""))
        found = node.drawn(g.reader, named, NodeKey(kind, name), pair) if named else None
        if found is None:
            return _missing(f"No usage of {pair} at {kind} {name} is recorded.")
        return _file("history.svg", "history.svg", **found)

    @app.get("/namespaces/")
    def choose_namespace() -> Any:
        chosen = request.args.get("name", "").strip()
        if chosen:
            return redirect(formatting.namespace_url(chosen), 303)
        return _page(
            "choose_namespace.html", **mine.namespaces_page(g.reader, g.may, request.args, _known_namespaces())
        )

    @app.get("/namespaces/<name>")
    def show_namespace(name: str) -> Any:
        found = namespace.page(g.reader, g.may, name)
        if found is None:
            return _missing(f"Namespace {name} does not exist.", "/namespaces/", "All namespaces")
        answer = _page("namespace.html", **found)
        before = request.cookies.get(_NAMESPACES, "")
        if found["workloads"].error is None and (known := mine.with_known(before, name)) != before:
            _set_cookie(answer, settings, known, _NAMESPACES)
        return answer

    @app.get("/workloads/")
    def my_workloads() -> Any:
        return _page("my_workloads.html", **mine.workloads_page(g.reader, g.may, request.args, _known_namespaces()))

    @app.get("/workloads/<space>/<name>")
    def show_workload(space: str, name: str) -> Any:
        try:
            return _page("workload.html", **workload.page(g.reader, space, name))
        except NotFound:
            message = f"Workload {space}/{name} does not exist, or was deleted."
            return _missing(message, formatting.namespace_url(space), f"Namespace {space}")

    @app.get("/clusters")
    def show_clusters() -> Any:
        return _page("clusters.html", **clusters.page(g.reader))

    @app.get("/topologies")
    def show_topologies() -> Any:
        return _page("topologies.html", **topologies.page(g.reader))

    @app.get("/topologies/<flavor>")
    def show_domains(flavor: str) -> Any:
        return _page("domains.html", **topologies.domains_page(g.reader, flavor, request.args))

    @app.get("/findings")
    def show_findings() -> Any:
        try:
            return _page("findings.html", **findings.page(g.reader, request.args, sources))
        except Forbidden:
            if request.args.get("namespace") or request.args.get("root"):
                raise
            known = mine.tried(g.reader, g.may, _known_namespaces())[: mine.MOST_KNOWN]
            # An empty parameter `namespace` requests the list.
            if len(known) == 1 and "namespace" not in request.args:
                return redirect(url_for("show_findings", namespace=known[0]), 303)
            return _page("findings_of_one.html", code=403, namespaces=known), 403


def _what_if(app: Flask, backend: Backend, links: ChangeLinks) -> None:
    """Add the routes of the what-if. The form is sent by POST, since it may contain a file, but nothing is written."""

    def asker() -> what_if.Asker:
        return what_if.Asker(g.reader, g.login, backend.what_if, links)

    def posted() -> Form:
        return sent(request.form, partial(what_if.pairs_of, g.reader))

    def answered(form: Form, *, ask: bool) -> Any:
        found, status = what_if.page(asker(), form, ask=ask)
        return _page("what_if.html", **found), status

    @app.get("/what-if")
    def show_what_if() -> Any:
        if "change" not in request.args:
            return answered(linked(request.args), ask=False)
        try:
            lines = links.open(request.args["change"])
        except BadLink as error:
            return answered(Form(problems=[str(error)]), ask=False)
        return answered(sent(MultiDict([("edit", line) for line in lines])), ask=True)

    @app.post("/what-if")
    def ask_what_if() -> Any:
        return answered(posted(), ask=request.form.get("do") != "add")

    @app.post("/what-if/tree.svg")
    def what_if_picture() -> Any:
        found, status = what_if.page(asker(), posted(), ask=True)
        if found["outcome"] is None:
            return _page("what_if.html", **found), status  # this page has the reason
        return _file("outlines.svg", "what-if.svg", **found, picture=outline_picture(found["outcome"].outlines))

    @app.post("/what-if/change.yaml")
    def download_what_if() -> Any:
        form = posted()
        try:
            text = what_if.download(asker(), form)
        except (BadEdit, MissingRights):
            return answered(form, ask=False)  # this page has the reason
        answer = Response(text, mimetype="application/yaml")
        answer.headers["Content-Disposition"] = 'attachment; filename="change.yaml"'
        return answer


def _add_sign_in(app: Flask, settings: DashboardSettings, backend: Backend) -> None:
    @app.get("/sign-in")
    def sign_in() -> Any:
        return _page("sign_in.html", next=_own_path(request.args.get("next", "")), problem="")

    @app.post("/sign-in", endpoint="sign_in_with")
    def signed_in() -> Any:
        token, target = request.form.get("token", "").strip(), _own_path(request.form.get("next", ""))
        try:
            if not settings.authenticator.asks or settings.sessions is None:
                return _missing("This dashboard has no sign-in form.")
            sealed = settings.sessions.seal(token)
            backend.reader(UserLogin(f"Bearer {token}")).user()
        except TokenTooLong as error:
            return _page("sign_in.html", next=target, problem=str(error)), 400
        except (Unauthorized, ValueError):
            problem = "The cluster does not accept this token: it is unknown or expired."
            return _page("sign_in.html", next=target, problem=problem), 401
        answer = redirect(target, 303)
        _set_cookie(answer, settings, sealed)
        return answer

    @app.post("/sign-out")
    def sign_out() -> Any:
        answer: Any = redirect(url_for("sign_in"), 303)
        try:
            if settings.sessions is not None:
                settings.sessions.end(request.cookies.get(settings.cookie, ""))
        except (ClusterError, TooManyEnded) as error:
            log.warning("a session could not be ended at all replicas: %s", error)
            answer = _page("sign_in.html", next="/", problem=_ENDED_HERE)
            answer.status_code = 503
        _set_cookie(answer, settings, "")
        _set_cookie(answer, settings, "", _NAMESPACES)
        return answer

    @app.get("/start")
    def start() -> Any:
        authenticator, key = settings.authenticator, request.args.get("key", "")
        if not isinstance(authenticator, ByKey) or not authenticator.fits(key):
            message = "This link has expired. Open the address that `quotree dashboard` printed last."
            return _page("error.html", code=401, title="Not signed in", message=message), 401
        answer = redirect(url_for("home"), 303)
        _set_cookie(answer, settings, key)
        return answer


def _known_namespaces() -> list[str]:
    return mine.known_of(request.cookies.get(_NAMESPACES, ""))


def _set_cookie(answer: Any, settings: DashboardSettings, value: str, name: str = "") -> None:
    """Set a cookie, or delete it if `value` is empty. `name`: by default that of the session."""
    answer.set_cookie(
        name or settings.cookie,
        value,
        max_age=LASTS if value else 0,
        secure=settings.secure,
        httponly=True,
        samesite="Strict",
        path="/",
    )


def _page(template: str, **names: Any) -> Response:
    """The page, or status 304 if the browser has the same page already."""
    reader: CachedReader | None = g.get("reader")
    read = formatting.clock(reader.oldest) if reader else ""
    body = render_template(template, problems=reader.problems if reader else [], read=read, back=_last_page(), **names)
    answer = Response(body.replace(_STAMP, read), mimetype="text/html")
    answer.headers["Cache-Control"] = "private, no-cache"
    answer.headers[READ] = read
    answer.set_etag(sha256(body.encode()).hexdigest()[:32])
    if request.method == "GET":
        answer.make_conditional(request)
    return answer


def _file(template: str, name: str, **names: Any) -> Response:
    """An SVG file to download, with the time at which its data was read."""
    body = render_template(template, **names).replace(_STAMP, formatting.clock(g.reader.oldest))
    answer = Response(body, mimetype="image/svg+xml")
    answer.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    answer.headers["Cache-Control"] = "private, no-store"
    return answer


def _last_page() -> str:
    """The path of the page from which the user came; empty if it is not a page of this dashboard."""
    last = urlsplit(request.referrer or "")
    target = f"{last.path}?{last.query}" if last.query else last.path
    return _own_path(target) if last.netloc == request.host and request.referrer != request.url else ""


def _with_headers(answer: Response) -> Response:
    answer.headers.update(_HEADERS)
    return answer


def _missing(message: str, url: str = "", text: str = "") -> tuple[Response, int]:
    """The page with status 404. `url`, `text`: a link to a page that may help."""
    links = [(url, text)] if url else []
    return _page("error.html", code=404, title="Not found", message=message, links=links), 404


def _cluster_error(settings: DashboardSettings, error: ClusterError) -> Any:
    """The response to a failed read: a redirect if users can sign in again, otherwise a page with the error."""
    if isinstance(error, Unauthorized) and settings.authenticator.asks:
        return _to_sign_in()
    code, title = _kind_of(error)
    message = error.message if isinstance(error, ApiError) and error.message else str(error)
    if isinstance(error, Forbidden) and (role := missing_role(message)):
        message = f"{message}; {role}"
    if isinstance(error, NotFound | ServerAway):
        message = message[:1].upper() + message[1:]
    message = message if message.endswith((".", "?", "!")) else f"{message}."
    links = _TENANT_PAGES if isinstance(error, Forbidden) else ()
    return _page("error.html", code=code, title=title, message=message, links=links), code


def _kind_of(error: ClusterError) -> tuple[int, str]:
    match error:
        case Forbidden():
            return 403, "You may not see this"
        case NotFound():
            return 404, "Not found"
        case ServerAway():
            return 503, f"{error.subject[:1].upper()}{error.subject[1:]} does not answer"
        case Unreachable():
            return 503, "No answer"
    return 502, "Unusable answer"


def _http_error(error: HTTPException) -> Any:
    if error.code == HTTPStatus.NOT_FOUND:
        return _missing(f"The dashboard has no page {request.path}.")
    return _page("error.html", code=error.code or 500, title=error.name, message=error.description or ""), error.code


def _same_origin() -> bool:
    """Whether a form comes from a page of this server. Browsers send the origin of a form.

    A client that sends no origin is allowed, since it does not send cookies automatically either.
    """
    site, origin = request.headers.get("Sec-Fetch-Site"), request.headers.get("Origin")
    if site is not None:
        return site in ("same-origin", "none")
    return origin is None or urlsplit(origin).netloc == request.host


def _own_path(target: str) -> str:
    """The path, if it is one of this server; otherwise `/`. It must not lead to another server."""
    parts = urlsplit(target)
    is_own = (
        target.startswith("/") and not target.startswith(("//", "/\\")) and not parts.netloc and target.isprintable()
    )
    return target if is_own and "\\" not in target else "/"


def _printable(value: Any) -> Any:
    """The value with control characters escaped: texts of manifests must not change a page's direction or be hidden."""
    return plain(value) if type(value) is str else value
