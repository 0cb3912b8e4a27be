#!/usr/bin/env bash
# Builds Tapedeck where needed, and starts it.
#
#   ./run.sh [NOTEBOOK | PROGRAM.py | TRACE]   open the window (on the start page without a notebook)
#   ./run.sh --attach [PID]                    list running programs (TAPEDECK_DEBUG=1), or look into one
#   ./run.sh --headless NOTEBOOK [--out DIR]   run all cells without a window and write the results
#   ./run.sh --python FILE.py [ARGUMENTS]      run a program with the module `tapedeck` on its path
#   ./run.sh --tensorflow FILE.py [ARGUMENTS]  run a program of TensorFlow: `import tensorflow` gives tapedeck
#   ./run.sh --trace TRACE FILE.py [ARGUMENTS] run a program, and write what it did to a trace file
#   ./run.sh --env FOLDER [FILE]               open it in a Python environment (venv, conda, pyenv), with torch for example
#   ./run.sh --install-into FOLDER             build Tapedeck's module for that environment, and install it there
#   ./run.sh --install-kernelspec              let Jupyter start Tapedeck sessions
#   ./run.sh --install-desktop                 open traces by double click
# --headless, --python, --tensorflow and --trace take --env FOLDER, too, before the program.
#   ./run.sh --help
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build="$root/build/default"
. "$root/resources/packages.sh"
. "$root/resources/build.sh"

[ "${1:-}" != --install-into ] || exec "$root/resources/environment/install_into" "${@:2}"
# A program in another environment runs the module that is installed there: nothing is built. Behind the program, --env is its own.
case "${1:-}" in
  --python | --tensorflow) before_program=("${@:2:1}") ;;
  --trace) before_program=("${@:2:2}") ;;
  *) before_program=() ;;
esac
for argument in "${before_program[@]}"; do
  [ "$argument" != --env ] || exec "$root/resources/environment/run_in" "$@"
done

quiet=false
case "${1:-}" in
  --help | -h) sed -n '4,15s/^# \{0,3\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
  --python | --tensorflow | --trace | --install-kernelspec) quiet=true ;;
  --headless) ;;
  --install-desktop) [ ! -x "$build/app/tapedeck" ] || exec "$root/resources/desktop/install.sh" "$build/app/tapedeck" ;;
  *)
    if [ "${1:-}" = --attach ] && [ $# -eq 1 ]; then
      quiet=true  # a table
    elif [ -z "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ]; then
      echo "There is no display here (neither DISPLAY nor WAYLAND_DISPLAY is set), so no window can open." >&2
      echo "Run a notebook without one: ./run.sh --headless NOTEBOOK [--out DIR]" >&2
      exit 1
    fi ;;
esac

mark start
all_installed "${run_packages[@]}" || install_missing "${run_packages[@]}"
mark packages

build_program() {
  if [ ! -f "$build/build.ninja" ]; then
    $quiet || echo "Configuring; then comes the first build, which takes some minutes." >&2
    (cd "$root" && cmake --preset default) >"$root/build/configure.log" 2>&1 || {
      cat "$root/build/configure.log" >&2
      echo "Configuring failed; the text above says why." >&2
      return 1
    }
  fi
  mark configure
  build_targets "$build" "$root/build/build.log" "$quiet" "$1"
  mark build
}
mkdir -p "$root/build"

if $quiet && [ "$1" != --attach ]; then
  build_program tapedeck_python
  interpreter=$(sed -n 's/^TAPEDECK_PYTHON:[A-Z]*=//p' "$build/CMakeCache.txt")
  export PYTHONPATH="$build/python${PYTHONPATH:+:$PYTHONPATH}"
  if [ "$1" = --install-kernelspec ]; then
    exec "$interpreter" "$build/python/tapedeck/session.py" --install-kernelspec
  fi
  mode=$1
  shift
  if [ $# -eq 0 ]; then
    [ "$mode" != --trace ] || mode="--trace TRACE"
    echo "Which program? ./run.sh $mode FILE.py [ARGUMENTS]" >&2
    exit 2
  fi
  case $mode in
    --tensorflow) set -- "$build/python/tapedeck/__main__.py" --as-tensorflow "$@" ;;
    --trace) set -- "$build/python/tapedeck/__main__.py" --trace "$@" ;;
  esac
  exec "$interpreter" "$@"
fi

build_program program
[ "${1:-}" != --install-desktop ] || exec "$root/resources/desktop/install.sh" "$build/app/tapedeck"
exec "$build/app/tapedeck" "$@"
