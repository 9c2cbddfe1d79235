// DCQCN's law in integers: a copy of the congestion, notification and reaction points in lab-dcqcn, which is the
// reference and states the equations. Times are nanoseconds here, but any unit would work.
#ifndef LAB_DCQCN_BPF_H
#define LAB_DCQCN_BPF_H

#include <linux/bpf.h>

#include "abi.h"
#include "reaction_artifact.bpf.h"
#include "reaction_published.bpf.h"

#define ECN_CE 3 /* congestion experienced, of the two ECN bits (RFC 3168) */

// Starts a QP at the line rate of its NIC, which is at most MAX_RATE_BPS.
static __always_inline void dcqcn_start(struct reaction_point *point,
					const struct dcqcn_params *params, __u64 line_bps)
{
	point->rate_bps = line_bps;
	point->target_bps = line_bps;
	point->line_bps = line_bps;
	point->alpha_due = NEVER;
	point->increase_due = NEVER;
	point->decrease_due = NEVER;
	point->bytes_left = params->byte_counter;
	point->alpha_q30 = ONE_Q30;
	point->timer_stage = 0;
	point->byte_stage = 0;
	point->pending = 0;
}

static __always_inline int dcqcn_is_artifact(const struct dcqcn_params *params)
{
	return params->decrease_interval != 0;
}

// Performs all timer events that are due at `now`.
static __always_inline void dcqcn_on_timer(struct reaction_point *point,
					   const struct dcqcn_params *params, __u64 now)
{
	if (dcqcn_is_artifact(params))
		artifact_on_timer(point, params, now);
	else
		published_on_timer(point, params, now);
}

// Counts the bytes of a sent packet, and performs the byte counter's raises if the law has one.
static __always_inline void dcqcn_on_sent(struct reaction_point *point,
					  const struct dcqcn_params *params, __u64 now,
					  __u64 wire_bytes)
{
	dcqcn_on_timer(point, params, now);
	if (!dcqcn_is_artifact(params))
		published_on_sent(point, params, wire_bytes);
}

// Processes a CNP.
static __always_inline void dcqcn_on_cnp(struct reaction_point *point,
					 const struct dcqcn_params *params, __u64 now)
{
	dcqcn_on_timer(point, params, now);
	if (dcqcn_is_artifact(params))
		artifact_on_cnp(point, params, now);
	else
		published_on_cnp(point, params, now);
}

// Returns 1 if a packet that arrives at a queue is marked.
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
