#!/usr/bin/env bash
# Starts the optimized build as a user does; it must answer through the proxy and on the admin port,
# and stop with exit status 0.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.."

# ask HOST:PORT TEXT
ask() {
  exec 3<>"/dev/tcp/${1%:*}/${1##*:}"
  printf '%b' "$2" >&3
  cat <&3
  exec 3>&-
}

# expect TEXT PART
expect() {
  if [[ $1 != *"$2"* ]]; then
    printf 'smoke: expected %q in:\n%s\n' "$2" "$1" >&2
    return 1
  fi
}

log=$(mktemp)
./dev run --listen=127.0.0.1:0 --admin=127.0.0.1:0 --threads=2 >"$log" 2>&1 &
pid=$!
trap 'kill -TERM "$pid" 2>/dev/null || true; rm -f "$log"' EXIT
until grep -q '^Ctrl-C stops' "$log"; do
  kill -0 "$pid" || { cat "$log"; exit 1; }
  sleep 0.1
done
cat "$log"

proxy=$(awk '$1 == "proxy" {print $2}' "$log")
admin=$(awk '$1 == "admin" {print $2}' "$log")
reply=$(ask "$proxy" 'set smoke 0 0 2\r\nhi\r\nget smoke\r\nquit\r\n')
expect "$reply" $'STORED\r\nVALUE smoke 0 2\r\nhi\r\nEND'
metrics=$(ask "$admin" 'GET /metrics HTTP/1.0\r\n\r\n')
expect "$metrics" 'mcscope_requests_total{'
expect "$metrics" 'command="get"'

kill -TERM "$pid"
wait "$pid"
echo "smoke: the optimized build answers, measures and stops in good order"
