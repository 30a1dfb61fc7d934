#!/bin/sh
# Imports what the platform has exported to PROFILES_FILE. IMPORT_FLAGS, such as --merge, are passed to "profiles import".
# PROFILES_FILE.as-of has the time at which the export began (export.sh writes it); whatever was written here since then stays.
# Fails if either is older than 26 hours, because the exports have then stopped.
set -eu

refuse_old() {
  if [ -z "$(find "$1" -mmin -1560)" ]; then
    echo "$1 is more than 26 hours old." >&2
    exit 1
  fi
}

# Whether a backend has sent profiles with its token; false without a database.
is_fed() {
  status=0
  tokens=$(profilectl tokens list --json) || status=$?
  if [ "$status" -gt 1 ]; then exit "$status"; fi
  printf '%s' "$tokens" | tr '}' '\n' | grep '"rights":\[[^]]*"profiles"' | grep -q '"lastUsedAt":"' ||
    profilectl status --json 2>/dev/null | grep -q '"lastFeed":{'
}

refuse_old "$PROFILES_FILE"
# The time is read before the file: if the next export arrives in between, the time is too early, which is safe.
if [ -e "$PROFILES_FILE.as-of" ]; then
  refuse_old "$PROFILES_FILE.as-of"
  set -- --as-of "$(cat "$PROFILES_FILE.as-of")"
elif is_fed; then
  echo "There is no $PROFILES_FILE.as-of with the time at which the export began. A backend sends profiles, too: without that" \
    "time, the file would undo what it has sent since. docs/profiles.md says how to write it." >&2
  exit 1
fi
# Split into words: there may be several flags.
# shellcheck disable=SC2086
exec profilectl profiles import "$PROFILES_FILE" "$@" ${IMPORT_FLAGS:-}
