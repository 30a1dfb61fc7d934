#!/bin/sh
# Makes a verified copy of the database, sends it off-site with restic, encrypted, removes old copies, fetches the new one
# and checks it. profile-lookup-backup.service runs it. restic's own variables stand in a file of shell syntax, which this shell
# reads, and nothing else.
set -eu
umask 077
TMPDIR=$(mktemp -d "${CACHE_DIRECTORY:-/tmp}/backup.XXXXXX")
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
cd "$TMPDIR"
set -a
. "${RESTIC_SETTINGS:-/etc/profile-lookup/restic}"
set +a
pl() { profilectl --env-file "${SETTINGS:-/etc/profile-lookup/settings}" "$@"; }

pl db backup --scheduled profiles.db
restic backup --quiet --tag profile-lookup profiles.db

# Seven days and five weeks: erased profiles are gone from all copies after five weeks.
restic forget --quiet --tag profile-lookup --group-by tags --keep-daily 7 --keep-weekly 5 --prune

rm profiles.db
restic restore latest --quiet --tag profile-lookup --target .
pl db check --db profiles.db
