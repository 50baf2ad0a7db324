# shellcheck shell=bash
# ./dev smoke: one request through a started mcscope, and one look at its metrics.

# smoke COMMAND...: starts it with free ports as a person would; it must become ready, answer
# through the proxy and on the admin port, and end with exit status 0 on SIGTERM.
smoke() {
  local log pid proxy admin
  log=$(mktemp)
  "$@" --listen=127.0.0.1:0 --admin=127.0.0.1:0 --threads=2 >"$log" 2>&1 &
  pid=$!
  until grep -q '^Ctrl-C stops' "$log"; do
    if ! kill -0 "$pid" 2>/dev/null; then
      cat "$log" >&2
      return 1
    fi
    sleep 0.1
  done
  cat "$log"
  proxy=$(awk '$1 == "proxy" {print $2}' "$log")
  admin=$(awk '$1 == "admin" {print $2}' "$log")
  rm "$log"
  expect "$(ask "$proxy" 'set smoke 0 0 2\r\nhi\r\nget smoke\r\nquit\r\n')" \
    $'STORED\r\nVALUE smoke 0 2\r\nhi\r\nEND'
  expect "$(ask "$admin" 'GET /metrics HTTP/1.0\r\n\r\n')" 'mcscope_requests_total{'
  kill -TERM "$pid"
  wait "$pid"
  echo "smoke: it answers, measures and stops in good order"
}

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
