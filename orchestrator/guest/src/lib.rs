//! Runs the same binary inside a QEMU guest when this kernel lacks modules.
