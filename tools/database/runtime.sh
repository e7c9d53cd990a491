#!/bin/sh
# Runs workerd ($WORKERD) for the program that started this script, and kills it when that program has
# ended: one that is killed cannot do so itself.
program=$PPID
runtime=$$
(
  while kill -0 "$program" && kill -0 "$runtime"; do sleep 0.2; done
  kill -KILL "$runtime"
) </dev/null >/dev/null 2>&1 3>&- &
exec "$WORKERD" "$@"
