"""The checks of OpenSSF Scorecard that need no network, and their table in docs/supply-chain.md."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "supply-chain.md").read_text(encoding="utf-8")
CHECKS = {
    *("Binary-Artifacts", "Branch-Protection", "CI-Tests", "CII-Best-Practices", "Code-Review", "Contributors"),
    *("Dangerous-Workflow", "Dependency-Update-Tool", "Fuzzing", "License", "Maintained", "Packaging"),
    *("Pinned-Dependencies", "SAST", "SBOM", "Security-Policy", "Signed-Releases", "Token-Permissions"),
    *("Vulnerabilities", "Webhooks"),
}
"""Those of Scorecard v5, docs/checks.md."""
ROWS = {
    name: (state, why)
    for name, state, why in re.findall(r"^\| ([A-Z][\w-]+) \| (met|not met|online) \| (.+) \|$", PAGE, re.MULTILINE)
}
PROGRAMS = (b"\x7fELF", b"MZ\x90", b"\xca\xfe\xba\xbe", b"\xfe\xed\xfa", b"\xcf\xfa\xed\xfe", b"\0asm", b"PK\x03\x04")
"""How ELF, PE, Java, Mach-O, WebAssembly and archives of programs begin."""


def tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [ROOT / name for name in listed.split("\0") if name]


def test_each_scorecard_check_has_a_row() -> None:
    assert ROWS.keys() == CHECKS
    assert [name for name, (state, why) in ROWS.items() if state == "met" and "::test_" not in why] == []


def test_no_tracked_file_is_a_binary() -> None:
    files = [path for path in tracked() if path.is_file()]
    programs = [path for path in files if path.read_bytes()[:8].startswith(PROGRAMS)]

    assert len(files) > 2000
    assert programs == []
    assert [path for path in files if path.suffix in {".pyc", ".whl", ".jar", ".so", ".a", ".o", ".exe", ".deb"}] == []


def test_dependabot_updates_actions_and_go_modules() -> None:
    updates = yaml.safe_load((ROOT / ".github" / "dependabot.yml").read_text(encoding="utf-8"))["updates"]
    folders = {folder for each in updates for folder in each.get("directories", ())}

    assert "github-actions" in {each["package-ecosystem"] for each in updates}
    assert {f"/{path.parent.relative_to(ROOT)}" for path in tracked() if path.name == "go.mod"} == folders


def test_the_licence_is_at_the_root() -> None:
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")

    assert "Apache License" in text
    assert "Version 2.0, January 2004" in text


def test_the_security_policy_says_how_to_report_and_when_we_respond() -> None:
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")

    assert "Report a vulnerability" in text
    assert re.search(r"within \d+ days", text)
    assert "https://" in text, "Scorecard looks for an address"


def test_only_the_base_image_may_be_unpinned() -> None:
    """The row says `met` once `make base-image` has run."""
    state, why = ROWS["Pinned-Dependencies"]
    pinned = re.search(r"^ARG PYTHON=\S+@sha256:[0-9a-f]{64}$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    stages = re.findall(r"^FROM (\S+)", (ROOT / "Dockerfile").read_text(), re.MULTILINE)

    assert (state == "met") == (pinned is not None), "the row in docs/supply-chain.md and the Dockerfile differ"
    assert pinned or "the base image has no digest yet" in why
    assert stages == ["${PYTHON}", "${PYTHON}"]


def test_the_action_and_scripts_install_only_locked_packages() -> None:
    texts = {
        path: path.read_text(encoding="utf-8") for path in [ROOT / "action.yml", *(ROOT / "integrations").rglob("*.sh")]
    }
    found = [line for text in texts.values() for line in re.findall(r"\bpip\"? install .*", text)]

    assert found
    assert [line for line in found if "--require-hashes" not in line and "--no-deps" not in line] == []
