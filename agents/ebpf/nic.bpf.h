// Host NIC that PFC frames pause (IEEE 802.1Qbb). Its clock stands still while the NIC is paused.
//
// When a QP's first packet is due by its rate, it gets a ticket: the time on the NIC's clock at which all packets with
// earlier tickets will have left. The packet leaves when the clock reaches its ticket. A pause thus delays all packets
// equally and keeps their order, and the QPs of a NIC take turns.
#ifndef LAB_NIC_BPF_H
#define LAB_NIC_BPF_H

#include <linux/bpf.h>
#include <linux/if_ether.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "abi.h"

#define NSEC_PER_SEC 1000000000ULL
#define FAR 8 /* turns */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct nic);
} nics SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} pauses SEC(".maps");

// Returns the transmission time of `bytes` at a rate.
static __always_inline __u64 time_at(__u64 rate_bps, __u64 bytes)
{
	return bytes * 8 * NSEC_PER_SEC / rate_bps;
}

// Records a finished pause and lets the clock continue.
static __always_inline void end_pause(struct nic *nic, __u32 ifindex, __u64 now,
				      struct host_counters *count)
{
	struct pause_record record = {
		.from_ns = nic->paused_at_ns,
		.until_ns = nic->paused_until_ns,
		.ifindex = ifindex,
	};

	if (!nic->paused_at_ns || now < nic->paused_until_ns)
		return;
	nic->stopped_ns += nic->paused_until_ns - nic->paused_at_ns;
	nic->paused_at_ns = 0;
	if (bpf_ringbuf_output(&pauses, &record, sizeof(record), BPF_RB_NO_WAKEUP))
		count->lost_pauses++;
}

// Returns the time at which the clock reaches `ticket` if no further pause arrives.
static __always_inline __u64 time_of_ticket(const struct nic *nic, __u64 ticket)
{
	__u64 stopped = nic->stopped_ns;

	if (nic->paused_at_ns)
		stopped += nic->paused_until_ns - nic->paused_at_ns;
	return ticket + stopped;
}

// Returns when a QP's packet with `place` packets before it is checked; `ticket` is that of the QP's first packet. The
// next packet gets its own ticket when the first leaves. Later packets leave after all tickets issued so far. They are
// checked twice per expected turn, because other QPs may end, and at the latest after FAR turns.
static __always_inline __u64 time_of_turn(const struct nic *nic, __u64 ticket, __u64 place)
{
	__u64 turn = time_of_ticket(nic, ticket), last = time_of_ticket(nic, nic->busy_until);

	if (place <= 1)
		return turn;
	place = place - 2 < 2 * FAR ? place - 2 : 2 * FAR;
	return last + place * (last - turn) / 2;
}

// Returns 1 if a QP's first packet, which is due, may leave; until then the packet holds a ticket.
static __always_inline int may_leave(struct nic *nic, struct paced_qp *qp, __u32 bytes, __u64 now,
				     struct host_counters *count)
{
	__u64 clock, time = time_at(nic->line_bps, bytes);

	end_pause(nic, qp->nic, now, count);
	clock = (nic->paused_at_ns ? nic->paused_at_ns : now) - nic->stopped_ns;
	if (!qp->ticket) {
		qp->ticket = clock > nic->busy_until ? clock : nic->busy_until;
		nic->busy_until = qp->ticket + time;
	}
	if (nic->paused_at_ns || clock < qp->ticket)
		return 0;
	// If the CPU is late by more than a packet, tickets move: a burst would not react to a pause.
	if (clock - qp->ticket > time)
		nic->stopped_ns += clock - qp->ticket;
	qp->ticket = 0;
	return 1;
}

// Processes a MAC control frame.
static __always_inline void hear_pause(struct __sk_buff *skb, __u64 now, struct host_counters *count)
{
	struct {
		__be16 opcode;
		__be16 priorities;
		__be16 quanta[8];
	} pause;
	__u32 ifindex = skb->ifindex;
	struct nic *nic = bpf_map_lookup_elem(&nics, &ifindex);

	if (!nic || !nic->quantum_ns || bpf_skb_load_bytes(skb, ETH_HLEN, &pause, sizeof(pause)) ||
	    pause.opcode != bpf_htons(PFC_OPCODE) ||
	    !(pause.priorities & bpf_htons(1 << PFC_PRIORITY)))
		return;
	end_pause(nic, ifindex, now, count);
	if (!nic->paused_at_ns)
		nic->paused_at_ns = now;
	nic->paused_until_ns = now + bpf_ntohs(pause.quanta[PFC_PRIORITY]) * nic->quantum_ns;
	end_pause(nic, ifindex, now, count);
}

#endif
