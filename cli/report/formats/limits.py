"""How much of a report the services that read it take. These are theirs, and they move."""

from __future__ import annotations

GITHUB_ANNOTATIONS = 10
"""Annotations of one level that a step may make; GitHub drops the rest without a word."""
GITHUB_SUMMARY = 1024 * 1024
"""Bytes of a step's job summary; GitHub refuses a larger one."""
SARIF_RESULTS = 25_000
"""Results of one run that GitHub takes. It refuses a file with more, and shows 5 000."""
SARIF_RELATED_LOCATIONS = 100
"""Related locations of one result that GitHub shows; it refuses more than 1 000."""
