#!/bin/sh
# Sends to Profile Lookup what has changed in PostgreSQL since the last run that sent all of it. docs/fresh.md says how to
# install it, and profile-lookup-feed.service runs it: STATE_DIRECTORY and CREDENTIALS_DIRECTORY come from there, and
# PROFILECTL_HOST, PGDATABASE and the like from /etc/profile-lookup-feed/settings. By hand, all of them are variables.
set -eu
umask 077
: "${CHANGES_SQL:=$(cd "$(dirname "$0")" && pwd)/changes.sql}"
cd "$STATE_DIRECTORY"

# One at a time: of two, the older one might end last, and bring back what the newer one has replaced.
exec 9>lock
if ! flock --nonblock 9; then
  echo "Another run has not ended yet." >&2
  exit 75
fi
trap 'rm -f changes.jsonl' EXIT

# The lines go through a file, so that PostgreSQL keeps nothing open while they are sent, and half of them are never taken
# for all. They hold addresses.
since=0
[ ! -s since ] || since=$(cat since)
psql -XAtq -v ON_ERROR_STOP=1 -v since="$since" -f "$CHANGES_SQL"

# Everybody on the machine may read the arguments of a program, so the token is not among them.
if [ -s changes.jsonl ]; then
  PROFILECTL_TOKEN=$(cat "$CREDENTIALS_DIRECTORY/token") \
    profilectl profiles import --merge --host "$PROFILECTL_HOST" changes.jsonl
fi

# Only now, and whole: a run that ends before this is made up for by the next one.
sync next
mv next since
