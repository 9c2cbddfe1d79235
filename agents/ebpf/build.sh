#!/bin/sh
# Builds the switch program: build.sh [OUTPUT], by default switch.bpf.o beside this script.
#
# The object in the tree is what the agent embeds, so that building the agent needs no clang. Its
# bytes depend on the sources and the compiler alone: DWARF is stripped, BTF is kept (the loader
# reads the maps from it), and the path of this directory is not recorded.
set -eu
output=$(realpath -m "${1:-$(dirname "$0")/switch.bpf.o}")
cd "$(dirname "$0")"
"${CLANG:-clang-14}" -O2 -g -target bpf -mcpu=v3 \
    -Wall -Wextra -Werror -Wno-sign-compare \
    -ffile-prefix-map="$PWD"=. -fdebug-compilation-dir=. \
    -I"/usr/include/$(uname -m)-linux-gnu" \
    -c switch.bpf.c -o "$output"
"${LLVM_STRIP:-llvm-strip-14}" --strip-debug "$output"
