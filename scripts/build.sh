# shellcheck shell=bash
# Configuring, building, testing.

# build PRESET TARGET...: incremental; configures only when the presets changed (ninja itself
# notices everything else).
build() {
  local preset=$1
  shift
  if [[ ! build/$preset/build.ninja -nt CMakePresets.json ]]; then
    cmake --preset "$preset"
  fi
  cmake --build "build/$preset" --parallel "$(nproc)" --target "$@"
}

build_release() {
  need "building" "${packages_build[@]}"
  build release all
  echo "Binaries in build/release/bin: $(ls build/release/bin)"
}

# The npm client of the tests and the demo, exactly as its lock file names it.
install_npm_client() {
  local folder=demo/clients/npm
  [[ ! $folder/node_modules/.package-lock.json -nt $folder/package-lock.json ]] || return 0
  (cd "$folder" && npm ci --no-audit --no-fund --ignore-scripts)
  touch "$folder/node_modules/.package-lock.json"
}

run_tests() {
  local preset=$1 launcher=()
  shift
  need "testing" "${packages_build[@]}" "${packages_run[@]}" "${packages_clients[@]}" \
    "${packages_test[@]}"
  install_npm_client
  build "$preset" all
  # Where the kernel spreads mappings widely, the thread sanitizer finds no room for its shadow.
  if [[ $preset == tsan ]] && setarch -R true 2>/dev/null; then
    launcher=(setarch -R)
  fi
  UBSAN_OPTIONS=print_stacktrace=1 \
    "${launcher[@]}" \
    ctest --test-dir "build/$preset" --output-on-failure --parallel "$(nproc)" "$@"
}
