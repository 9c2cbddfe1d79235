// Switch program except for its decision, attached at tc ingress of all ports of a DCI switch.
//
// A switch program is one source file that includes this header and defines decide():
//
//	#include "switch.bpf.h"
//
//	static __always_inline __u64 decide(const struct switch_table *switch_table,
//					    const struct destination *destination,
//					    struct decision_record *record) { … }
//
// decide() is called if there are several candidates: for a flow's first packet, for the first packet after the flow's
// port has died, and under UCMP for a packet that takes the flow past a size threshold. `record` has the time, the flow
// and its hash. decide() sets `rule` (RULE_OWN for a user-defined policy) and sets `port` to the chosen candidate's slot.
// It returns the number of live candidates; if that is 0, the packet is dropped. Helpers:
//
//	observe()		copies the candidates into the record, with C_path, C_cong and liveness
//	decide_by_buckets()	hashes over the candidates' buckets, or over all candidates alike
//	tables_are_stale()	returns true if the tables are too old for a decision
//
// switch.bpf.c is the agent's own program; examples/ has others; build.sh builds all of them.
//
// - parse.bpf.h		five-tuple, flow hash, destination QP
// - address.bpf.h		addresses as they are hashed
// - maps.bpf.h			maps shared with the agent
// - flow_table.bpf.h		counting, deciding and pinning of flows
// - flow_gc.bpf.h		flow-cache garbage collection, the program's part
// - transit.bpf.h		packets on tunnels, at the switches behind the first
// - failover.bpf.h		fast failover
// - carrier.bpf.h		fast failover: ports whose link dies
// - flow_ageing.bpf.h		re-routing of aged flows
// - buckets.bpf.h		candidates, and the hash over their buckets
// - marking.bpf.h		queues of the ports, and their marks
// - pfc.bpf.h			shared buffer, and pauses of hosts
// - branch_free.bpf.h		comparisons without branches
//
// A packet to a remote datacenter is forwarded by its flow's entry. Without an entry, a decision is made and the flow
// is pinned. If there is only one candidate, the packet is forwarded without a decision. With tunnels, packets from
// other datacenters follow the tunnel that their own switch has chosen. All other packets are passed to the kernel:
// ARP, IPv6, local destinations, expired TTLs, and destinations without a table row. The program changes only TTL, ECN
// bits, checksum and Ethernet addresses.
#ifndef LAB_SWITCH_BPF_H
#define LAB_SWITCH_BPF_H

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/pkt_cls.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "abi.h"
#include "buckets.bpf.h"
#include "carrier.bpf.h"
#include "failover.bpf.h"
#include "flow_ageing.bpf.h"
#include "flow_table.bpf.h"
#include "maps.bpf.h"
#include "marking.bpf.h"
#include "parse.bpf.h"
#include "pfc.bpf.h"
#include "transit.bpf.h"

SEC("classifier")
int switch_ingress(struct __sk_buff *skb)
{
	__u32 zero = 0;
	struct switch_table *switch_table = bpf_map_lookup_elem(&table, &zero);
	struct counters *count = bpf_map_lookup_elem(&counters, &zero);
	struct ethhdr *eth;
	struct iphdr *ip;
	struct flow_entry *entry;
	struct flow_key flow = {};
	const struct port *port;
	struct port_queue *queue;
	struct shared_buffer *buffer = shared_buffer();
	__u32 slot, check, ingress = 0, quanta = 0;
	__u8 trigger = TRIGGER_NEW_FLOW;
	__u64 now;

	if (!switch_table || !count)
		return TC_ACT_OK;
	if (buffer && is_pause_request(skb))
		return make_pause(skb, switch_table);
	count->received++;
	switch (parse(skb, &eth, &ip, &flow)) {
	case NOT_PARSED:
		count->passed++;
		return TC_ACT_OK;
	case TTL_EXPIRED:
		count->ttl_expired++;
		return TC_ACT_OK;
	}

	now = bpf_ktime_get_ns();
	if (is_in_transit(&switch_table->params, &flow)) {
		int followed = follow(skb, &flow, switch_table, count);

		if (followed < 0)
			return followed == UNREACHABLE ? TC_ACT_SHOT : TC_ACT_OK;
		slot = followed & (MAX_PORTS - 1);
		goto forward;
	}
	entry = bpf_map_lookup_elem(&flows, &flow);
	slot = entry ? entry->port & (MAX_PORTS - 1) : 0;
	if (entry) {
		if (is_dead(&switch_table->ports[slot]))
			trigger = TRIGGER_FAILOVER;
		else if (switch_table->params.flow_ageing && must_reroute(&flow, entry, skb->len))
			trigger = TRIGGER_FLOW_AGEING;
	}
	if (entry && trigger == TRIGGER_NEW_FLOW) {
		count_packet(entry, skb->len, now);
		count->hits++;
	} else {
		int pinned = pin(skb, &flow, entry, trigger, switch_table, count, now);

		if (pinned < 0)
			return pinned == UNREACHABLE ? TC_ACT_SHOT : TC_ACT_OK;
		slot = pinned & (MAX_PORTS - 1);
	}
forward:
	port = &switch_table->ports[slot];
	queue = &switch_table->queues[slot];
	if (queue->byte_time_q20) {
		__u64 wait;

		if (buffer) {
			advance(buffer, now);
			ingress = ingress_slot(skb->ifindex) & (MAX_PORTS - 1);
			if (!admit(buffer, &buffer->ports[ingress], skb->len)) {
				count->buffer_drops++;
				return TC_ACT_SHOT;
			}
		}
		wait = queue_packet(queue, now, skb->len);
		mark(skb, ip, &flow, switch_table->params.seed, queue, wait);
		if (buffer && wait) {
			leave_after(buffer, ingress, now, wait, skb->len);
			quanta = pause_quanta(buffer, ingress, now, count);
		} else if (buffer) {
			release(&buffer->used, &buffer->ports[ingress], skb->len);
		}
	}

	// Only the TTL has changed, by one hop: the checksum is updated accordingly (RFC 1141).
	check = ip->check + bpf_htons(0x0100);
	ip->check = check + (check >= 0xffff);
	ip->ttl--;
	__builtin_memcpy(eth->h_source, port->src_mac, ETH_ALEN);
	__builtin_memcpy(eth->h_dest, port->dst_mac, ETH_ALEN);
	if (quanta)
		request_pause(skb, quanta);
	return bpf_redirect(port->ifindex, 0);
}

char LICENSE[] SEC("license") = "GPL";

#endif
