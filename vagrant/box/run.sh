#!/usr/bin/env bash
# Boots the machine in QEMU, under KVM if it is available, with its console in this terminal.
#
#   ./run.sh             log in as vagrant, password vagrant; Ctrl-a x ends the machine
#   ./run.sh VERB WORD…  runs `lcmp-lab VERB WORD…`, copies its results into ./results and powers off
#
# Several commands are separated by a plus: `./run.sh up smoke + up failover`. Everything that the machine writes to
# its disk is discarded when it ends, unless KEEP=1. CPUS and MEMORY (in MB) set the size of the machine (default: 2
# and 2048), and RESULTS the directory for results. ACCEL=tcg selects emulation if KVM exists but cannot start a
# machine, as in a virtual machine whose host does not support nesting.
set -euo pipefail

here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
words=(root=LABEL=lcmp-lab rw console=ttyS0)
for word in "$@"; do
    words+=("lcmp_lab.run=$word")
done
accel=tcg
[ ! -w /dev/kvm ] || accel=kvm
accelerator=(-accel "${ACCEL:-$accel}")
if [ "${ACCEL:-$accel}" = tcg ]; then
    # perftest computes rates from the time-stamp counter, which the kernel considers unstable here.
    words+=(tsc=reliable clocksource=tsc)
    # CPU instructions that the computation of SoftRoCE's checksums uses.
    accelerator+=(-cpu 'qemu64,+ssse3,+sse4.1,+pclmulqdq')
else
    accelerator+=(-cpu host)
fi
snapshot=(-snapshot)
[ -z "${KEEP:-}" ] || snapshot=()
share=()
if (($#)); then
    results=$(realpath -m "${RESULTS:-results}")
    mkdir -p "$results"
    share=(-virtfs "local,path=${results//,/,,},mount_tag=results,security_model=none")
fi

cd "$here"
exec qemu-system-x86_64 "${accelerator[@]}" -smp "${CPUS:-2}" -m "${MEMORY:-2048}" -nographic -no-reboot \
    -kernel vmlinuz -initrd initrd.img -append "${words[*]}" "${snapshot[@]}" "${share[@]}" \
    -drive file=lcmp-lab.qcow2,if=virtio,format=qcow2 \
    -nic user,model=virtio-net-pci,hostfwd=tcp:127.0.0.1:"${SSH_PORT:-2222}"-:22
