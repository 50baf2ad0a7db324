# shellcheck shell=bash
# ./dev run: the proxy, in front of a memcached of its own when no other is named.

run_proxy() {
  need "running" "${packages_build[@]}" "${packages_run[@]}"
  build release mcscope
  local binary=$root/build/release/bin/mcscope
  if asks_for_help "$@"; then
    exec "$binary" --help
  fi
  run_behind_memcached "$binary" "$@"
}

# run_behind_memcached COMMAND...: until it ends; returns its exit status.
run_behind_memcached() {
  scratch=$(mktemp -d)
  pids=()
  trap stop_everything EXIT
  if ! names_an_upstream "$@"; then
    start_memcached "$scratch"
    set -- "$@" --upstream="127.0.0.1:$memcached_port"
  fi
  cd "$caller"  # relative paths among the flags are the caller's
  run_to_the_end "$@"
}

asks_for_help() {
  local word
  for word in "$@"; do
    [[ ! $word =~ ^--?help(=|$) ]] || return 0
  done
  return 1
}

names_an_upstream() {
  local word
  for word in "$@"; do
    [[ ! $word =~ ^--?(upstream|routes?|flagfile)(=|$) ]] || return 0
  done
  return 1
}

# start COMMAND...: in the background, out of reach of the terminal's Ctrl-C (this script passes it
# on in order), and ended by the kernel should this script be killed outright.
start() {
  setsid setpriv --pdeathsig TERM "$@" &
  pids+=($!)
}

# start_memcached FOLDER: on a free port, which it leaves in $memcached_port.
start_memcached() {
  local file=$1/memcached.port identity=()
  if [[ $EUID -eq 0 ]]; then  # it refuses to run as root
    identity=(--reuid nobody --regid nogroup --clear-groups)
    chmod 1777 "$1"
  fi
  MEMCACHED_PORT_FILENAME=$file start "${identity[@]}" memcached -l 127.0.0.1 -p -1 -U 0
  until memcached_port=$(sed -n 's/^TCP INET: //p' "$file" 2>/dev/null) && [[ $memcached_port ]]; do
    if ! kill -0 "${pids[-1]}" 2>/dev/null; then
      echo "dev: memcached did not start" >&2
      return 1
    fi
    sleep 0.05
  done
}

# Runs mcscope, tells how to reach it once it listens, and returns its exit status.
run_to_the_end() {
  local proxy announcer code=0
  mkfifo "$scratch/output"
  (trap '' INT TERM HUP && announce <"$scratch/output") &
  announcer=$!
  start "$@" >"$scratch/output" 2>&1
  proxy=${pids[-1]}
  trap 'kill -TERM "$proxy" 2>/dev/null || true' INT TERM HUP
  while kill -0 "$proxy" 2>/dev/null; do
    wait "$proxy" || true
  done
  wait "$proxy" || code=$?
  wait "$announcer" || true
  return "$code"
}

# Passes mcscope's output on, and once it is ready says how to try what its start-up lines name.
announce() {
  local line proxy='' upstream='' admin=''
  local route='^mcscope: route .* listens on ([^ ,]+), upstream ([^ ]+)'
  while IFS= read -r line; do
    printf '%s\n' "$line"
    if [[ -z $proxy && $line =~ $route ]]; then
      proxy=${BASH_REMATCH[1]} upstream=${BASH_REMATCH[2]}
    elif [[ $line =~ ^mcscope:\ admin\ listens\ on\ http://([^ ]+) ]]; then
      admin=${BASH_REMATCH[1]}
    elif [[ $line == "mcscope: ready" ]]; then
      tell_addresses "$proxy" "$upstream" "$admin"
      break
    fi
  done
  cat
}

tell_addresses() {
  echo
  echo "proxy      $1"
  try_memcached "$1"
  echo "memcached  $2"
  try_memcached "$2"
  echo "admin      $3"
  if command -v curl >/dev/null; then
    echo "           try: curl http://$3/metrics"
  else
    try "$3" 'GET /metrics HTTP/1.0\r\n\r\n'
  fi
  echo "Ctrl-C stops everything."
  echo
}

try_memcached() {
  if [[ $1 == unix:* ]]; then
    return
  fi
  try "$1" 'stats\r\nquit\r\n'
}

# try HOST:PORT TEXT: the line that sends TEXT with nothing but bash.
try() {
  local host=${1%:*} port=${1##*:}
  host=${host#[} host=${host%]}
  echo "           try: bash -c \"exec 3<>/dev/tcp/$host/$port; printf '$2' >&3; cat <&3\""
}

stop_everything() {
  local pid
  for pid in "${pids[@]}"; do
    kill -TERM "$pid" 2>/dev/null || true
  done
  wait 2>/dev/null || true
  rm -rf "$scratch"
}
