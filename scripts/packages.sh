# shellcheck shell=bash
# The Debian packages that each kind of work needs, and how missing ones get installed.
# `name:program` counts as there when the program is, whoever installed it.

packages_build=(g++ cmake ninja-build pkg-config ccache libevent-dev libabsl-dev prometheus-cpp-dev
  nlohmann-json3-dev libspdlog-dev)
packages_run=(memcached)
packages_clients=(python3 python3-pymemcache libmemcached-dev nodejs:node npm:npm)
packages_test=(libgtest-dev libgmock-dev prometheus)
packages_check=(clang-format clang-tidy shellcheck)

# need WHY PACKAGE...: installs those that are missing, all at once; does nothing when none is.
need() {
  local why=$1 missing
  shift
  if ! command -v dpkg-query >/dev/null; then
    echo "dev: not a Debian machine; $why needs: ${*%%:*}" >&2
    return
  fi
  mapfile -t missing < <(missing_packages "$@")
  [[ ${#missing[@]} -gt 0 ]] || return 0
  echo "dev: $why needs packages that are missing here; installing ${missing[*]}"
  install_packages "${missing[@]}"
}

missing_packages() {
  local item installed
  installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "${@%%:*}" 2>/dev/null || true)
  for item in "$@"; do
    if [[ $item == *:* ]] && command -v "${item#*:}" >/dev/null; then
      continue
    fi
    grep -qxF "installed ${item%%:*}" <<<"$installed" || echo "${item%%:*}"
  done
}

# A subshell: whatever ends it, the hold on services ends with it.
install_packages() (
  services=()
  for name in memcached prometheus haproxy nutcracker; do
    [[ " $* " != *" $name "* ]] || services+=("$name")
  done
  as_root apt-get update -q
  trap 'release_services "${services[@]}"' EXIT
  hold_services "${services[@]}"
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "$@"
)

as_root() {
  if [[ $EUID -eq 0 ]]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    echo "dev: neither root nor sudo here; have root install the packages named above" >&2
    return 1
  fi
}

# Only the programs of these packages are wanted: a service that Debian starts on its own would sit
# on the default ports. Services that were there before stay as they are.
policy=/usr/sbin/policy-rc.d
hold_services() {
  [[ $# -gt 0 && ! -e $policy ]] || return 0
  as_root tee "$policy" >/dev/null <<'POLICY'
#!/bin/sh
# Written by mcscope's ./dev for the time of one installation.
for word in "$@"; do
  case $word in memcached | prometheus | haproxy | nutcracker) exit 101 ;; esac
done
exit 0
POLICY
  as_root chmod 755 "$policy"
}

release_services() {
  [[ $# -gt 0 ]] || return 0
  if grep -qs "Written by mcscope's ./dev" "$policy"; then
    as_root rm -f "$policy"
  fi
  if command -v systemctl >/dev/null; then
    as_root systemctl disable --quiet "$@" 2>/dev/null || true
  fi
}
