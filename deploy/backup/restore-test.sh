#!/bin/sh
# Fetches the newest off-site copy, restores it in a temporary folder and checks it there. Also fails if the copy is older than
# two days, because the backups have then stopped.
set -eu
umask 077
TMPDIR=$(mktemp -d "${CACHE_DIRECTORY:-/tmp}/restore-test.XXXXXX")
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT

restic restore latest --quiet --tag profile-lookup --target "$TMPDIR"
if [ -z "$(find "$TMPDIR/profiles.db" -mtime -2)" ]; then
  echo "The newest backup is more than two days old." >&2
  exit 1
fi
profilectl db check --restore "$TMPDIR/profiles.db"
