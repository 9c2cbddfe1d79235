// The law of DCQCN as published: mirrors `reaction::published` in lab-dcqcn.
#ifndef LAB_REACTION_PUBLISHED_BPF_H
#define LAB_REACTION_PUBLISHED_BPF_H

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "abi.h"
#include "reaction.bpf.h"

// Returns 1 if raises have no effect until the next cut.
static __always_inline int published_is_settled(const struct reaction_point *point)
{
	return point->rate_bps == point->line_bps && point->target_bps == point->line_bps;
}

// State of a loop of raises. The loop body is a separate function and works on this copy, for any number of rounds.
struct published_raises {
	struct reaction_point point;
	__u64 additive_bps;
	__u64 hyper_bps;
	__u64 interval; /* timer: time between two raises */
	__u64 now;
	__u64 byte_counter;
	__u64 sent; /* byte counter: bytes not counted yet */
	__u64 fast_recovery;
};

static __always_inline void published_raise(struct published_raises *raises)
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
	// The gap is below 2 bit/s; half of it would round to 0.
	point->rate_bps = point->rate_bps + 2 > target ? target : (point->rate_bps + target) >> 1;
}

static long published_raise_by_timer(__u32 round __attribute__((unused)), struct published_raises *raises)
{
	if (raises->point.increase_due > raises->now || published_is_settled(&raises->point))
		return 1;
	raises->point.increase_due += raises->interval;
	raises->point.timer_stage++;
	published_raise(raises);
	return 0;
}

static long published_raise_by_bytes(__u32 round __attribute__((unused)), struct published_raises *raises)
{
	if (raises->sent < raises->point.bytes_left)
		return 1;
	raises->sent -= raises->point.bytes_left;
	raises->point.bytes_left = raises->byte_counter;
	raises->point.byte_stage++;
	published_raise(raises);
	return 0;
}

// Copies the state that a loop of raises needs.
static __always_inline void published_begin_raises(struct published_raises *raises,
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

// Performs the timer's raises that are due.
static __always_inline void published_on_timer(struct reaction_point *point,
					   const struct dcqcn_params *params, __u64 now)
{
	struct published_raises raises;

	if (point->increase_due > now || published_is_settled(point))
		return;
	published_begin_raises(&raises, point, params);
	raises.now = now;
	bpf_loop(MAX_RAISES, published_raise_by_timer, &raises, 0);
	*point = raises.point;
}

// Counts the bytes of a sent packet, and performs the byte counter's raises.
static __always_inline void published_on_sent(struct reaction_point *point,
					      const struct dcqcn_params *params, __u64 wire_bytes)
{
	struct published_raises raises;

	if (published_is_settled(point))
		return;
	if (wire_bytes >= point->bytes_left) {
		published_begin_raises(&raises, point, params);
		raises.sent = wire_bytes;
		bpf_loop(MAX_RAISES, published_raise_by_bytes, &raises, 0);
		*point = raises.point;
		wire_bytes = raises.sent;
	}
	point->bytes_left -= wire_bytes;
}

// Cuts the rate in response to a CNP.
static __always_inline void published_on_cnp(struct reaction_point *point,
					     const struct dcqcn_params *params, __u64 now)
{
	__u64 alpha = point->alpha_q30;

	if (point->alpha_due <= now) {
		__u64 decays = (now - point->alpha_due) / params->alpha_interval + 1;

		alpha = reaction_decayed(alpha, decays, params->gain_q30);
	}
	point->target_bps = point->rate_bps;
	reaction_cut(point, params, alpha);
	point->alpha_q30 = reaction_raised(alpha, params->gain_q30);
	point->alpha_due = now + params->alpha_interval;
	point->increase_due = now + params->increase_interval;
	point->bytes_left = params->byte_counter;
	point->timer_stage = 0;
	point->byte_stage = 0;
}

#endif
