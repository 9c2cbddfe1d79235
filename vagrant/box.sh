#!/usr/bin/env bash
# Builds a Debian 12 machine that runs labs on its own kernel: packages from Debian, the lcmp-lab package, no
# compiler.
#
#   sudo vagrant/box.sh PACKAGE.deb [DIR]
#
# DIR (default: ./box) receives lcmp-lab.qcow2 and its kernel; run.sh, which boots it in QEMU; and
# lcmp-lab-libvirt.box and lcmp-lab-virtualbox.box for Vagrant. Requires mmdebstrap, mtools, dosfstools, syslinux,
# syslinux-common, fdisk, e2fsprogs and qemu-utils, and 5 GB of temporary disk space, but no loop devices.
set -euo pipefail

self=$(realpath "${BASH_SOURCE[0]}")
here=$(dirname "$self")
readonly self here
# Disk layout in MiB: a boot partition for syslinux, which the BIOSes of all three hypervisors can start, and a system
# partition.
readonly boot_mb=128 system_mb=4096
# Vagrant's well-known key pair, both parts of which are public: Vagrant replaces the key at the first boot.
readonly vagrant_key='ssh-rsa AAAAB3NzaC1yc2EAAAABIwAAAQEA6NF8iallvQVp22WDkTkyrtvp9eWW6A8YVr+kz4TjGYe7gHzIw+niNltGEFHzD8+v1I2YJ6oXevct1YeS0o9HZyN1Q9qgCgzUFtdOKLv6IedplqoPkcmF0aYet2PkEDo3MlTBckFXPITAMzF8dJSIFo9D8HfdOV0IAdx4O7PtixWKn5y2hMNG0zQPyUecp4pzC6kivAIhyfHilFR61RGL+GPXQ2MWZWFYbAGjyiYJnAmCP3NOTd0jMZEnDkbUvxhMmBYSdETk1rRgm+R4LOzFUGaHqHDLKLX+FIPKcF96hrucXzcWyLbIbEgE98OHlnVYCzRdK8jlqm8tehUc9c9WhQ== vagrant insecure public key'
readonly packages=(
    linux-image-amd64 systemd-sysv udev dbus openssh-server sudo rsync less
)

main() {
    export package
    package=$(realpath "${1:?PACKAGE.deb is missing}")
    out=$(realpath -m "${2:-box}")
    work=$(mktemp -d)
    trap 'rm -rf --one-file-system "$work"' EXIT
    mkdir -p "$out"
    make_system
    make_disk
    cp "$work"/system/boot/vmlinuz-* "$out/vmlinuz"
    cp "$work"/system/boot/initrd.img-* "$out/initrd.img"
    install -m 755 "$here/box/run.sh" "$out/run.sh"
    make_libvirt_box
    make_virtualbox_box
    du -h "$out"/*
}

make_system() {
    local system=$work/system list
    list=$(IFS=, && echo "${packages[*]}")
    mmdebstrap --quiet --variant=minbase --include="$list" --customize-hook="'$self' customize \"\$1\"" \
        bookworm "$system"
    install -d -m 700 -o 1000 -g 1000 "$system/home/vagrant/.ssh"
    echo "$vagrant_key" >"$system/home/vagrant/.ssh/authorized_keys"
    chown 1000:1000 "$system/home/vagrant/.ssh/authorized_keys"
    # Each machine generates its own.
    rm -f "$system"/etc/ssh/ssh_host_*
    : >"$system/etc/machine-id"
    if chroot "$system" sh -c 'command -v gcc cc rustc cargo'; then
        echo 'error: the system contains a compiler' >&2
        exit 1
    fi
}

# Finishes the system in $1; runs inside mmdebstrap, which has mounted the file systems that an installation needs.
customize() {
    local system=$1
    cp "$package" "$system/root/lcmp-lab.deb"
    chroot "$system" apt-get install -y -q --no-install-recommends /root/lcmp-lab.deb
    rm "$system/root/lcmp-lab.deb"
    # systemd-resolved takes over name resolution and only works once it runs, so it is installed last.
    chroot "$system" apt-get install -y -q --no-install-recommends systemd-resolved
    cp -r --no-preserve=ownership "$here/box/files/." "$system"
    chmod 440 "$system/etc/sudoers.d/vagrant"
    echo lcmp-lab >"$system/etc/hostname"
    chroot "$system" useradd --create-home --shell /bin/bash --groups sudo vagrant
    echo vagrant:vagrant | chroot "$system" chpasswd
    chroot "$system" systemctl -q enable systemd-networkd ssh lcmp-lab-once
}

# Writes the partitions as files and copies them into the disk image, so that nothing has to be mounted.
make_disk() {
    local system=$work/system disk=$work/disk.img
    truncate -s "$((1 + boot_mb + system_mb))M" "$disk"
    sfdisk -q "$disk" <<TABLE
label: dos
start=1MiB, size=${boot_mb}MiB, type=c, bootable
start=$((1 + boot_mb))MiB, type=83
TABLE
    dd if=/usr/lib/syslinux/mbr/mbr.bin of="$disk" bs=440 count=1 conv=notrunc status=none

    mkfs.vfat -C "$work/boot.img" "$((boot_mb * 1024))" >/dev/null
    mcopy -i "$work/boot.img" "$system"/boot/vmlinuz-* ::vmlinuz
    mcopy -i "$work/boot.img" "$system"/boot/initrd.img-* ::initrd.img
    mcopy -i "$work/boot.img" "$here/box/syslinux.cfg" ::syslinux.cfg
    syslinux --install "$work/boot.img"
    dd if="$work/boot.img" of="$disk" bs=1M seek=1 conv=notrunc,sparse status=none

    mke2fs -q -t ext4 -L lcmp-lab -d "$system" "$work/system.img" "${system_mb}M"
    dd if="$work/system.img" of="$disk" bs=1M seek="$((1 + boot_mb))" conv=notrunc,sparse status=none
    qemu-img convert -c -O qcow2 "$disk" "$out/lcmp-lab.qcow2"
}

# A box is the disk with two more files: https://github.com/vagrant-libvirt/vagrant-libvirt
make_libvirt_box() {
    local box=$work/libvirt size=$(((1 + boot_mb + system_mb + 1023) / 1024))
    mkdir "$box"
    ln -s "$out/lcmp-lab.qcow2" "$box/box.img"
    printf '{"provider": "libvirt", "format": "qcow2", "virtual_size": %d}\n' "$size" >"$box/metadata.json"
    cp "$here/box/Vagrantfile" "$box"
    pack "$box" "$out/lcmp-lab-libvirt.box"
}

# A box is an exported machine: https://developer.hashicorp.com/vagrant/docs/providers/virtualbox/boxes
make_virtualbox_box() {
    local box=$work/virtualbox
    mkdir "$box"
    qemu-img convert -O vmdk -o subformat=streamOptimized "$work/disk.img" "$box/disk.vmdk"
    sed -e "s/@FILE_BYTES@/$(stat -c %s "$box/disk.vmdk")/" -e "s/@DISK_BYTES@/$(stat -c %s "$work/disk.img")/" \
        "$here/box/box.ovf" >"$box/box.ovf"
    echo '{"provider": "virtualbox"}' >"$box/metadata.json"
    cp "$here/box/Vagrantfile" "$box"
    pack "$box" "$out/lcmp-lab-virtualbox.box"
}

# Packs folder $1 as box $2; the disks in it are already compressed.
pack() {
    tar -C "$1" --dereference --owner=0 --group=0 -c . | gzip -1 >"$2"
}

case ${1:-} in
    customize) customize "$2" ;;
    *) main "$@" ;;
esac
