#!/bin/sh
# Runs workerd ($WORKERD) for the program that started this script. A program that is killed can clean up
# nothing: when it has ended, this kills its workerd and removes its scratch folder ($TMPDIR, which ends in
# the number of the program that made it).
program=$PPID
runtime=$$
(
  while kill -0 "$program" && kill -0 "$runtime"; do sleep 0.2; done
  kill -0 "$program" || kill -KILL "$runtime"
  case "$TMPDIR" in */local-database-*) kill -0 "${TMPDIR##*-}" || rm -rf "$TMPDIR" ;; esac
) </dev/null >/dev/null 2>&1 3>&- &
exec "$WORKERD" "$@"
