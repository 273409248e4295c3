"""Measurements from outside: the requests counted by the API server, and the processor time of a process."""

from __future__ import annotations

import os
import re
from collections import Counter
from pathlib import Path

from tests.bench.admission.lines import Group, Line

_SAMPLE = re.compile(r"^apiserver_request_total\{([^}]*)\} (\S+)$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="([^"]*)"')
_VERBS = {"APPLY": "PATCH"}


def requests(line: Line, code: str = "") -> Counter[Group]:
    """The requests that the API server has answered so far, all or those with this status; without open watches."""
    _, text = line.send("GET", "/metrics")
    found: Counter[Group] = Counter()
    for labels, value in _SAMPLE.findall(text.decode()):
        of: dict[str, str] = dict(_LABEL.findall(labels))
        if code not in ("", of["code"]):
            continue
        kind = of["resource"] + (f"/{of['subresource']}" if of["subresource"] else "")
        found[_VERBS.get(of["verb"], of["verb"]), kind] += int(float(value))
    return found


def cpu_seconds(pid: int) -> float:
    """The processor seconds of all threads of a process, in user and kernel mode."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
