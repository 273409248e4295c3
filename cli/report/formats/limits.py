"""The limits of GitHub and other services that read reports. The services may change them."""

from __future__ import annotations

GITHUB_ANNOTATIONS = 10
"""Annotations of one level in a step; GitHub silently drops more."""
GITHUB_SUMMARY = 1024 * 1024
"""The size of a step's job summary in bytes; GitHub refuses a larger one."""
SARIF_RESULTS = 25_000
"""Results of one run; GitHub refuses a file with more. It shows 5 000 of them."""
SARIF_RELATED_LOCATIONS = 100
"""Related locations of one result that GitHub shows. It refuses more than 1 000."""
