#!/bin/sh
# Runs a command every day at a given time (UTC), for containers, which have no systemd timers:
#   nightly.sh 03:10 backup.sh
# A failed run is reported; the next one is a day later.
set -eu
time=$1
shift
while :; do
  now=$(date -u +%s)
  at=$(date -u -d "$time" +%s)
  if [ "$at" -le "$now" ]; then at=$((at + 86400)); fi
  sleep $((at - now))
  "$@" || echo "$1 exited with $?; the next run is tomorrow at $time UTC." >&2
done
