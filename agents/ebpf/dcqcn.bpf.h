// DCQCN's law in integers: lab-dcqcn's congestion, notification and reaction point, for which the crate is
// the reference and has the equations. Times are nanoseconds here, but any unit would do.
#ifndef LAB_DCQCN_BPF_H
#define LAB_DCQCN_BPF_H

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "abi.h"

#define NEVER (~0ULL)
#define SPLIT 20      /* bits of a rate's lower part in a product with alpha */
#define DECAY_BITS 32 /* bits of the number of decays made up for at once */

// Product of two fractions in Q30, rounded down.
static __always_inline __u64 times_q30(__u64 a, __u64 b)
{
	return a * b >> 30;
}

// Starts a QP at the rate of its NIC, which is at most MAX_RATE_BPS.
static __always_inline void dcqcn_start(struct reaction_point *point,
					const struct dcqcn_params *params, __u64 line_bps)
{
	point->rate_bps = line_bps;
	point->target_bps = line_bps;
	point->line_bps = line_bps;
	point->alpha_due = NEVER;
	point->increase_due = NEVER;
	point->bytes_left = params->byte_counter;
	point->alpha_q30 = ONE_Q30;
	point->timer_stage = 0;
	point->byte_stage = 0;
	point->pad = 0;
}

// Returns 1 if raises change nothing until the next cut.
static __always_inline int dcqcn_is_settled(const struct reaction_point *point)
{
	return point->rate_bps == point->line_bps && point->target_bps == point->line_bps;
}

// A loop of raises works on a copy: its body is a function of its own, for any number of rounds.
struct dcqcn_raises {
	struct reaction_point point;
	__u64 additive_bps;
	__u64 hyper_bps;
	__u64 interval; /* timer: between two raises */
	__u64 now;
	__u64 byte_counter;
	__u64 sent; /* byte counter: bytes that do not count yet */
	__u64 fast_recovery;
};

static __always_inline void dcqcn_raise(struct dcqcn_raises *raises)
{
	struct reaction_point *point = &raises->point;
	__u64 timer = point->timer_stage, byte = point->byte_stage, fast = raises->fast_recovery;
	__u64 most = timer > byte ? timer : byte, least = timer > byte ? byte : timer;
	__u64 target = point->target_bps;

	if (least > fast) {
		__u64 stages = least - fast;

		target += (stages > MAX_HYPER_STAGES ? MAX_HYPER_STAGES : stages) * raises->hyper_bps;
	} else if (most > fast) {
		target += raises->additive_bps;
	}
	if (target > point->line_bps)
		target = point->line_bps;
	point->target_bps = target;
	// Half of less than 2 bit/s would be nothing.
	point->rate_bps = point->rate_bps + 2 > target ? target : (point->rate_bps + target) >> 1;
}

static long dcqcn_raise_by_timer(__u32 round __attribute__((unused)), struct dcqcn_raises *raises)
{
	if (raises->point.increase_due > raises->now || dcqcn_is_settled(&raises->point))
		return 1;
	raises->point.increase_due += raises->interval;
	raises->point.timer_stage++;
	dcqcn_raise(raises);
	return 0;
}

static long dcqcn_raise_by_bytes(__u32 round __attribute__((unused)), struct dcqcn_raises *raises)
{
	if (raises->sent < raises->point.bytes_left)
		return 1;
	raises->sent -= raises->point.bytes_left;
	raises->point.bytes_left = raises->byte_counter;
	raises->point.byte_stage++;
	dcqcn_raise(raises);
	return 0;
}

// Copies what a loop of raises needs.
static __always_inline void dcqcn_begin_raises(struct dcqcn_raises *raises,
					       const struct reaction_point *point,
					       const struct dcqcn_params *params)
{
	raises->point = *point;
	raises->additive_bps = params->additive_bps;
	raises->hyper_bps = params->hyper_bps;
	raises->interval = params->increase_interval;
	raises->byte_counter = params->byte_counter;
	raises->fast_recovery = params->fast_recovery;
	raises->now = 0;
	raises->sent = 0;
}

// Does the timer's raises that are due.
static __always_inline void dcqcn_on_timer(struct reaction_point *point,
					   const struct dcqcn_params *params, __u64 now)
{
	struct dcqcn_raises raises;

	if (point->increase_due > now || dcqcn_is_settled(point))
		return;
	dcqcn_begin_raises(&raises, point, params);
	raises.now = now;
	bpf_loop(MAX_RAISES, dcqcn_raise_by_timer, &raises, 0);
	*point = raises.point;
}

// Counts the bytes of a sent packet, and does the byte counter's raises.
static __always_inline void dcqcn_on_sent(struct reaction_point *point,
					  const struct dcqcn_params *params, __u64 now,
					  __u64 wire_bytes)
{
	struct dcqcn_raises raises;

	dcqcn_on_timer(point, params, now);
	if (dcqcn_is_settled(point))
		return;
	if (wire_bytes >= point->bytes_left) {
		dcqcn_begin_raises(&raises, point, params);
		raises.sent = wire_bytes;
		bpf_loop(MAX_RAISES, dcqcn_raise_by_bytes, &raises, 0);
		*point = raises.point;
		wire_bytes = raises.sent;
	}
	point->bytes_left -= wire_bytes;
}

// alpha * (1 - gain)^decays, by repeated squaring. The factor of a clear bit is one: a branch for each
// bit would be more than the verifier walks.
static __always_inline __u64 dcqcn_decayed(__u64 alpha, __u64 decays, __u64 gain)
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

// rate * alpha / 2, rounded up.
static __always_inline __u64 dcqcn_half_of(__u64 rate, __u64 alpha)
{
	__u64 high = rate >> SPLIT, low = rate & ((1 << SPLIT) - 1);
	__u64 carried = (low * alpha + (1 << SPLIT) - 1) >> SPLIT;

	return (high * alpha + carried + (1 << (31 - SPLIT)) - 1) >> (31 - SPLIT);
}

// Cuts the rate for a CNP.
static __always_inline void dcqcn_on_cnp(struct reaction_point *point,
					 const struct dcqcn_params *params, __u64 now)
{
	__u64 alpha, rate;

	dcqcn_on_timer(point, params, now);
	alpha = point->alpha_q30;
	if (point->alpha_due <= now) {
		__u64 decays = (now - point->alpha_due) / params->alpha_interval + 1;

		alpha = dcqcn_decayed(alpha, decays, params->gain_q30);
	}
	point->target_bps = point->rate_bps;
	rate = point->rate_bps - dcqcn_half_of(point->rate_bps, alpha);
	if (rate < params->min_bps)
		rate = params->min_bps;
	if (rate > point->line_bps)
		rate = point->line_bps;
	point->rate_bps = rate;
	point->alpha_q30 = times_q30(alpha, ONE_Q30 - params->gain_q30) + params->gain_q30;
	point->alpha_due = now + params->alpha_interval;
	point->increase_due = now + params->increase_interval;
	point->bytes_left = params->byte_counter;
	point->timer_stage = 0;
	point->byte_stage = 0;
}

// Returns 1 if a packet that meets a queue is marked.
static __always_inline int dcqcn_marks(const struct congestion_point *point, __u64 queue, __u32 dice)
{
	if (queue <= point->k_min)
		return 0;
	if (queue > point->k_max)
		return 1;
	return dice < point->p_max_q32 * (queue - point->k_min) / (point->k_max - point->k_min);
}

// Returns 1 if the receiver answers a marked packet with a CNP.
static __always_inline int dcqcn_on_marked(__u64 *next_cnp, const struct dcqcn_params *params,
					   __u64 now)
{
	if (now < *next_cnp)
		return 0;
	*next_cnp = now + params->cnp_interval;
	return 1;
}

#endif
