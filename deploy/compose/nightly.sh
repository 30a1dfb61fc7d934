#!/bin/sh
# Runs a command every day at a time of day in UTC, for containers, which have no timers of systemd:
#   nightly.sh 03:10 backup.sh
# What fails is said, and tried again the next day.
set -eu
time=$1
shift
while :; do
  now=$(date -u +%s)
  at=$(date -u -d "$time" +%s)
  if [ "$at" -le "$now" ]; then at=$((at + 86400)); fi
  sleep $((at - now))
  "$@" || echo "$1 ended with $?; the next run is tomorrow at $time UTC." >&2
done
