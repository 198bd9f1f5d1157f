# What the scripts share; sourced, with the repository's root as the working directory.

# Runs a command with its output in a file, which is shown only when the command fails.
# quietly LOG COMMAND...
quietly() {
  local log=$1
  shift
  mkdir -p "$(dirname "$log")"
  if ! "$@" >"$log" 2>&1; then
    echo "failed: $*" >&2
    grep -nE 'error|Error|FAILED' "$log" | head -n 20 >&2 || true
    echo "--- end of $log:" >&2
    tail -n 30 "$log" >&2
    return 1
  fi
}

# Configures a preset. Further arguments go to CMake.
configure() {
  local preset=$1
  shift
  quietly "build/logs/configure-$preset.log" cmake --preset "$preset" "$@"
}

# Builds targets of a preset (all of them without names).
build() {
  local preset=$1
  shift
  local targets=()
  [ $# -gt 0 ] && targets=(--target "$@")
  quietly "build/logs/build-$preset.log" cmake --build "build/$preset" -j "$(nproc)" "${targets[@]}"
}
