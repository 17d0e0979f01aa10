# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What the steps of scripts/test share. Read in with `.`; leaves the caller in the root of the repository.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.."
root=$PWD
export PYTHONDONTWRITEBYTECODE=1

die() { printf '%s\n' "$*" >&2; exit 1; }

# What the summary says about this step, in a few words.
note() {
  printf '%s\n' "$*"
  [ -z "${LL_NOTE:-}" ] || printf '%s' "$*" >"$LL_NOTE"
}

# Tracked files that still exist, matching the patterns. The clone may belong to another user.
tracked() { git -c safe.directory="$root" ls-files -- "$@" | while read -r file; do [ ! -f "$file" ] || printf '%s\n' "$file"; done; }

# Tracked scripts whose first line names one of the interpreters in the expression $1.
scripts_of() {
  tracked . | while read -r file; do
    read -r first <"$file" 2>/dev/null || true
    [[ ! "${first:-}" =~ ^#!.*$1 ]] || printf '%s\n' "$file"
  done
}

# Programs in folder $1 called $2; none is an error.
programs() {
  local found
  found=$(find "$1" -maxdepth 1 -type f -perm -u+x -name "$2" 2>/dev/null | sort)
  [ -n "$found" ] || die "no program $1/$2: there must be some"
  printf '%s\n' "$found"
}

# ctest in build folder $1; leaves the number of tests in ctest_count. No test at all is an error.
run_ctest() {
  local log
  log=$(mktemp)
  ctest --test-dir "$1" --output-on-failure --no-tests=error -j "$(nproc)" --timeout 300 | tee "$log"
  # shellcheck disable=SC2034 # the step reads it
  ctest_count=$(sed -n 's/.* out of \([0-9]*\)$/\1/p' "$log")
  rm -f "$log"
}

# GoogleTest program $1; adds to gtest_count. A skipped test counts as a failure: what can't run is not tested.
gtest_count=0
run_gtest() {
  local log skipped
  log=$(mktemp)
  "$@" --gtest_color=no | tee "$log"
  skipped=$(sed -n 's/^\[  SKIPPED \] \([0-9]*\) tests\{0,1\}.*/\1/p' "$log")
  gtest_count=$((gtest_count + $(sed -n 's/^\[  PASSED  \] \([0-9]*\) tests\{0,1\}\.$/\1/p' "$log")))
  rm -f "$log"
  [ -z "$skipped" ] || die "$1 skipped $skipped tests"
}

# pytest with the arguments given; leaves its closing line in pytest_summary. No test at all is an error.
run_pytest() {
  local log
  log=$(mktemp)
  /usr/bin/python3 -m pytest -p no:cacheprovider --color=no --durations=5 -v "$@" | tee "$log"
  # shellcheck disable=SC2034 # the step reads it
  pytest_summary=$(sed -n '$s/^=* \(.*\) in .*/\1/p' "$log")
  rm -f "$log"
}
