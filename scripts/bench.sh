# shellcheck shell=bash
# ./dev bench: what mcscope costs, beside a bare relay and other proxies.

packages_bench=(python3 haproxy nutcracker libbenchmark-dev)

run_bench() {
  need "the benchmark" "${packages_build[@]}" "${packages_run[@]}" "${packages_bench[@]}"
  cmake --preset release >/dev/null  # a configuration older than the packages lacks metrics_bench
  build release cost_bench metrics_bench
  /usr/bin/python3 tests/bench/cost.py build/release/bin "$@"
}
