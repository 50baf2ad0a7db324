# shellcheck shell=bash
# ./dev demo: the stall and its cure on real clients.

run_demo() {
  need "the demo" "${packages_build[@]}" "${packages_run[@]}" "${packages_clients[@]}"
  install_npm_client
  build release mcscope libmemcached_client
  /usr/bin/python3 demo/demo.py build/release/bin/mcscope build/release/bin/libmemcached_client
}
