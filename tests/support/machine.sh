#!/bin/sh
# What `make` needs of the machine, and the environment it works in.
#
#   machine.sh tools TOOL ...         Python and these programs are there
#   machine.sh packages STAMP WHAT    so is `pip install --editable WHAT`, in the environment the stamp lies in
#   machine.sh node_packages FOLDER NAME ...   so are these packages of npm, in that folder
#   machine.sh pinned_packages FOLDER          so are those of node_packages.txt, and they are what is pinned there
#
# Rules
# 1. All that is missing is said in one message before anything is done.  Root then installs it by apt-get; anybody
#    else is shown the line that does, and it ends with 1.
# 2. While an environment is being changed, a file `half-made` lies in it.  One that was left like that, or in which
#    pip does not work, is made anew.
# 3. Node is 20 or newer.  Where the machine has an older one (Debian 12: 18, whose `fetch` can leave a connection open
#    after it was aborted), packages of npm bring one with them: FOLDER/node_modules/.bin/node.
# 4. Pinned packages of npm are compared with their list before a script of theirs runs; others than these are removed.
# 5. The stamp is a copy of the pyproject.toml that was installed from.  If they differ, it is installed again.
set -eu
python=${PYTHON:-python3}

has() {
  command -v "$1" >/dev/null && return
  case $1 in
    pg_ctl) ls /usr/lib/postgresql/*/bin/pg_ctl >/dev/null 2>&1 ;; # where Debian puts it, not on the PATH
    libatomic) "$python" -c 'import ctypes; ctypes.CDLL("libatomic.so.1")' 2>/dev/null ;;
    *) return 1 ;;
  esac
}

package_of() {
  case $1 in
    java) echo default-jre-headless ;;
    libatomic) echo libatomic1 ;;
    node) echo nodejs ;;
    pg_ctl) echo postgresql ;;
    Rscript) echo r-cran-survey ;;
    WebKitWebDriver) echo webkit2gtk-driver ;;
    Xvfb) echo xvfb ;;
    setpriv) echo util-linux ;;
    *) echo "$1" ;;
  esac
}

look() { # sets `lacks` to the Debian packages that are missing, and `wrong` to what no package mends
  lacks='' wrong=''
  if ! has "$python"; then
    lacks=' python3 python3-venv'
    [ "$python" = python3 ] || lacks='' wrong="$python is not there"
  elif ! "$python" -c 'import sys; sys.exit(sys.implementation.name != "cpython" or sys.version_info < (3, 11))'; then
    wrong="$python is $("$python" -c 'import platform as p; print(p.python_implementation(), p.python_version())')"
  elif ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    lacks=" ${python##*/}-venv"
  fi
  for tool; do
    has "$tool" || lacks="$lacks $(package_of "$tool")"
  done
}

tools() {
  look "$@"
  install="apt-get install --yes --no-install-recommends$lacks"
  if [ -n "$lacks" ] && [ -z "$wrong" ] && [ "$(id -u)" = 0 ] && has apt-get; then
    printf 'This machine lacks:%s. Installing:\n  apt-get update\n  %s\n' "$lacks" "$install"
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive $install -qq -o Dpkg::Use-Pty=0
    look "$@"
  fi
  [ -n "$lacks$wrong" ] || return 0
  {
    echo 'This machine is not ready.'
    [ -z "$wrong" ] || echo "CPython 3.11 or newer is needed, and $wrong. Another one is named by: make PYTHON=python3.11"
    [ -z "$lacks" ] || printf 'It lacks:%s. On Debian, root installs it by:\n  apt-get update\n  %s\n' "$lacks" "$install"
  } >&2
  exit 1
}

packages() {
  tools
  environment=$(dirname "$1")
  if [ -e "$environment/half-made" ] || ! "$environment/bin/python" -m pip --version >/dev/null 2>&1; then
    echo "making $environment"
    rm -rf "$environment"
    mkdir -p "$environment"
    : >"$environment/half-made"
    "$python" -m venv "$environment"
    "$environment/bin/python" -m pip install --quiet --upgrade pip
    rm "$environment/half-made"
  fi
  cmp -s pyproject.toml "$1" && return
  echo "installing $2 into $environment"
  : >"$environment/half-made"
  "$environment/bin/python" -m pip install --quiet --editable "$2"
  cp pyproject.toml "$1"
  rm "$environment/half-made"
}

new_node() {
  node -e 'const [a, b] = process.versions.node.split(`.`).map(Number); process.exit(a < 20 || (a === 20 && b < 16) ? 1 : 0)' 2>/dev/null
}

node_packages() {
  folder=$1
  shift
  new_node || set -- "$@" node@22.23.3
  [ "$(cat "$folder/installed" 2>/dev/null)" = "$*" ] && return
  echo "installing $* into $folder"
  rm -rf "$folder"
  mkdir -p "$folder"
  npm install --prefix "$folder" --no-save --no-package-lock --no-audit --no-fund --loglevel=error "$@"
  echo "$*" >"$folder/installed"
}

pinned_packages() {
  pins="$(dirname "$0")/node_pins.py" old=''
  new_node || old=old-node
  names=$("$python" "$pins" names $old)
  [ "$(cat "$1/installed" 2>/dev/null)" = "$names" ] && return
  echo "installing the packages of tests/support/node_packages.txt into $1"
  rm -rf "$1"
  mkdir -p "$1"
  npm install --prefix "$1" --ignore-scripts --no-save --no-package-lock --no-audit --no-fund --loglevel=error $names
  "$python" "$pins" check "$1" $old || { rm -rf "$1"; exit 1; }
  echo "$names" >"$1/installed"
}

"$@"
