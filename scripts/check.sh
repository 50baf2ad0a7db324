# shellcheck shell=bash
# Everything that judges the sources without running them.

run_checks() {
  need "checking" "${packages_build[@]}" "${packages_check[@]}" python3
  echo "== format"
  cpp_files | xargs clang-format --dry-run -Werror
  echo "== house rules"
  /usr/bin/python3 tests/scripts/tidy_test.py --quiet
  /usr/bin/python3 scripts/tidy.py
  echo "== shell"
  shellcheck --external-sources --check-sourced dev .ci/run
  echo "== clang-tidy"
  run_clang_tidy
  echo "check: nothing to say"
}

format_sources() {
  need "formatting" clang-format
  cpp_files | xargs clang-format -i
}

cpp_files() {
  find protocol metrics proxy bench demo tests \
    \( -name node_modules -o -name build \) -prune -o \
    \( -name '*.h' -o -name '*.cc' -o -name '*.c' \) -print 2>/dev/null || true
}

# clang-tidy rides along with a build of its own, so that a second run looks only at what changed.
run_clang_tidy() {
  local folder=build/tidy
  if [[ -e $folder && ! $folder/build.ninja -nt .clang-tidy ]]; then
    rm -rf "$folder"
  fi
  if [[ ! -e $folder/build.ninja ]]; then
    cmake --preset release -B "$folder" -D CMAKE_BUILD_TYPE=Debug \
      -D CMAKE_CXX_CLANG_TIDY="clang-tidy;--quiet" >/dev/null
  fi
  cmake --build "$folder" --parallel "$(nproc)"
}
