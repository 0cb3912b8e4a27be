#!/usr/bin/env bash
# install.sh PROGRAM: lets the user's desktop open traces and notebooks with the built PROGRAM (an absolute path). What the machine has not got
# (xdg-mime, the caches of desktop entries and file types) is done without.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
program=${1:?which program?}
# A double click opens files of others: it starts the program, never a script, which could install packages and build first.
magic=
case $program in /*) [ ! -f "$program" ] || [ ! -x "$program" ] || { LC_ALL=C read -r -N 4 magic <"$program" || true; } 2>/dev/null ;; esac
if [ "$magic" != $'\x7fELF' ]; then
  echo "$program is not the built program (an absolute path is expected); nothing was installed." >&2
  exit 1
fi
data=${XDG_DATA_HOME:-$HOME/.local/share}
type=application/x-tapedeck-trace

# A path in a desktop entry: in double quotes, with what means something there behind a backslash (itself doubled in the file).
quoted() {
  local text=$1
  text=${text//\\/\\\\\\\\}
  text=${text//\"/\\\\\"}
  text=${text//\`/\\\\\`}
  text=${text//\$/\\\\\$}
  printf '"%s"' "${text//%/%%}"
}

mkdir -p "$data/applications" "$data/mime/packages" "$data/icons/hicolor/scalable/apps"
while IFS= read -r line; do
  case $line in
    Exec=*) printf 'Exec=%s %%F\n' "$(quoted "$program")" ;;
    *) printf '%s\n' "$line" ;;
  esac
done <"$here/tapedeck.desktop" >"$data/applications/tapedeck.desktop"
cp "$here/tapedeck-mime.xml" "$data/mime/packages/tapedeck-mime.xml"
cp "$here/../icons/tapedeck.svg" "$data/icons/hicolor/scalable/apps/tapedeck.svg"

has() { command -v "$1" >/dev/null 2>&1; }
if has update-mime-database; then update-mime-database "$data/mime"; fi
if has update-desktop-database; then update-desktop-database -q "$data/applications"; fi
if has xdg-mime; then
  xdg-mime default tapedeck.desktop "$type"
else
  list=${XDG_CONFIG_HOME:-$HOME/.config}/mimeapps.list
  mkdir -p "$(dirname "$list")"
  touch "$list"
  if ! grep -q "^$type=" "$list"; then
    grep -q '^\[Default Applications\]' "$list" || printf '[Default Applications]\n' >>"$list"
    sed -i "/^\[Default Applications\]/a $type=tapedeck.desktop" "$list"
  fi
fi
echo "Tapedeck is in the desktop's menu, and opens traces (*.tapetrace) by double click: $data/applications/tapedeck.desktop"
