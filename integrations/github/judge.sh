#!/usr/bin/env bash
# Judges a change in a GitHub workflow: annotations in the log, the job summary, and SARIF in a file. With a base the
# summary also says what the change does to quota; that never fails the job.
# Inputs: INPUT_PATHS and INPUT_ARGUMENTS (one entry in each line), INPUT_BASE (a Git revision, or empty).
set -euo pipefail

lines() { # the lines of $1 that are not empty, each ended by a null byte
  printf '%s\n' "$1" | { grep -v '^[[:space:]]*$' || true; } | tr '\n' '\0'
}

mapfile -d '' -t paths < <(lines "${INPUT_PATHS:-.}")
mapfile -d '' -t arguments < <(lines "${INPUT_ARGUMENTS:-}")
reports=$(mktemp -d "${RUNNER_TEMP:?}/quotree.XXXXXX")
arguments+=(-o github -o "sarif=$reports/quotree.sarif" -o "markdown=$reports/summary.md")
if [[ -n "${INPUT_BASE:-}" ]]; then
  arguments+=("--base=$INPUT_BASE")
fi

code=0
quotree validate "${arguments[@]}" -- "${paths[@]}" || code=$?

differs=false
if [[ -e "$reports/summary.md" && -n "${INPUT_BASE:-}" ]]; then
  if quotree diff "--base=$INPUT_BASE" -o "markdown=$reports/diff.md" -- "${paths[@]}" && [[ -s "$reports/diff.md" ]]; then
    grep -Fqx '## Quotree: no quota changes' "$reports/diff.md" || differs=true
    printf '\n' | cat - "$reports/diff.md" >> "$reports/summary.md"
  fi
fi
echo "differs=$differs" >> "${GITHUB_OUTPUT:?}"

if [[ -e "$reports/summary.md" ]]; then
  cat "$reports/summary.md" >> "${GITHUB_STEP_SUMMARY:?}"
  echo "summary-file=$reports/summary.md" >> "${GITHUB_OUTPUT:?}"
fi
if [[ -e "$reports/quotree.sarif" ]]; then
  echo "sarif-file=$reports/quotree.sarif" >> "${GITHUB_OUTPUT:?}"
fi
echo "exit-code=$code" >> "${GITHUB_OUTPUT:?}"
exit "$code"
