#!/bin/sh
# Makes a verified copy of the database, sends it off-site with restic, encrypted, removes old copies, fetches the new one
# and checks it. profile-lookup-backup.service runs it. restic's own variables stand in a file of shell syntax, which this shell
# reads, and nothing else.
set -eu
umask 077
# A run that was killed left its copy.
[ -z "${CACHE_DIRECTORY:-}" ] || rm -rf "$CACHE_DIRECTORY"/backup.*
TMPDIR=$(mktemp -d "${CACHE_DIRECTORY:-/tmp}/backup.XXXXXX")
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
# Signals alone would not run that.
trap 'exit 1' HUP INT TERM
cd "$TMPDIR"
set -a
. "${RESTIC_SETTINGS:-/etc/profile-lookup/restic}"
set +a
pl() { profilectl --env-file "${SETTINGS:-/etc/profile-lookup/settings}" "$@"; }

pl db backup profiles.db
# Removes only locks of runs that were killed, which would stop all later ones.
restic unlock --quiet
restic backup --quiet --tag profile-lookup profiles.db

# Seven days and five weeks: erased profiles are gone from all copies after five weeks.
restic forget --quiet --tag profile-lookup --group-by tags --keep-daily 7 --keep-weekly 5 --prune

rm profiles.db
restic restore latest --quiet --tag profile-lookup --target .
pl db check --db profiles.db

# "status" knows this backup alone, and warns if no night has come this far for long.
rm profiles.db
pl db backup --scheduled profiles.db
