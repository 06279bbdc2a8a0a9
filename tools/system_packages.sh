#!/usr/bin/env bash
# Installs the Debian packages of programs that are missing: system_packages.sh PROGRAM=PACKAGE ...
set -euo pipefail
PATH=$PATH:/usr/sbin  # where Debian has programs that serve; others than root do not look there
missing=()
for pair in "$@"; do
    command -v "${pair%%=*}" > /dev/null || missing+=("${pair#*=}")
done
[ ${#missing[@]} -eq 0 ] && exit 0
if ! command -v apt-get > /dev/null; then
    echo "Install these first: ${missing[*]}" >&2
    exit 1
fi
become=()
[ "$(id -u)" -eq 0 ] || become=(sudo)
export DEBIAN_FRONTEND=noninteractive
install=("${become[@]}" apt-get install --yes --quiet --no-install-recommends "${missing[@]}")
# The lists of packages may be missing or old.
"${install[@]}" > /dev/null || { "${become[@]}" apt-get update --quiet > /dev/null && "${install[@]}" > /dev/null; }
