#!/bin/sh
# Sends what has changed in PostgreSQL since the last complete run to Profile Lookup. docs/fresh.md explains how to install it.
# profile-lookup-feed.service runs it and sets STATE_DIRECTORY and CREDENTIALS_DIRECTORY; PROFILECTL_HOST, PGDATABASE and
# others come from /etc/profile-lookup-feed/settings. To run it by hand, set all of these.
set -eu
umask 077
: "${CHANGES_SQL:=$(cd "$(dirname "$0")" && pwd)/changes.sql}"
cd "$STATE_DIRECTORY"

# One run at a time: if two overlapped, the older one might finish last and undo what the newer one has sent.
exec 9>lock
if ! flock --nonblock 9; then
  echo "Another run is still in progress." >&2
  exit 75
fi
trap 'rm -f changes.jsonl' EXIT

# The lines go through a file, so that no transaction stays open in PostgreSQL while they are sent, and a part of them is never
# mistaken for all. They contain e-mail addresses.
since=0
[ ! -s since ] || since=$(cat since)
psql -XAtq -v ON_ERROR_STOP=1 -v since="$since" -f "$CHANGES_SQL"

# The token is not an argument, because every user of the machine can read arguments.
if [ -s changes.jsonl ]; then
  PROFILECTL_TOKEN=$(cat "$CREDENTIALS_DIRECTORY/token") \
    profilectl profiles import --merge --host "$PROFILECTL_HOST" changes.jsonl
fi

# Only now, and atomically: a run that fails before this is repeated by the next one.
sync next
mv next since
