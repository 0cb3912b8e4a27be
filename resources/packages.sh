# Sourced by run.sh and test.sh: which Debian packages are needed, and how the missing ones get installed.
# `bash resources/packages.sh --engine` names those that the engine alone needs.

# With these alone the engine and its tests build (TAPEDECK_WINDOW=OFF).
engine_packages=(
  cmake ninja-build g++ pkg-config
  libeigen3-dev libre2-dev libdnnl-dev libboost-dev libboost-context-dev nlohmann-json3-dev cppzmq-dev libssl-dev
  libpng-dev libjpeg-dev zlib1g-dev libsqlite3-dev
)
# For the module in an environment of its own (run.sh --install-into): its Python has its own headers.
module_packages=("${engine_packages[@]}" ccache lld pybind11-dev)
run_packages=(
  "${engine_packages[@]}" ccache lld
  qt6-base-dev libqt6opengl6-dev qt6-svg-dev qt6-charts-dev libqscintilla2-qt6-dev libmd4c-dev
  qt6-declarative-dev libjs-katex fonts-katex
  libimgui-dev libstb-dev libgl1-mesa-dri fonts-dejavu-core fonts-noto-color-emoji
  python3-dev pybind11-dev python3-ipykernel python3-numpy python3-matplotlib python3-absl dataset-fashion-mnist
)
test_packages=(xvfb python3-nbformat python3-jupyter-client python3-scipy)

# install_missing PACKAGE…: asks apt for those that dpkg does not know as installed, and only for those.
install_missing() {
  local missing=() package
  for package in "$@"; do
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
      echo "These Debian packages are missing: ${missing[*]}" >&2
      echo "Install them as root: apt-get install ${missing[*]}" >&2
      return 1
    fi
    as_root=(sudo)
  fi
  echo "Installing ${#missing[@]} Debian packages: ${missing[*]}" >&2
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -qq >&2 || return 1
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2
}

# One call of dpkg for all; the slow path only where something is missing.
all_installed() {
  local count
  count=$(dpkg-query -W -f='${db:Status-Status}\n' "$@" 2>/dev/null | grep -cx installed)
  [ "$count" -eq $# ]
}

if [ "${BASH_SOURCE[0]}" = "$0" ] && [ "${1:-}" = --engine ]; then
  echo "${engine_packages[@]}"
fi
