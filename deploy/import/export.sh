#!/bin/sh
# Exports all profiles from the platform's PostgreSQL to a file for import.sh, and writes the time at which it began beside it:
#   export.sh /srv/platform/profiles.jsonl
# It reads the view of deploy/feed/setup.sql; PROFILES_QUERY can be another query that returns one line of JSON per profile. psql
# finds the database through PGDATABASE and similar variables.
set -eu
umask 027
file=$1

# Taken before the first line is read: a change made during the export must not count as older than it is.
began=$(date -u +%Y-%m-%dT%H:%M:%SZ)
psql -XAtq -v ON_ERROR_STOP=1 -c "${PROFILES_QUERY:-SELECT line FROM profile_lines ORDER BY id}" >"$file.new"
printf '%s\n' "$began" >"$file.as-of.new"

# Only complete files, and the time last: an earlier time beside a newer file is safe; a later time beside an older file is not.
mv "$file.new" "$file"
mv "$file.as-of.new" "$file.as-of"
