#!/usr/bin/env bash
# Installs what is missing, builds everything, and runs all tests under CTest. Arguments go to ctest: ./test.sh -R tape
# PRESET=asan (or tsan) tests a sanitizer build.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
preset=${PRESET:-default}
. "$root/resources/packages.sh"
. "$root/resources/build.sh"

all_installed "${run_packages[@]}" "${test_packages[@]}" || install_missing "${run_packages[@]}" "${test_packages[@]}"
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
build_targets "build/$preset" "build/build-$preset.log" false all
built=$SECONDS
echo "Built in $((built - started)) s."
result=0
failed="build/$preset/Testing/Temporary/LastTestsFailed.log"
rm -f "$failed"  # of an earlier run
# Windows and session processes wait about as long as they compute: three at a time keep two cores busy.
ctest --test-dir "build/$preset" -j 3 --output-on-failure "$@" || result=$?
# A window or a session process that a busy machine held up for too long gets one more chance, alone; what fails then has
# failed, and what passes is named.
if [ $result -ne 0 ] && [ -s "$failed" ] && [ "$(wc -l <"$failed")" -le 3 ]; then
  names=$(cut -d: -f2 "$failed" | paste -sd' ')
  echo "Once more, alone: $names"
  result=0
  ctest --test-dir "build/$preset" --rerun-failed --output-on-failure || result=$?
  [ $result -ne 0 ] || echo "Passed only when they ran alone: $names"
fi
echo "Tests ran for $((SECONDS - built)) s; the screenshots that they made are in build/$preset/screenshots."
exit $result
