#!/usr/bin/env bash
# What a fresh machine needs before any Python of ours can run: a Python, a virtual environment, the packages.
# Looks first, does only what is missing. Java and the jars follow in cli/setup.py.
set -euo pipefail
cd "$(dirname "$0")"

stamp=.venv/installed-from # what the environment was made from: this folder and this pyproject.toml
log=.cache/pip.log

say() { printf '%s\n' "$*" >&2; }
fail() { printf 'error: %s\n' "$*" >&2; exit 1; }
wanted() { pwd; cat pyproject.toml; }

find_python() {
  local name
  for name in python3 python3.14 python3.13 python3.12 python3.11; do
    if "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      command -v "$name"
      return
    fi
  done
  fail "no python3 of version 3.11 or newer on PATH; expected one; install it (Debian: apt-get install python3 python3-venv)"
}

make_environment() {
  local python
  python=$(find_python)
  say "making the virtual environment .venv with $python"
  "$python" -m venv --clear .venv >"$log" 2>&1 ||
    fail "$python cannot make a virtual environment, see $log; expected its venv module; install it (Debian: apt-get install python3-venv)"
}

# pip's own lines are many; a count now and then shows that it goes on.
show_progress() {
  awk '/^Collecting / { if (++count % 25 == 0) print "  " count " packages found" }
       /^Installing collected packages/ { print "  installing them" }
       { fflush() }' >&2
}

install_packages() {
  say "installing the packages of pyproject.toml (a few minutes the first time)"
  .venv/bin/python -m pip install --disable-pip-version-check --no-input --progress-bar off -e '.[dev]' 2>&1 |
    tee "$log" | show_progress || {
    tail -n 15 "$log" >&2
    fail "pip could not install the packages, see $log; expected a package index that pip reaches; mend it and run make setup again"
  }
}

mkdir -p .cache
if ! wanted | cmp -s - "$stamp"; then
  [ "$(head -n 1 "$stamp" 2>/dev/null)" = "$(pwd)" ] || make_environment # missing, half made, or moved here
  install_packages
  wanted >"$stamp"
fi
exec .venv/bin/python -m cli.setup
