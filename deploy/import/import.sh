#!/bin/sh
# Brings in what the platform has exported to PROFILES_FILE. IMPORT_FLAGS, such as --merge, go to "profiles import". It
# fails where the file is older than 26 hours, too: then the exports have stopped.
set -eu
if [ -z "$(find "$PROFILES_FILE" -mmin -1560)" ]; then
  echo "$PROFILES_FILE is more than 26 hours old." >&2
  exit 1
fi
# Several flags are several words.
# shellcheck disable=SC2086
exec profilectl profiles import "$PROFILES_FILE" ${IMPORT_FLAGS:-}
