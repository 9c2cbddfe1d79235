#!/usr/bin/env bash
# Shows that the package is self-sufficient: installs it into a minimal Debian 12 and runs a lab there, from `up` to
# the report.
#
#   sudo vagrant/try-package.sh PACKAGE.deb [SCENARIO] [DIR]
#
# SCENARIO is a built-in scenario (default: smoke). The system is created in DIR, which is kept, or else in a folder
# that is removed at the end. Requires 2.5 GB and mmdebstrap. The exit code is that of `up`.
set -euo pipefail

if (($# == 0)) || [ ! -f "$1" ]; then
    echo "error: ${1:+$1: }package not found (hint: vagrant/package.sh builds it)" >&2
    exit 2
fi
command -v mmdebstrap >/dev/null || {
    echo 'error: mmdebstrap is not installed (hint: sudo apt-get install mmdebstrap)' >&2
    exit 3
}
if ((EUID != 0)); then
    echo "error: only root can unpack the Debian system in which the package is tried (hint: sudo $0 $*)" >&2
    exit 3
fi

package=$(realpath "$1")
scenario=${2:-smoke}
if (($# > 2)); then
    system=$(realpath -m "$3")
else
    system=$(mktemp -d)
    trap 'rm -rf --one-file-system "$system"' EXIT
fi
readonly package scenario system
readonly inside=(env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
    TERM="${TERM:-dumb}" DEBIAN_FRONTEND=noninteractive)

# Runs a command in the system; its mounts and processes end with it.
run() {
    # shellcheck disable=SC2016 # The inner shell expands it.
    unshare --mount --pid --fork --kill-child bash -ec '
        mount -t proc proc "$1/proc"
        mount -t sysfs -o ro sysfs "$1/sys"
        mount --rbind /dev "$1/dev"
        mount -t tmpfs -o mode=755 tmpfs "$1/run"
        system=$1
        shift
        exec chroot "$system" "$@"
    ' run "$system" "${inside[@]}" "$@"
}

say() {
    printf '== %s (%d s)\n' "$1" "$SECONDS"
}

if [ ! -e "$system/etc/debian_version" ]; then
    # apt would switch to its sandbox user, who may not be permitted to read the package's directory.
    mmdebstrap --quiet --variant=minbase bookworm "$system"
fi
say "Debian $(cat "$system/etc/debian_version") of $(du -smx "$system" | cut -f 1) MB"

cp "$package" "$system/root/lcmp-lab.deb"
run apt-get update -q
run apt-get install -y -q /root/lcmp-lab.deb
run apt-get clean
say "with the package and what it recommends, $(du -smx "$system" | cut -f 1) MB"
! run sh -c 'command -v cargo rustc cc gcc' || { echo 'error: the system contains a compiler' >&2; exit 1; }
run dpkg-query -W -f '${Package} ${Version}, ${Installed-Size} kB\n' lcmp-lab

status=0
run bash -c 'cd && exec lcmp-lab up "$1"' up "$scenario" || status=$?
say "\`lcmp-lab up $scenario\` ended with $status"
exit "$status"
