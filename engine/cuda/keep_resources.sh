#!/bin/sh
# keep_resources.sh NVCC ARGUMENTS…: compiles, and keeps what nvcc's assembler tells of each kernel (--resource-usage) beside the
# object, in OBJECT.resources; all else that it tells is passed on. tests/cuda/compiled reads them.
previous=
for argument; do
  [ "$previous" = -o ] && object=$argument
  previous=$argument
done
"$@" 2>"$object.resources"
status=$?
grep -v -e '^ptxas info ' -e '^    [0-9]* bytes stack frame' "$object.resources" >&2
exit $status
