#!/usr/bin/env bash
# Installs what is missing, builds everything, and runs all tests under CTest.
#
#   ./test.sh [--long] [CTEST'S ARGUMENTS]     ./test.sh -R tape
#
#   --long            run the long campaigns in full, not samples of them (tests/README.md lists what samples leave out)
#   PRESET=asan       test a sanitizer build (or tsan, or incremental)
#   TAPEDECK_SEED=N   draw the samples with this seed (1 unless you say otherwise); random: with another in each run
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
preset=${PRESET:-default}
. "$root/resources/packages.sh"
. "$root/resources/build.sh"

arguments=()
for argument in "$@"; do
  case $argument in
    --help | -h) sed -n '2,8s/^# \{0,3\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    --long) export TAPEDECK_LONG=1 ;;
    *) arguments+=("$argument") ;;
  esac
done
# The same cases on every machine: a case that nobody has seen belongs into work on the code, not into a user's first run.
[ "${TAPEDECK_SEED:=1}" != random ] || TAPEDECK_SEED=$((RANDOM * 32768 + RANDOM))
export TAPEDECK_SEED

mark start
all_installed "${run_packages[@]}" "${test_packages[@]}" || install_missing "${run_packages[@]}" "${test_packages[@]}"
mark packages
cd "$root"
started=$SECONDS
mkdir -p build
if [ ! -f "build/$preset/build.ninja" ]; then
  cmake --preset "$preset" >"build/configure-$preset.log" 2>&1 || { cat "build/configure-$preset.log"; exit 1; }
fi
# Where nvcc is, it compiles the kernels of GPUs, too, though nothing here may run them.
if [ "$preset" = default ] && PATH="$PATH:/usr/local/cuda/bin" command -v nvcc >/dev/null &&
  ! grep -q '^TAPEDECK_CUDA_ANY_MACHINE:BOOL=ON' "build/$preset/CMakeCache.txt"; then
  cmake -DTAPEDECK_CUDA_ANY_MACHINE=ON "build/$preset" >>"build/configure-$preset.log" 2>&1 || { cat "build/configure-$preset.log"; exit 1; }
fi
mark configure
build_targets "build/$preset" "build/build-$preset.log" false all
mark build
built=$SECONDS
echo "Built in $((built - started)) s."
echo "Campaigns: ${TAPEDECK_LONG:+all of each, }seed $TAPEDECK_SEED (TAPEDECK_SEED sets it)."
result=0
failed="build/$preset/Testing/Temporary/LastTestsFailed.log"
rm -f "$failed"  # of an earlier run
# Windows and session processes wait about as long as they compute: three at a time keep two cores busy.
ctest --test-dir "build/$preset" -j 3 --output-on-failure "${arguments[@]}" || result=$?
mark tests
# A test that fails beside others and passes alone is a bug, in the test or in the product. One is named and let pass, so that a
# change that has nothing to do with it can land; two fail the run.
if [ $result -ne 0 ] && [ -s "$failed" ] && [ "$(wc -l <"$failed")" -le 3 ]; then
  names=$(cut -d: -f2 "$failed" | paste -sd' ')
  count=$(wc -l <"$failed")
  echo "Once more, alone: $names"
  result=0
  ctest --test-dir "build/$preset" --rerun-failed --output-on-failure || result=$?
  mark again
  if [ $result -eq 0 ]; then
    for name in $names; do echo "FLAKY: $name failed beside others, and passed alone."; done
    if [ "$count" -gt 1 ]; then
      echo "$count flaky tests fail the run."
      result=1
    fi
  fi
fi
echo "Tests ran for $((SECONDS - built)) s; the screenshots that they made are in build/$preset/screenshots."
exit $result
