#!/bin/sh
# Builds switch programs and host programs.
#
#   build.sh [DIRECTORY]         builds all programs in the tree into DIRECTORY (default: next to their sources)
#   build.sh SOURCE.c OBJECT.o   builds a switch program of your own, which may `#include "switch.bpf.h"`
#
# lcmp-lab embeds the objects in the tree, and the examples run them, so that neither needs clang. The objects
# depend only on the sources and the compiler: DWARF is stripped, BTF is kept (the loader reads the maps from
# it), and the path of this directory is not recorded.
set -eu
here=$(cd "$(dirname "$0")" && pwd)

compile() {
    "${CLANG:-clang-14}" -O2 -g -target bpf -mcpu=v3 \
        -Wall -Wextra -Werror -Wno-sign-compare \
        -ffile-prefix-map="$here"=. -fdebug-compilation-dir=. \
        -I"$here" -I"/usr/include/$(uname -m)-linux-gnu" \
        -c "$1" -o "$2"
    "${LLVM_STRIP:-llvm-strip-14}" --strip-debug "$2"
}

if [ $# -eq 2 ]; then
    compile "$1" "$2"
    exit
fi
output=$(realpath -m "${1:-$here}")
cd "$here"
for source in *.bpf.c examples/*.bpf.c; do
    mkdir -p "$output/$(dirname "$source")"
    compile "$source" "$output/${source%.c}.o"
done
