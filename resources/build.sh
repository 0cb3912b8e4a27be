# Sourced by run.sh and test.sh: builds targets of a build folder and says how much is left.

# time_left SECONDS: in words.
time_left() {
  if [ "$1" -lt 50 ]; then echo "less than a minute left"; else echo "about $((($1 + 40) / 60)) min left"; fi
}

# show_progress LOG: reads ninja's output (NINJA_STATUS='@%f/%t ') into LOG. A terminal gets one line that changes, anything
# else a line each tenth; nothing is said where there is little to do.
show_progress() {
  local log=$1 started=$SECONDS line finished total percent text tenth=0 shown=false
  while IFS= read -r line; do
    printf '%s\n' "$line" >>"$log"
    [[ $line =~ ^@([0-9]+)/([0-9]+)\  ]] || continue
    finished=${BASH_REMATCH[1]} total=${BASH_REMATCH[2]}
    [ "$total" -gt 5 ] || continue
    percent=$((100 * finished / total))
    text="Building Tapedeck: $percent %"
    if [ $((SECONDS - started)) -ge 10 ] && [ "$finished" -lt "$total" ]; then
      text+=", $(time_left $(((SECONDS - started) * (total - finished) / finished)))"
    fi
    if [ -t 2 ]; then
      printf '\r\033[K%s' "$text" >&2
      shown=true
    elif [ $((percent / 10)) -gt "$tenth" ]; then
      tenth=$((percent / 10))
      echo "$text" >&2
    fi
  done
  if $shown; then printf '\r\033[K' >&2; fi
}

# build_targets FOLDER LOG QUIET TARGET…: the compiler's words come only where the build fails. QUIET: true says nothing else.
# The caller has set pipefail.
build_targets() {
  local folder=$1 log=$2 quiet=$3 result=0
  shift 3
  : >"$log"
  if $quiet; then
    NINJA_STATUS='@%f/%t ' ninja -C "$folder" "$@" >"$log" 2>&1 || result=$?
  else
    NINJA_STATUS='@%f/%t ' ninja -C "$folder" "$@" 2>&1 | show_progress "$log" || result=$?
  fi
  [ "$result" -eq 0 ] && return 0
  grep -v '^@' "$log" >&2
  echo "The build failed; the text above says why ($log has all of it)." >&2
  # Compilers and linkers die of it by a signal, and name it seldom.
  local free
  free=$(df -Pk "$(dirname "$log")" | awk 'NR == 2 { print int($4 / 1024) }')
  if [ "$free" -lt 500 ]; then
    echo "Its disk is nearly full: $free MB are free. The program takes 1.5 GB, with its tests 4 GB." >&2
  fi
  return 1
}

# mark PHASE: notes for resources/time_the_commands that the phase has just ended.
mark() {
  [ -z "${TAPEDECK_PHASES:-}" ] || printf '%s %s\n' "$1" "$(date +%s.%N)" >>"$TAPEDECK_PHASES"
}
