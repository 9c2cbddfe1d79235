#!/bin/sh
# Builds switch programs and host programs.
#
#   build.sh [DIRECTORY]         all in the tree, into DIRECTORY, by default beside their sources
#   build.sh SOURCE.c OBJECT.o   one of your own; it may `#include "switch.bpf.h"`
#
# The objects in the tree are what the program embeds and what the examples run, so that neither needs
# clang. Their bytes depend on the sources and the compiler alone: DWARF is stripped, BTF is kept (the
# loader reads the maps from it), and the path of this directory is not recorded.
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
