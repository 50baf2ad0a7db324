# shellcheck shell=bash
# ./dev image: the container image, built and tried on a machine without a container engine.
# Everything stays under build/image.

packages_image=(buildah debootstrap)
image_folder=$root/build/image

build_image() {
  need "building the image" "${packages_image[@]}" "${packages_run[@]}"
  mkdir -p "$image_folder"
  local base=debian:bookworm-slim
  if ! image_is_here "$base" && ! pull_image "$base"; then
    base=localhost/mcscope-base
    image_is_here "$base" || make_base "$base"
  fi
  echo "dev: building the image on $base"
  image_tool bud --format docker --isolation chroot --network host --layers \
    --build-arg "BASE=$base" --tag localhost/mcscope .
  try_image localhost/mcscope
  save_image localhost/mcscope "$image_folder/mcscope.tar"
  echo "The image is in build/image/mcscope.tar; to use it: docker load -i build/image/mcscope.tar"
  echo "(build/image keeps layers for the next build; delete it whenever it grows too large.)"
}

image_tool() {
  as_root env STORAGE_DRIVER=vfs timeout "${tool_limit:-1800}" buildah \
    --root "$image_folder/storage" --runroot "$image_folder/run" "$@"
}

save_image() {
  as_root rm -f "$2"
  image_tool push --quiet "$1" "docker-archive:$2:mcscope:latest"
}

image_is_here() {
  image_tool images --quiet "$1" >/dev/null 2>&1
}

pull_image() {
  tool_limit=60 image_tool pull --quiet "$1" >/dev/null 2>&1
}

# make_base NAME: a minimal Debian from the archive that this machine's apt uses.
make_base() {
  local folder=$image_folder/base archive container
  # shellcheck disable=SC2016  # apt's own placeholder
  archive=$(apt-get indextargets --format '$(REPO_URI)' 'Identifier: Packages' \
    'Codename: bookworm' 'Component: main' | head -n 1)
  echo "dev: no registry answers; making the base image from the Debian archive"
  as_root rm -rf "$folder"
  as_root debootstrap --variant=minbase bookworm "$folder" "$archive"
  as_root find "$folder/var/cache/apt/archives" -name '*.deb' -delete
  container=$(image_tool from scratch)
  image_tool add --quiet "$container" "$folder" / >/dev/null
  image_tool commit --quiet --rm "$container" "$1" >/dev/null
  as_root rm -rf "$folder"
}

# try_image NAME: the image's own program, libraries and user, in front of a memcached.
try_image() {
  local container
  container=$(image_tool from --pull-never "$1")
  smoke run_in_image "$1" "$(image_tool mount "$container")"
  image_tool rm "$container" >/dev/null
}

# run_in_image NAME FOLDER FLAGS...: what `docker run` would start, in the image's mounted FOLDER.
run_in_image() {
  local name=$1 folder=$2 user entry sudo=()
  shift 2
  user=$(image_tool inspect --type image --format '{{.OCIv1.Config.User}}' "$name")
  entry=$(image_tool inspect --type image --format '{{index .OCIv1.Config.Entrypoint 0}}' "$name")
  [[ $EUID -eq 0 ]] || sudo=(sudo)
  run_behind_memcached "${sudo[@]}" chroot "--userspec=$user" "$folder" "$entry" "$@"
}
