#!/usr/bin/env bash
# Builds the Debian package: the program, its man pages and completions, and the list of linked libraries.
#
#   vagrant/package.sh [DIR]    the package is written to DIR (default: target/package)
#
# Requires cargo-deb and cargo-cyclonedx (`cargo install --locked cargo-deb cargo-cyclonedx`). The same commit and
# toolchain yield the same package in every folder, which orchestrator/ci/nightly tests. The program is built
# separately from the one that `./lcmp-lab` runs, because it must contain neither symbols nor paths of the build
# machine.
set -euo pipefail

root=$(dirname "$(dirname "$(realpath "${BASH_SOURCE[0]}")")")
CARGO_TARGET_DIR=$(realpath -m "${CARGO_TARGET_DIR:-$root/target}")
out=$(realpath -m "${1:-$CARGO_TARGET_DIR/package}")
CARGO_TARGET_DIR+=/packaged
export CARGO_TARGET_DIR
readonly root out program=$CARGO_TARGET_DIR/release/lcmp-lab parts=$CARGO_TARGET_DIR/release/package

for tool in cargo-deb cargo-cyclonedx; do
    command -v "$tool" >/dev/null || {
        echo "error: $tool is not installed (hint: cargo install --locked $tool)" >&2
        exit 3
    }
done

cargo_home=${CARGO_HOME:-$HOME/.cargo}
readonly cargo_home
# Panic messages contain source paths, so these are remapped. The last matching prefix applies.
separator=$'\x1f'
CARGO_ENCODED_RUSTFLAGS=--remap-path-prefix=$cargo_home=/cargo
CARGO_ENCODED_RUSTFLAGS+=$separator--remap-path-prefix=$root=/lcmp-lab
CARGO_ENCODED_RUSTFLAGS+=$separator--remap-path-prefix=$CARGO_TARGET_DIR=/target
# CARGO_PROFILE_RELEASE_STRIP has no effect on a crate with a section `[profile.release.package.NAME]` in Cargo.toml.
export CARGO_ENCODED_RUSTFLAGS CARGO_PROFILE_RELEASE_STRIP=symbols
"$root/lcmp-lab" build
# Set only here: libraries in C, and polars after them, are rebuilt whenever this variable changes.
SOURCE_DATE_EPOCH=$(git -C "$root" log -1 --format=%ct)
export SOURCE_DATE_EPOCH
rm -rf "$parts"
mkdir -p "$parts/man" "$out"
"$program" man "$parts/man"
gzip -9n "$parts"/man/*.1
for shell in bash zsh fish; do
    "$program" completions "$shell" >"$parts/lcmp-lab.$shell"
done
gzip -9nc "$root/orchestrator/cli/CHANGELOG.md" >"$parts/changelog.gz"

# cargo-cyclonedx writes one list per crate of the workspace, next to its manifest; only the program's list is needed.
cd "$root"
cargo cyclonedx --format json --manifest-path orchestrator/cli/Cargo.toml --override-filename sbom
# The list identifies each crate of the workspace by its folder.
sed "s#file://$root/#file:///lcmp-lab/#g" orchestrator/cli/sbom.json >"$parts/lcmp-lab.cdx.json"
find orchestrator agents perftest-wrappers reports -name sbom.json -delete

for folder in "$root" "$cargo_home"; do
    if named=$(grep --recursive --text --fixed-strings --files-with-matches "$folder/" "$program" "$parts"); then
        echo "error: ${named//$'\n'/, } contains the path $folder (hint: \`strings\` shows where)" >&2
        exit 1
    fi
done
if [[ $(readelf --section-headers --wide "$program") == *' .symtab '* ]]; then
    echo "error: $program has a symbol table (hint: Cargo.toml must not have \`[profile.release.package.lcmp-lab]\`)" >&2
    exit 1
fi
package=$(cargo deb --no-build --locked --package lcmp-lab --output "$out/")
if command -v lintian >/dev/null; then
    lintian --fail-on error "$package"
fi
dpkg-deb --field "$package" Package Version Installed-Size Depends Recommends
du -h "$package"
