// Arithmetic of DCQCN's reaction points, as in `reaction` of lab-dcqcn.
#ifndef LAB_REACTION_BPF_H
#define LAB_REACTION_BPF_H

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "abi.h"

#define NEVER (~0ULL)
#define SPLIT 20      /* bits of a rate's lower part in a product with alpha */
#define DECAY_BITS 32 /* bits of the number of decays made up for at once */

// Returns the product of two fractions in Q30, rounded down.
static __always_inline __u64 times_q30(__u64 a, __u64 b)
{
	return a * b >> 30;
}

// Returns alpha * (1 - gain)^decays by repeated squaring. A clear bit multiplies by one: a branch for each bit would
// exceed the verifier's limit.
static __always_inline __u64 reaction_decayed(__u64 alpha, __u64 decays, __u64 gain)
{
	__u64 factor = ONE_Q30 - gain;

	if (decays >> DECAY_BITS)
		return 0;
	for (int bit = 0; bit < DECAY_BITS; bit++) {
		__u64 is_set = decays >> bit & 1;

		alpha = times_q30(alpha, ONE_Q30 - ((ONE_Q30 - factor) & -is_set));
		factor = times_q30(factor, factor);
	}
	return alpha;
}

// Returns (1 - gain) * alpha + gain.
static __always_inline __u64 reaction_raised(__u64 alpha, __u64 gain)
{
	return times_q30(alpha, ONE_Q30 - gain) + gain;
}

// Cuts the rate by alpha / 2, with the cut rounded up, but not below the minimum rate.
static __always_inline void reaction_cut(struct reaction_point *point,
					 const struct dcqcn_params *params, __u64 alpha)
{
	__u64 rate = point->rate_bps, high = rate >> SPLIT, low = rate & ((1 << SPLIT) - 1);
	__u64 carried = (low * alpha + (1 << SPLIT) - 1) >> SPLIT;

	rate -= (high * alpha + carried + (1 << (31 - SPLIT)) - 1) >> (31 - SPLIT);
	if (rate < params->min_bps)
		rate = params->min_bps;
	if (rate > point->line_bps)
		rate = point->line_bps;
	point->rate_bps = rate;
}

#endif
