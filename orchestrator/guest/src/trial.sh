#!/bin/busybox sh
# All a trial boot has to show: the kernel got as far as running a program.
/bin/busybox mount -t devtmpfs devtmpfs /dev
echo kvm-works >/dev/ttyS1
/bin/busybox poweroff -f
