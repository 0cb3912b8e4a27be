# Sourced by run.sh and install_into: finds an environment's interpreter, and asks it what it has.

# interpreter_of FOLDER: a venv, a conda environment, a version of pyenv, or an interpreter itself; as an absolute path, whose links stay:
# a venv's interpreter is one.
interpreter_of() {
  local given=$1 candidate
  if [ -f "$given" ] && [ -x "$given" ]; then
    printf '%s/%s\n' "$(cd "$(dirname "$given")" && pwd)" "$(basename "$given")"
    return
  fi
  for candidate in bin/python3 bin/python; do
    if [ -x "$given/$candidate" ]; then
      printf '%s/%s\n' "$(cd "$given" && pwd)" "$candidate"
      return
    fi
  done
  if [ ! -e "$given" ]; then
    echo "There is no environment $given." >&2
  else
    echo "$given is not a Python environment: it has neither bin/python3 nor bin/python, and is not an interpreter." >&2
  fi
  return 2
}

# ask_environment INTERPRETER ROOT: sets python_version, module (the installed package's folder), module_fingerprint, headers, has_headers and
# has_numpy.
ask_environment() {
  local answer
  answer=$("$1" -c '
import json, subprocess, sys
found = json.loads(subprocess.check_output([sys.executable, sys.argv[1]]).decode())
for value in (found["python"], found.get("module", ""), found.get("fingerprint", ""), found["headers"],
              "true" if found["has_headers"] else "false", "true" if found["packages"]["numpy"] is not None else "false"):
    print(value)' "$2/engine/python/tapedeck/_session/environment.py" </dev/null) || {
    echo "$1 does not run as Python." >&2
    return 2
  }
  { read -r python_version && read -r module && read -r module_fingerprint && read -r headers && read -r has_headers && read -r has_numpy; } <<<"$answer"
}

# new_enough VERSION: Python 3.10 or newer.
new_enough() {
  local major=${1%%.*} minor=${1#*.}
  minor=${minor%%.*}
  [ "$major" -gt 3 ] || { [ "$major" -eq 3 ] && [ "$minor" -ge 10 ]; }
}

# quoted PATH: as it is typed in a shell.
quoted() { printf '%q' "$1"; }
