#!/bin/sh
# Imports what the platform has exported to PROFILES_FILE. IMPORT_FLAGS, such as --merge, go to "profiles import".
# PROFILES_FILE.as-of says when the export began (export.sh writes it); what was written here since then stays. It fails where
# one of the two is older than 26 hours: then the exports have stopped.
set -eu

refuse_old() {
  if [ -z "$(find "$1" -mmin -1560)" ]; then
    echo "$1 is more than 26 hours old." >&2
    exit 1
  fi
}

# Whether a backend has sent profiles with its token. Where there is no database yet, none has.
is_fed() {
  status=0
  tokens=$(profilectl tokens list --json) || status=$?
  if [ "$status" -gt 1 ]; then exit "$status"; fi
  printf '%s' "$tokens" | tr '}' '\n' | grep '"rights":\[[^]]*"profiles"' | grep -q '"lastUsedAt":"' ||
    profilectl status --json 2>/dev/null | grep -q '"lastFeed":{'
}

refuse_old "$PROFILES_FILE"
# The time is read before the file. Where the next export comes in between, it is the time of an earlier one, which is safe.
if [ -e "$PROFILES_FILE.as-of" ]; then
  refuse_old "$PROFILES_FILE.as-of"
  set -- --as-of "$(cat "$PROFILES_FILE.as-of")"
elif is_fed; then
  echo "There is no $PROFILES_FILE.as-of, which says when the export began. A backend sends profiles too: without that time" \
    "the file would undo what it has sent since. docs/profiles.md says how to write it." >&2
  exit 1
fi
# Several flags are several words.
# shellcheck disable=SC2086
exec profilectl profiles import "$PROFILES_FILE" "$@" ${IMPORT_FLAGS:-}
