// The law of the artifact's variant of DCQCN: mirrors `reaction::artifact` in lab-dcqcn.
#ifndef LAB_REACTION_ARTIFACT_BPF_H
#define LAB_REACTION_ARTIFACT_BPF_H

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "abi.h"
#include "reaction.bpf.h"

static __always_inline __u64 artifact_cut_due(const struct reaction_point *point)
{
	return point->pending & REACTION_CUT ? point->decrease_due : NEVER;
}

// Performs the updates of alpha that are due; a pending CNP counts in the first update.
static __always_inline void artifact_update_alpha(struct reaction_point *point,
						  const struct dcqcn_params *params, __u64 now)
{
	__u64 updates, decays, alpha = point->alpha_q30;

	if (point->alpha_due > now)
		return;
	updates = (now - point->alpha_due) / params->alpha_interval + 1;
	decays = updates;
	if (point->pending & REACTION_ALPHA) {
		alpha = reaction_raised(alpha, params->gain_q30);
		point->pending &= ~REACTION_ALPHA;
		decays--;
	}
	point->alpha_q30 = reaction_decayed(alpha, decays, params->gain_q30);
	point->alpha_due += updates * params->alpha_interval;
}

static __always_inline void artifact_cut(struct reaction_point *point,
					 const struct dcqcn_params *params)
{
	__u64 now = point->decrease_due;

	artifact_update_alpha(point, params, now);
	if (point->timer_stage)
		point->target_bps = point->rate_bps;
	reaction_cut(point, params, point->alpha_q30);
	point->pending &= ~REACTION_CUT;
	point->increase_due = now + params->increase_interval;
	point->timer_stage = 0;
}

static __always_inline void artifact_raise(struct reaction_point *point,
					   const struct dcqcn_params *params)
{
	__u64 stage = point->timer_stage, fast = params->fast_recovery, raised;
	__u64 target = point->target_bps;

	if (stage == fast)
		target += params->additive_bps;
	else if (stage > fast)
		target += params->hyper_bps;
	if (target > point->line_bps)
		target = point->line_bps;
	raised = (point->rate_bps >> 1) + (target >> 1);
	if (!raised)
		raised = 1;
	if (target == point->line_bps && raised == point->rate_bps)
		point->increase_due = NEVER;
	else
		point->increase_due += params->increase_interval;
	point->target_bps = target;
	point->rate_bps = raised;
	if (point->timer_stage != ~0U)
		point->timer_stage++;
}

// State of a timer loop. The loop body is a separate function and works on this copy, for any number of rounds.
struct artifact_timers {
	struct reaction_point point;
	struct dcqcn_params params;
	__u64 now;
};

static long artifact_next(__u32 round __attribute__((unused)), struct artifact_timers *timers)
{
	struct reaction_point *point = &timers->point;
	__u64 cut = artifact_cut_due(point), raise = point->increase_due;

	if (cut > timers->now && raise > timers->now)
		return 1;
	if (raise <= cut)
		artifact_raise(point, &timers->params);
	else
		artifact_cut(point, &timers->params);
	return 0;
}

// Performs the cuts and raises that are due.
static __always_inline void artifact_on_timer(struct reaction_point *point,
					      const struct dcqcn_params *params, __u64 now)
{
	struct artifact_timers timers;

	if (artifact_cut_due(point) > now && point->increase_due > now)
		return;
	timers.point = *point;
	timers.params = *params;
	timers.now = now;
	bpf_loop(MAX_RAISES, artifact_next, &timers, 0);
	*point = timers.point;
}

// Processes a CNP.
static __always_inline void artifact_on_cnp(struct reaction_point *point,
					    const struct dcqcn_params *params, __u64 now)
{
	if (point->alpha_due == NEVER) {
		point->target_bps = point->rate_bps;
		point->alpha_due = now + params->alpha_interval;
		point->decrease_due = now + params->first_decrease;
		point->pending = REACTION_CUT;
		return;
	}
	artifact_update_alpha(point, params, now);
	// Earlier checks since the last cut found no CNP.
	if (point->decrease_due <= now) {
		__u64 checks = (now - point->decrease_due) / params->decrease_interval + 1;

		point->decrease_due += checks * params->decrease_interval;
	}
	point->pending = REACTION_ALPHA | REACTION_CUT;
}

#endif
