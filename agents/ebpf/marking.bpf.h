// ECN marking at the congestion point, by the queue of a port.
//
// The queue is what a link of the port's rate would hold. The kernel's own backlog is too short, because the shaper
// lets bursts through. A packet's dice is a hash of its flow and sequence number, so that equal runs mark equal
// packets.
#ifndef LAB_MARKING_BPF_H
#define LAB_MARKING_BPF_H

#include <linux/bpf.h>
#include <linux/ip.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "abi.h"
#include "dcqcn.bpf.h"
#include "parse.bpf.h"

#define BYTE_TIME_BITS 20
#define MAX_TRIES 4 /* to add a packet while other CPUs add theirs */

// Adds a packet to a queue and returns the packet's waiting time.
static __always_inline __u64 queue_packet(struct port_queue *queue, __u64 now, __u32 bytes)
{
	__u64 time = bytes * queue->byte_time_q20 >> BYTE_TIME_BITS;
	__u64 until = queue->busy_until_ns;

	for (int tries = 0; tries < MAX_TRIES; tries++) {
		__u64 start = until > now ? until : now, end = start + time, found;

		// The shaper drops what does not fit.
		if (end > now + queue->max_wait_ns)
			end = start;
		found = __sync_val_compare_and_swap(&queue->busy_until_ns, until, end);
		if (found == until)
			break;
		until = found;
	}
	return until > now ? until - now : 0;
}

// Marks a packet according to its waiting time in the port's queue.
static __always_inline void mark(struct __sk_buff *skb, struct iphdr *ip, const struct flow_key *flow,
				 __u32 seed, struct port_queue *queue, __u64 wait_ns)
{
	__u64 wait = wait_ns >> WAIT_UNIT_BITS;
	__u32 ecn = ip->tos & ECN_CE, sum;

	if (wait <= queue->congestion.k_min || !ecn ||
	    !dcqcn_marks(&queue->congestion, wait, packet_hash(flow_hash(flow, seed), psn(skb, flow))))
		return;
	__sync_fetch_and_add(&queue->marks, 1);
	// The checksum falls as the first word grows (RFC 1624).
	sum = ip->check + (0xffff ^ bpf_htons(ECN_CE - ecn));
	ip->check = (sum & 0xffff) + (sum >> 16);
	ip->tos |= ECN_CE;
}

#endif
