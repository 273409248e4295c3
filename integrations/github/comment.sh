#!/usr/bin/env bash
# Keeps one comment on a pull request up to date. The first line of the comment marks it as ours.
# Needs the GitHub CLI with GH_TOKEN. Inputs: PULL_REQUEST, SUMMARY (a file), EXIT_CODE, DIFFERS (whether quota does);
# GITHUB_REPOSITORY is set by GitHub.
set -euo pipefail

marker='<!-- quotree: judged change -->'
longest=60000 # GitHub takes 65536 characters

body=$(mktemp "${RUNNER_TEMP:?}/quotree-comment.XXXXXX")
trap 'rm -f "$body"' EXIT
{
  echo "$marker"
  head -c "$longest" "${SUMMARY:?}" | iconv -c -f UTF-8 -t UTF-8
  if (($(wc -c < "$SUMMARY") > longest)); then
    printf '\n\nThe rest is in the job summary.\n'
  fi
} > "$body"

# Anybody may post a comment with the marker, and edit it later. An app, as GitHub Actions is, cannot ask who it is.
ours='.user.type == "Bot"'
if login=$(gh api user --jq .login 2>/dev/null); then
  ours=".user.login == \"$login\""
fi
comments="repos/${GITHUB_REPOSITORY:?}/issues/${PULL_REQUEST:?}/comments"
found=$(gh api --paginate "$comments" --jq ".[] | select($ours and (.body | startswith(\"$marker\"))) | .id" | sed -n 1p)
if [[ -n "$found" ]]; then
  gh api --silent --method PATCH "repos/$GITHUB_REPOSITORY/issues/comments/$found" -F "body=@$body"
elif [[ "${EXIT_CODE:?}" != 0 || "${DIFFERS:-}" == true ]]; then
  gh api --silent --method POST "$comments" -F "body=@$body"
fi
