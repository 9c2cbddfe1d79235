#!/bin/busybox sh
# First program of a guest: the host's root over 9p below a throw-away overlay, then the lab's own
# init on it. Every path here is a constant; what varies comes as links and files in the archive.
set -e
mount() { /bin/busybox mount "$@"; }

mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev

# The first packet with a receive-steering hash makes the kernel draw the key its multipath routes
# hash flows with. On the virtual clock everything up to here is the same in every boot, so drawn now
# the key is too, and kernel routers send a flow the same way in every run.
/bin/busybox ifconfig lo 127.0.0.1 up
echo 1 >/sys/class/net/lo/queues/rx-0/rps_cpus
/bin/busybox ping -q -c 1 127.0.0.1 >/dev/null
echo 0 >/sys/class/net/lo/queues/rx-0/rps_cpus

for module in /modules/*.ko; do
    /bin/busybox insmod "$module"
done
mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000,ro,cache=loose root /host
mount -t tmpfs -o mode=0755 tmpfs /overlay
/bin/busybox mkdir /overlay/upper /overlay/work
mount -t overlay -o lowerdir=/host,upperdir=/overlay/upper,workdir=/overlay/work overlay /root
/bin/busybox mkdir -p /root/lib/modules
mount -o bind /host-modules /root/lib/modules
mount -t tmpfs -o mode=0755 tmpfs /root/run
/bin/busybox cp -a /guest /root/run/lcmp-lab-guest
for dir in proc sys dev; do
    mount -o move "/$dir" "/root/$dir"
done
exec /bin/busybox switch_root /root /run/lcmp-lab-guest/init guest-init
