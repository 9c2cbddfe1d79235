// Parsing of packets: five-tuple, flow hash (paper, section 3.1.2), destination QP.
#ifndef LAB_PARSE_BPF_H
#define LAB_PARSE_BPF_H

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/udp.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "abi.h"
#include "address.bpf.h"

/* Ethernet and IPv4 without options, then both ports. */
#define PARSED_BYTES (sizeof(struct ethhdr) + sizeof(struct iphdr) + sizeof(__u32))
#define FRAGMENT_BITS 0x3fff /* more fragments, or an offset */
/* Offsets in the base transport header: one reserved byte, then 24 bits. */
#define BTH_DEST_QP 4
#define BTH_PSN 8

/* Results of parse(). */
#define PARSED 0
#define NOT_PARSED 1
#define TTL_EXPIRED 2

// Finds the headers of a packet and its flow; returns NOT_PARSED for all packets except IPv4 without options.
static __always_inline int parse(struct __sk_buff *skb, struct ethhdr **eth_header,
				 struct iphdr **ip_header, struct flow_key *flow)
{
	void *data, *end;
	struct ethhdr *eth;
	struct iphdr *ip;

	if (skb->protocol != bpf_htons(ETH_P_IP))
		return NOT_PARSED;
	data = (void *)(long)skb->data;
	end = (void *)(long)skb->data_end;
	if (data + PARSED_BYTES > end) {
		// The linear part does not hold all headers, or the packet is too short for them.
		bpf_skb_pull_data(skb, skb->len < PARSED_BYTES ? skb->len : PARSED_BYTES);
		data = (void *)(long)skb->data;
		end = (void *)(long)skb->data_end;
	}
	eth = data;
	ip = (void *)(eth + 1);
	if ((void *)(ip + 1) > end || ip->version != 4 || ip->ihl != 5)
		return NOT_PARSED;
	if (ip->ttl <= 1)
		return TTL_EXPIRED;

	flow->src = ip->saddr;
	flow->dst = ip->daddr;
	flow->proto = ip->protocol;
	if ((flow->proto == IPPROTO_UDP || flow->proto == IPPROTO_TCP) &&
	    !(ip->frag_off & bpf_htons(FRAGMENT_BITS))) {
		__be16 *ports = (void *)(ip + 1);

		if ((void *)(ports + 2) > end)
			return NOT_PARSED;
		flow->sport = ports[0];
		flow->dport = ports[1];
	}
	*eth_header = eth;
	*ip_header = ip;
	return PARSED;
}

static __always_inline __u32 rotate_left(__u32 value, int bits)
{
	return value << bits | value >> (32 - bits);
}

static __always_inline __u32 murmur3_word(__u32 hash, __u32 word)
{
	word *= 0xcc9e2d51;
	word = rotate_left(word, 15);
	word *= 0x1b873593;
	hash ^= word;
	hash = rotate_left(hash, 13);
	return hash * 5 + 0xe6546b64;
}

static __always_inline __u32 murmur3_end(__u32 hash)
{
	hash ^= hash >> 16;
	hash *= 0x85ebca6b;
	hash ^= hash >> 13;
	hash *= 0xc2b2ae35;
	return hash ^ hash >> 16;
}

// Returns MurmurHash3 of addresses and ports in host byte order, with the lab's slot removed from the addresses, as
// flow_hash in lab-policy.
static __always_inline __u32 flow_hash(const struct flow_key *flow, __u32 seed)
{
	__u32 hash = seed;

	hash = murmur3_word(hash, without_slot(bpf_ntohl(flow->src)));
	hash = murmur3_word(hash, without_slot(bpf_ntohl(flow->dst)));
	hash = murmur3_word(hash, bpf_ntohs(flow->sport) | (__u32)bpf_ntohs(flow->dport) << 16);
	hash ^= 12;
	return murmur3_end(hash);
}

// Returns MurmurHash3 of a packet's sequence number, seeded with the hash of its flow, as packet_hash in
// lab-policy.
static __always_inline __u32 packet_hash(__u32 flow, __u32 psn)
{
	return murmur3_end(murmur3_word(flow, psn) ^ 4);
}

// Returns a 24-bit field of a RoCEv2 packet, or NO_QP.
static __always_inline __u32 bth_field(struct __sk_buff *skb, const struct flow_key *flow, __u32 at)
{
	__u32 offset = sizeof(struct ethhdr) + sizeof(struct iphdr) + sizeof(struct udphdr);
	__be32 field;

	if (flow->proto != IPPROTO_UDP || flow->dport != bpf_htons(ROCE_PORT))
		return NO_QP;
	if (bpf_skb_load_bytes(skb, offset + at, &field, sizeof(field)))
		return NO_QP;
	return bpf_ntohl(field) & 0xffffff;
}

// Returns the destination QP of a RoCEv2 packet, which identifies the flow for the controller, or NO_QP.
static __always_inline __u32 dest_qp(struct __sk_buff *skb, const struct flow_key *flow)
{
	return bth_field(skb, flow, BTH_DEST_QP);
}

// Returns the packet sequence number of a RoCEv2 packet; a constant for all other packets.
static __always_inline __u32 psn(struct __sk_buff *skb, const struct flow_key *flow)
{
	return bth_field(skb, flow, BTH_PSN);
}

#endif
