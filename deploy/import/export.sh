#!/bin/sh
# Writes all profiles of the platform's PostgreSQL into a file for import.sh, and beside it the time at which it began:
#   export.sh /srv/platform/profiles.jsonl
# It reads the view of deploy/feed/setup.sql; PROFILES_QUERY may have another query that gives one line of JSON a profile.
# psql finds the database by PGDATABASE and the like.
set -eu
umask 027
file=$1

# Before the first line is read, so that nothing which changes meanwhile is taken for older than it is.
began=$(date -u +%Y-%m-%dT%H:%M:%SZ)
psql -XAtq -v ON_ERROR_STOP=1 -c "${PROFILES_QUERY:-SELECT line FROM profile_lines ORDER BY id}" >"$file.new"
printf '%s\n' "$began" >"$file.as-of.new"

# Whole files only, and the time last: beside a newer file an earlier time is safe, and a later one beside an older file is not.
mv "$file.new" "$file"
mv "$file.as-of.new" "$file.as-of"
