// Branch-free arithmetic.
//
// BPF has no conditional move, so every comparison would be a branch, and the branches of sixteen candidates
// multiply beyond the verifier's limit. OPAQUE keeps the compiler from turning the arithmetic back into
// branches.
#ifndef LAB_BRANCH_FREE_BPF_H
#define LAB_BRANCH_FREE_BPF_H

#include "abi.h"

#define OPAQUE(x) asm volatile("" : "+r"(x))
#ifndef READ_ONCE
#define READ_ONCE(x) (*(const volatile typeof(x) *)&(x))
#endif

// One pass over the rows of all candidates. The loop is not unrolled, because sixteen copies of a body would overflow
// the stack. Its counter must be opaque; otherwise the compiler compares pointers, which the verifier cannot
// follow.
#define EACH_CANDIDATE(i) \
	_Pragma("clang loop unroll(disable)") \
	for (__u64 i = 0; i < MAX_CANDIDATES; i++)

// One pass over the candidates in use of a destination or a decision's record. Each pass reads their number from memory
// again: in a register, the verifier would learn it in the first pass, and verify all later ones once for each number.
#define EACH_USED(i, rows) \
	_Pragma("clang loop unroll(disable)") \
	for (__u64 i = 0, used_##i = READ_ONCE((rows)->count); i < MAX_CANDIDATES && i < used_##i; i++)

// Returns 1 if a < b, otherwise 0, for a and b below 2^63.
static __always_inline __u64 less(__u64 a, __u64 b)
{
	__u64 borrow = (a - b) >> 63;

	OPAQUE(borrow);
	return borrow;
}

// Returns 1 if a == b, otherwise 0.
static __always_inline __u64 equal(__u64 a, __u64 b)
{
	return less(a ^ b, 1);
}

// Returns a if bit is 1, and b if bit is 0.
static __always_inline __u64 select(__u64 bit, __u64 a, __u64 b)
{
	return b ^ ((a ^ b) & -bit);
}

// Returns the lesser of a and b, both below 2^63.
static __always_inline __u64 lesser(__u64 a, __u64 b)
{
	return select(less(a, b), a, b);
}

#endif
