#!/usr/bin/env python3
"""Recomputes from raw rows what a report says, and compares: a second implementation of reports/README.md.

    recompute.py RUN [RUN...]               summary.json and figures/*.csv of each run
    recompute.py A B --compare FILE         also the output of `lcmp-lab compare --json A B` in FILE
    recompute.py --self-test                Student's quantiles against the table

A line per table has the numbers compared and their largest relative difference. Each number that differs by more
than 1e-9 is named with its row and column; 1e-12 counts as zero, and 1e-9 of a flow in flight. The exit code is 0
if all agree, 1 if one does not, and 2 if a run cannot be read.

Not recomputed, and named on a line of its own where a run has it: the counts of the policies' mechanisms, which
need the policies' code; verdicts, which need the engine's own reports and are taken from run.json; rates-over-time.
Tables in Parquet are not read: the standard library has no reader.
"""

import argparse
import bisect
import csv
import json
import math
import re
import statistics
import sys
from collections import defaultdict
from pathlib import Path

RELATIVE = 1e-9
# Values below are zero but for the rounding of sums.
ABSOLUTE = 1e-12
# Statistics are shown if ten values are beyond.
BEYOND = 10
PAPER_BINS = 20
# Figures over time have so many intervals, of which these become one.
INTERVALS = 240
WIDE_INTERVALS = 80
MERGED_STRIPS, MERGED_FLIGHT, MERGED_PATHS = 2, 2, 4
MAX_FAULT_PANELS = 16
MAX_STRIPS, MAX_LINKS, MAX_ROUTES, MAX_BARS, MAX_COUNTERS = 16, 40, 6, 100, 800
NANOS = 10**9


# Student's quantile


def incomplete_beta(x, a, b):
    """Returns the regularised incomplete beta function I_x(a, b), by its continued fraction (Lentz)."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - incomplete_beta(1 - x, b, a)
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    tiny = 1e-300
    c, d = 1.0, 1 / ((1 - (a + b) * x / (a + 1)) or tiny)
    fraction = d
    for m in range(1, 10_000):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for step in (even, odd):
            d = 1 / ((1 + step * d) or tiny)
            c = (1 + step / c) or tiny
            fraction *= c * d
        if abs(c * d - 1) < 1e-16:
            break
    return front * fraction / a


def student_quantile(freedom, probability=0.975):
    """Returns the t that Student's distribution does not exceed with `probability`, over one half, by bisection."""
    tail = 2 * (1 - probability)
    low, high = 0.0, 1.0
    beyond = lambda t: incomplete_beta(freedom / (freedom + t * t), freedom / 2, 0.5)
    while beyond(high) > tail:
        high *= 2
    while True:
        middle = (low + high) / 2
        if middle in (low, high):
            return middle
        low, high = (middle, high) if beyond(middle) > tail else (low, middle)


def self_test():
    """Compares Student's quantiles with the printed table, and one of a broken number of degrees of freedom."""
    table = {1: 12.706, 2: 4.303, 3: 3.182, 7: 2.365, 15: 2.131, 50 / 17: 3.2188}
    wrong = {
        freedom: student_quantile(freedom)
        for freedom, value in table.items()
        if abs(student_quantile(freedom) - value) > 5.1e-4
    }
    for freedom, found in wrong.items():
        print(f"self test: t(0.975; {freedom}) is {found}, the table has {table[freedom]}")
    # I_x(a, 1) is x^a; I_x(1, b) is 1 - (1 - x)^b; I_1/2(a, a) is 1/2.
    for x, a, b, value in [(0.3, 2.5, 1, 0.3**2.5), (0.9, 1, 4, 1 - 0.1**4), (0.5, 7, 7, 0.5)]:
        if not math.isclose(incomplete_beta(x, a, b), value, rel_tol=1e-13):
            wrong[x, a, b] = value
            print(f"self test: I_{x}({a}, {b}) is not {value}")
    print(f"self test: {len(table)} quantiles of Student's distribution, {len(wrong)} wrong")
    return not wrong


# Statistics


def needed(percent):
    """Returns the flows from which a percentile is shown: ten are beyond it."""
    return math.inf if percent == 100 else -(-BEYOND * 100 // (100 - percent))


def percentile(values, percent):
    """Returns the smallest of the sorted values that at least `percent` % of them do not exceed."""
    return values[-(-percent * len(values) // 100) - 1]


def mean(values):
    return math.fsum(values) / len(values)


def geometric_mean(values):
    return math.exp(mean([math.log(value) for value in values]))


# Name, function of sorted values, and the least number of values.
STATISTICS = {f"p{p}": (lambda v, p=p: percentile(v, p), needed(p)) for p in (50, 95, 99)}
STATISTICS["mean"] = (mean, BEYOND)


def interval(value, error, freedom, back):
    """Returns the interval of `back` of a logarithm `value` that has a standard error."""
    half = student_quantile(freedom) * error
    return {"low": back(value - half), "high": back(value + half)}


def standard_error(sample):
    return statistics.stdev(sample) / math.sqrt(len(sample))


def estimate(repetitions, statistic, least, extra=()):
    """Returns a statistic of all values with its interval over repetitions; without one if `extra` values of flows
    that did not finish make it a lower bound."""
    pooled = sorted([value for values in repetitions for value in values] + list(extra))
    if len(pooled) < least:
        return None
    value = statistic(pooled)
    logs = [math.log(statistic(values)) for values in repetitions if values]
    of = None
    if len(logs) > 1 and not extra:
        of = interval(math.log(value), standard_error(logs), len(logs) - 1, math.exp)
    return {"value": value, "interval": of}


def slowdowns(repetitions, unfinished):
    """Returns the object `slowdown` of a policy."""
    if not any(repetitions):
        return None
    pooled = [value for values in repetitions for value in values] + unfinished
    return {
        "flows": len(pooled),
        "at_least": bool(unfinished),
        **{name: estimate(repetitions, *of, extra=unfinished) for name, of in STATISTICS.items()},
        "max": max(pooled),
    }


def change(base, other, are_same):
    """Returns the object `change`: of the same flows with the interval of the repetitions' own changes, of different
    flows with Welch's."""
    pooled = [sorted(value for values in side for value in values) for side in (base, other)]
    found = {"flows": min(map(len, pooled))}
    for name, (statistic, least) in STATISTICS.items():
        if found["flows"] < least:
            found[name] = None
            continue
        ratio = statistic(pooled[1]) / statistic(pooled[0])
        logs = [[math.log(statistic(values)) for values in side if values] for side in (base, other)]
        of = None
        if are_same and min(map(len, logs)) > 1:
            own = [b - a for a, b in zip(*logs)]
            of = interval(math.log(ratio), standard_error(own), len(own) - 1, math.expm1)
        elif not are_same and min(map(len, logs)) > 1:
            squares = [standard_error(side) ** 2 for side in logs]
            parts = [square**2 / (len(side) - 1) for square, side in zip(squares, logs)]
            freedom = sum(squares) ** 2 / sum(parts) if sum(parts) > 0 else sum(map(len, logs)) - 2
            of = interval(math.log(ratio), math.sqrt(sum(squares)), freedom, math.expm1)
        found[name] = {"value": ratio - 1, "interval": of}
    return found


def equal_bins(sizes, policies, least):
    """Returns the largest size of each bin with about equally many flows."""
    count = max(1, min(PAPER_BINS, len(sizes) // policies // least))
    sizes = sorted(sizes)
    ends = {sizes[-(-len(sizes) * bin // count) - 1] for bin in range(1, count + 1)} if sizes else set()
    return sorted(ends)


def round_bins(sizes):
    """Returns the largest size of each bin between 1, 2 and 5 times powers of ten that has a flow."""
    edges = [digit * 10**power for power in range(19) for digit in (1, 2, 5)]
    return sorted({edges[bisect.bisect_left(edges, size)] for size in sizes})


def in_bins(flows, uppers):
    """Returns flows by the largest size of their bins."""
    bins = {upper: [] for upper in uppers}
    for flow in flows:
        bins[uppers[bisect.bisect_left(uppers, flow.size)]].append(flow)
    return bins


def known_percentile(flows, percent, least):
    """Returns a percentile of scheduled flows; None if there are too few, or if it is beyond those that finished."""
    finished = sorted(flow.slowdown for flow in flows if flow.slowdown is not None)
    if not flows or len(flows) < least:
        return None
    rank = -(-percent * len(flows) // 100)
    return finished[rank - 1] if rank <= len(finished) else None


# Rows


class Unreadable(Exception):
    pass


def number(text):
    return int(text) if text else None


class Flow:
    def __init__(self, row, taken):
        self.repetition, self.id, self.policy = int(row["repetition"]), int(row["flow_id"]), row["policy"]
        self.size, self.start = int(row["size_bytes"]), int(row["start_ns"])
        self.fct, self.ideal = number(row["fct_ns"]), int(row["ideal_fct_ns"])
        self.pair = (row["src_dc"], row["dst_dc"])
        self.path = row["path"]
        self.is_finished = row["status"] == "finished"
        self.has_started = row["launch_lateness_ns"] != "" or self.fct is not None
        self.end = None if self.fct is None else self.start + self.fct
        # Slowdown is computed, not read: of the times as measured, since those in paper units are rounded.
        emu_fct, emu_ideal = number(row["emu_fct_ns"]), int(row["emu_ideal_fct_ns"])
        self.slowdown = None if emu_fct is None else emu_fct / emu_ideal
        self.written_slowdown = float(row["slowdown"]) if row["slowdown"] else None
        resolution = number(row["emu_fct_resolution_ns"]) or 0
        error = resolution / emu_ideal
        is_artifact = row["semantics"] == "artifact"
        # The paths of a re-routed flow can send at once, but one of N paths carries an N-th of the bytes at least.
        paths = len(taken.get((self.policy, self.repetition, self.id), [None]))
        self.is_below_one = self.fct is not None and not is_artifact and (self.slowdown + error) * paths < 1


class Run:
    """A run directory."""

    def __init__(self, path):
        self.path = Path(path)
        self.json = self.read_json("run.json")
        self.plan = self.read_json("plan.json")
        self.info, self.outcome = self.json["info"], self.json.get("outcome")
        self.policies = self.info["policies"]
        self.repetitions = self.info["repetitions"]
        self.dcs = [dc["name"] for dc in self.info["dcs"]]
        self.links = self.info["links"]
        self.all_faults = self.info.get("faults", [])
        self.taken = taken_paths(self)
        self.flows = [Flow(row, self.taken) for row in self.rows("flows")]
        self.flows.sort(key=lambda flow: (self.policies.index(flow.policy), flow.repetition, flow.id))
        self.of = {policy: [flow for flow in self.flows if flow.policy == policy] for policy in self.policies}
        # Measured flows are those scheduled to start in the window, of which slowdowns are.
        window = self.info.get("measured") or {}
        start, end = window.get("from_ns") or 0, window.get("to_ns") or math.inf
        is_measured = {
            (flow["repetition"], flow["id"]): start <= flow["paper_start_ns"] < end for flow in self.plan["flows"]
        }
        assert len(is_measured) == self.info["scheduled_flows"], "run.json and plan.json schedule other flows"
        self.is_measured = is_measured
        self.scheduled = sum(is_measured.values())
        self.measured = {
            policy: [flow for flow in flows if is_measured[flow.repetition, flow.id]]
            for policy, flows in self.of.items()
        }
        self.measured_flows = [flow for flows in self.measured.values() for flow in flows]
        # Samples of links by direction, and of queues by switch and next datacenter.
        self.counters = defaultdict(list)
        for row in self.rows("links"):
            key = row["policy"], int(row["repetition"]), row["link"], row["from_dc"], row["to_dc"]
            self.counters[key].append((int(row["time_ns"]), int(row["tx_bytes"])))
        self.queues = defaultdict(list)
        for row in self.rows("queues"):
            if row["repetition"] == "0":
                key = row["policy"], row["switch"], row["to_dc"]
                self.queues[key].append((int(row["time_ns"]), int(row["backlog_bytes"])))
        # A repetition covers the time until its last event.
        self.ends = defaultdict(int)
        for flow in self.flows:
            if flow.has_started:
                at = flow.policy, flow.repetition
                self.ends[at] = max(self.ends[at], flow.start if flow.end is None else flow.end)
        for (policy, repetition, *_), samples in self.counters.items():
            at = policy, repetition
            self.ends[at] = max(self.ends[at], max(time for time, _ in samples))
        first_end = max((self.ends[policy, 0] for policy in self.policies), default=0)
        self.faults = [fault for fault in self.all_faults if fault["time_ns"] <= first_end]
        self.last_start = max((flow.start for flow in self.flows if flow.has_started), default=0)
        asked = self.info["provenance"].get("asked") or {}
        has_ended = self.outcome is not None and not self.outcome["end"]["is_interrupted"]
        self.until = asked.get("until_ns") if has_ended else None

    def read_json(self, name):
        try:
            return json.loads((self.path / name).read_text())
        except (OSError, ValueError) as error:
            raise Unreadable(f"{self.path / name}: {error}") from error

    def rows(self, table):
        """Returns the rows of a table; none if it does not exist."""
        if (self.path / f"{table}.parquet").exists():
            raise Unreadable(f"{self.path / table}.parquet: Parquet is not read; choose a run with fewer rows")
        path = self.path / f"{table}.csv"
        return read_csv(path) if path.exists() else []

    @property
    def is_valid(self):
        return self.outcome is not None and self.outcome["verdict"]["grade"] == "valid"

    def with_choice(self):
        """Returns repetition and id of each measured flow whose data can reach a switch with several candidates and a
        policy."""
        plan = self.plan
        candidates = {
            (source, row["dc"]): [hop["next_dc"] for hop in row["candidates"]]
            for source, switch in enumerate(plan["switches"])
            for row in switch["destinations"]
        }

        def has_choice(source, sink):
            hops = candidates.get((source, sink), [])
            own = len(hops) > 1 and not plan["dcs"][source].get("legacy")
            return own or any(has_choice(hop, sink) for hop in hops)

        ends = {
            flow_key: tuple(plan["nodes"][flow[end]]["dc"] for end in ("src", "dst"))
            for flow in plan["flows"]
            if self.is_measured[flow_key := (flow["repetition"], flow["id"])]
        }
        pairs = {pair: has_choice(*pair) for pair in set(ends.values())}
        return {key for key, pair in ends.items() if pairs[pair]}

    def finished(self, policy, among=None):
        """Returns the sorted slowdowns of the flows that finished in each repetition."""
        by_repetition = defaultdict(list)
        for flow in self.measured[policy]:
            if among is not None and (flow.repetition, flow.id) not in among:
                continue
            if flow.slowdown is not None:
                by_repetition[flow.repetition].append(flow.slowdown)
        return [sorted(by_repetition[repetition]) for repetition in range(self.repetitions)]

    def least(self, policy, among=None):
        """Returns the least slowdown of each scheduled flow that did not finish."""
        flows = [flow for flow in self.measured[policy] if among is None or (flow.repetition, flow.id) in among]
        passed = lambda flow: 0 if self.until is None else max(0, self.until - flow.start)
        least = [max(1.0, passed(flow) / flow.ideal) for flow in flows if flow.slowdown is None]
        return least + [1.0] * ((self.scheduled if among is None else len(among)) - len(flows))

    # Routes

    def hops(self, path):
        """Returns the datacenters of a path, whose names may have hyphens; None if one is not known."""
        if path in self.dcs:
            return [path]
        for dc in self.dcs:
            if path.startswith(dc + "-"):
                rest = self.hops(path[len(dc) + 1 :])
                if rest:
                    return [dc, *rest]
        return None

    def route(self, path):
        """Returns a path without direction, from the end that comes first in the plan."""
        hops = self.hops(path)
        if hops is None:
            return path
        ends = self.dcs.index(hops[0]), self.dcs.index(hops[-1])
        return "-".join(hops if ends[0] <= ends[1] else hops[::-1])

    def links_between(self, one, other):
        return [link for link in self.links if {link["a"], link["b"]} == {one, other}]

    def crossed(self, route):
        """Returns the names of the links that a route goes over."""
        hops = self.hops(route) or []
        return {link["name"] for pair in zip(hops, hops[1:]) for link in self.links_between(*pair)}

    def delay(self, route):
        """Returns the one-way delay of a route in ns; infinite if a hop has no link."""
        hops = self.hops(route) or []
        hop = lambda pair: min((link["delay_ns"] for link in self.links_between(*pair)), default=math.inf)
        return sum(map(hop, zip(hops, hops[1:]))) if len(hops) > 1 else math.inf

    # Links

    def capacity(self, link, start, end):
        """Returns the bytes that fit on a link between two times, at the rates that faults left in force."""
        rate = next(one["rate_bps"] for one in self.links if one["name"] == link)
        changes = [fault for fault in self.all_faults if fault["link"] == link and fault.get("rate_bps")]
        spans = [(0, rate)] + [(fault["time_ns"], fault["rate_bps"]) for fault in changes]
        bits = 0
        for (begin, rate), (finish, _) in zip(spans, spans[1:] + [(end, 0)]):
            bits += rate * max(0, min(finish, end) - max(begin, start))
        return bits / 8 / NANOS

    def uses(self, policy):
        """Returns the use of each direction while flows start, mean of the repetitions."""
        shares = defaultdict(list)
        for (label, repetition, *direction), samples in self.counters.items():
            starts = [flow.start for flow in self.of[policy] if flow.repetition == repetition and flow.has_started]
            samples = [sample for sample in samples if sample[0] > 0]
            if label != policy or not starts or not samples:
                continue
            after = [sample for sample in samples if sample[0] >= max(starts)]
            time, sent = min(after) if after else max(samples)
            shares[tuple(direction)].append(sent / self.capacity(direction[0], 0, time))
        return {direction: mean(of) for direction, of in shares.items()}


def read_csv(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


# Comparison with what is written


class Ledger:
    """Numbers compared, by table, and those that differ."""

    def __init__(self):
        self.tables, self.wrong = {}, []

    def open(self, table):
        self.table = table
        self.tables[table] = [0, 0.0]

    def value(self, row, column, written, found, absolute=ABSOLUTE):
        """Compares a value with the one recomputed."""
        count = self.tables[self.table]
        count[0] += 1
        are_numbers = all(type(it) in (int, float) for it in (written, found))
        if are_numbers:
            difference = abs(written - found)
            if difference <= absolute:
                return
            difference /= max(abs(written), abs(found))
            count[1] = max(count[1], difference)
            if difference <= RELATIVE:
                return
        elif written == found and type(written) is type(found):
            return
        self.wrong.append(f"{self.table}: {row}: {column}: written {written!r}, recomputed {found!r}")

    def tree(self, path, written, found):
        """Compares the numbers and words of two JSON values."""
        if isinstance(found, dict) and isinstance(written, dict):
            for key in found:
                if key not in written:
                    self.wrong.append(f"{self.table}: {path}: {key} is missing")
                else:
                    self.tree(f"{path}.{key}" if path else key, written[key], found[key])
        elif isinstance(found, list) and isinstance(written, list):
            if len(found) != len(written):
                self.wrong.append(f"{self.table}: {path}: {len(written)} entries, recomputed {len(found)}")
            for at, pair in enumerate(zip(written, found)):
                name = pair[1].get("policy", at) if isinstance(pair[1], dict) else at
                self.tree(f"{path}[{name}]", *pair)
        else:
            row, _, column = path.rpartition(".")
            self.value(row, column, written, found)

    def rows(self, path, keys, found, absolute=ABSOLUTE):
        """Compares a figure's CSV with rows, given by their keys: each key once, in any order."""
        self.open(str(path.relative_to(path.parent.parent)))
        if not path.exists():
            self.wrong.append(f"{self.table}: the figure is missing")
            return
        written = {}
        for row in read_csv(path):
            cells = {column: typed(cell) for column, cell in row.items()}
            key = tuple(cells.pop(name) for name in keys)
            written.setdefault(rounded(key), (key, []))[1].append(cells)
        expected = {}
        for key, cells in found:
            expected.setdefault(rounded(key), (key, []))[1].append(cells)
        for key in [key for key in written if key not in expected]:
            self.wrong.append(f"{self.table}: {name_of(written[key][0])}: the row is not recomputed")
        for key in [key for key in expected if key not in written]:
            self.wrong.append(f"{self.table}: {name_of(expected[key][0])}: the row is missing")
        for key in [key for key in written if key in expected]:
            name = name_of(written[key][0])
            lists = written[key][1], expected[key][1]
            if len(lists[0]) != len(lists[1]):
                self.wrong.append(f"{self.table}: {name}: {len(lists[0])} rows, recomputed {len(lists[1])}")
            for one, other in zip(*lists):
                for column in {**one, **other}:
                    self.value(name, column, one.get(column), other.get(column), absolute)

    def print(self, title):
        print(title)
        for table, (count, largest) in self.tables.items():
            print(f"  {table:36} {count:7} numbers, largest relative difference {largest:.1e}")
        for sentence in self.wrong:
            print(f"  differs: {sentence}")


def typed(cell):
    """Returns a cell as a number if it is one; None if it is empty."""
    if cell == "":
        return None
    try:
        return int(cell) if re.fullmatch(r"-?\d+", cell) else float(cell)
    except ValueError:
        return cell


def rounded(key):
    """Returns a key whose times compare although they were divided otherwise."""
    return tuple(f"{it:.9e}" if isinstance(it, (int, float)) else it for it in key)


def name_of(key):
    return " ".join(map(str, key))


# summary.json


def estimator(repetitions):
    return "student-t over repetitions" if repetitions > 1 else "none: one draw of arrivals"


def summary(run):
    """Returns the part of summary.json that rows give."""
    among = run.with_choice()
    with_choice = {}
    if 0 < len(among) < run.scheduled:
        with_choice["with_choice"] = {
            "scheduled": len(among),
            "scheduled_in_all": run.scheduled,
            "policies": of_policies(run, among),
        }
    evidence = {**load(run), "policies": [{"policy": policy, "met": met(run, policy)} for policy in run.policies]}
    return {
        "scenario": run.info["scenario"],
        **measured(run),
        "intervals": estimator(run.repetitions),
        "policies": of_policies(run),
        **with_choice,
        "evidence": evidence,
        "paths": route_shares(run),
    }


def of_policies(run, among=None):
    """Returns each policy's results of its measured flows, or of those whose repetition and id are in `among`."""
    first = run.finished(run.policies[0], among)
    policies = []
    for policy in run.policies:
        flows = [flow for flow in run.measured[policy] if among is None or (flow.repetition, flow.id) in among]
        finished = sum(flow.is_finished for flow in flows)
        is_compared = run.is_valid and policy != run.policies[0]
        policies.append({
            "policy": policy,
            "flows": len(flows),
            "finished": finished,
            "unfinished": len(flows) - finished,
            "below_one": sum(flow.is_below_one for flow in flows),
            "slowdown": slowdowns(run.finished(policy, among), run.least(policy, among)),
            "change": change(first, run.finished(policy, among), True) if is_compared else None,
        })
    return policies


def route_shares(run):
    """Returns each policy's share of bytes and of flows on each route, the least delay first."""
    taken = run.taken
    shares = []
    for policy in run.policies:
        count, sent, known = defaultdict(int), defaultdict(int), 0
        for flow in run.of[policy]:
            if flow.path:
                known += 1
                own = taken.get((policy, flow.repetition, flow.id)) or [(flow.path, flow.size)]
                for route in {run.route(path) for path, _ in own}:
                    count[route] += 1
                for path, size in own:
                    sent[run.route(path)] += size
        total = max(sum(sent.values()), 1)
        order = sorted(count, key=lambda route: (run.delay(route), route))
        routes = [{"route": it, "bytes": sent[it] / total, "flows": count[it] / known} for it in order]
        shares.append({"policy": policy, "routes": routes})
    return shares


def taken_paths(run):
    """Returns the paths that each re-routed flow took, with the bytes on each."""
    taken = defaultdict(list)
    for row in run.rows("paths"):
        key = row["policy"], int(row["repetition"]), int(row["flow_id"])
        taken[key].append((row["path"], int(row["sent_bytes"])))
    return taken


def measured(run):
    """Returns the sentence about the window of measured flows, if the run has one."""
    window = run.info.get("measured")
    if not window:
        return {}
    start, end = (nanos and three_digits(nanos) for nanos in (window.get("from_ns"), window.get("to_ns")))
    times = f" from {start or '0 ns'}" + (f" to {end}" if end else " on")
    return {"measured": f"flows that start{times}: {run.scheduled:,} of {run.info['scheduled_flows']:,}"}


def load(run):
    """Returns the load that workloads offered, in whole bit/s, and the flows that are no part of it."""
    plan = run.plan
    duration = plan["load"]["paper_duration_ns"]
    of_plan = {(flow["repetition"], flow["id"]): flow for flow in plan["flows"]}
    sent, time, last_starts, listed = defaultdict(int), 0, [], plan["load"]["listed"]
    for policy in run.policies:
        for repetition in sorted({flow.repetition for flow in run.of[policy]}):
            flows = [flow for flow in run.of[policy] if flow.repetition == repetition]
            flows = [(flow, of_plan[repetition, flow.id]) for flow in flows]
            flows = [(flow, planned) for flow, planned in flows if not planned.get("is_listed")]
            started = [planned for flow, planned in flows if flow.has_started]
            for planned in started:
                sent[plan["nodes"][planned["src"]]["dc"]] += planned["paper_size_bytes"]
            is_cut = len(started) < len(flows)
            time += min(duration, run.ends[policy, repetition]) if is_cut else duration
            last_starts.append(max((planned["paper_start_ns"] for planned in started), default=0))
    senders = [
        {
            "dc": plan["dcs"][sender["dc"]]["name"],
            "requested": sender["requested_bps"] / sender["capacity_bps"],
            "offered": sent[sender["dc"]] * 8 * NANOS // max(time, 1) / sender["capacity_bps"],
        }
        for sender in plan["load"]["senders"]
    ]
    has_load = duration > 0 and plan["load"]["kept"] > 0
    listed_flows = [flow for flow in plan["flows"] if flow.get("is_listed")]
    assert len(listed_flows) == listed["flows"], "the plan counts its listed flows otherwise"
    return {
        "load": senders,
        "covered": min(last_starts) / duration if has_load and last_starts else None,
        "listed": {
            "flows": len(listed_flows),
            "bytes": sum(flow["paper_size_bytes"] for flow in listed_flows),
        },
    }


def met(run, policy):
    """Returns how many flows were under way at once, and on one direction of a link."""
    flows = [flow for flow in run.of[policy] if flow.has_started]
    end = lambda flow: run.ends[policy, flow.repetition] if flow.end is None else flow.end
    busy = time = peak = 0
    overlapping = set()
    for repetition in {flow.repetition for flow in flows}:
        spans = [(flow.start, end(flow), flow) for flow in flows if flow.repetition == repetition]
        busy += sum(stop - start for start, stop, _ in spans)
        time += max(stop for _, stop, _ in spans) - min(start for start, *_ in spans)
        # An end comes before a start at the same time.
        events = sorted([(start, 1) for start, *_ in spans] + [(stop, -1) for _, stop, _ in spans])
        under_way = 0
        for _, step in events:
            under_way += step
            peak = max(peak, under_way)
        by_direction = defaultdict(list)
        for start, stop, flow in spans:
            hops = run.hops(flow.path) or []
            for direction in zip(hops, hops[1:]):
                by_direction[direction].append((start, stop, flow.id))
        for of in by_direction.values():
            of.sort()
            for at, (start, stop, flow) in enumerate(of):
                # Later flows are sorted by start: the next one is the first that can overlap.
                if at + 1 < len(of) and of[at + 1][0] < stop:
                    overlapping.add((repetition, flow))
            latest = 0
            for start, stop, flow in of:
                if start < latest:
                    overlapping.add((repetition, flow))
                latest = max(latest, stop)
    uses = run.uses(policy)
    busiest = max(uses, key=uses.get) if uses else None
    return {
        "mean_concurrency": busy * 100 // max(time, 1) / 100,
        "peak_concurrency": peak,
        "flows": sum(flow.path != "" for flow in flows),
        "overlapping": len(overlapping),
        "busiest": uses
        and {"from_dc": busiest[1], "to_dc": busiest[2], "utilisation": uses[busiest]}
        or None,
    }


# Figures


def figures(run, ledger):
    """Compares the CSVs of all figures; returns the names of those that are not recomputed."""
    directory = run.path / "figures"
    expected = {
        "fct-slowdown-cdf": (("policy", "percent"), cdf(run)),
        "fct-slowdown-by-size": (SIZE_KEYS, by_size(run)),
        "fct-slowdown-by-size-log": (SIZE_KEYS, by_log_size(run)),
        "paths": (("policy", "link"), paths(run)),
        "link-utilisation": (("link", "policy"), utilisation(run)),
    }
    grid = Grid(run)
    expected["paths-over-time"] = (STACK_KEYS, paths_over_time(run, grid))
    expected["links-over-time"] = (STRIP_KEYS, links_over_time(run, grid))
    expected["queues-over-time"] = (STRIP_KEYS, queues_over_time(run, grid))
    if len({flow.pair for flow in run.measured_flows}) > 2:
        expected["dc-pairs"] = (("policy", "from_dc", "to_dc"), dc_pairs(run))
    if run.faults:
        expected["around-faults"] = (("panel", "link", "start_s"), around_faults(run))
    if max(map(len, run.of.values())) > MAX_BARS:
        expected["flows-in-flight"] = (STACK_KEYS, flows_in_flight(run, grid))
    else:
        expected["flow-timeline"] = (("policy", "start_s"), timeline(run))
    for name, (keys, rows) in expected.items():
        # Sums of thousands of flows are rounded.
        ledger.rows(directory / f"{name}.csv", keys, rows, 1e-9 if name == "flows-in-flight" else ABSOLUTE)
    written = {path.stem for path in directory.glob("*.csv")}
    for name in sorted(written - expected.keys() - NOT_RECOMPUTED):
        ledger.wrong.append(f"figures/{name}.csv: no such figure is recomputed")
    return written & NOT_RECOMPUTED


NOT_RECOMPUTED = {"rates-over-time"}
SIZE_KEYS = "percentile", "policy", "size_up_to_bytes"
STACK_KEYS = "policy", "start_s", "route"
STRIP_KEYS = "direction", "policy", "time_s"


def cdf(run):
    for policy in run.policies:
        repetitions, unfinished = run.finished(policy), run.least(policy)
        finished = sorted(value for values in repetitions for value in values)
        all_flows = len(finished) + len(unfinished)
        for percent in range(1, 101):
            rank = -(-percent * all_flows // 100)
            if not 0 < rank <= len(finished):
                continue
            of = None if unfinished else estimate(repetitions, lambda v: percentile(v, percent), needed(percent))
            ends = (of or {}).get("interval") or {"low": None, "high": None}
            yield (policy, percent), {"slowdown": finished[rank - 1], **ends}
        if finished and unfinished:
            share = 100 * len(finished) / all_flows
            yield (policy, share), {"slowdown": finished[-1], "low": None, "high": None}


def size_rows(run, percent, uppers):
    for policy in run.policies:
        for upper, flows in in_bins(run.measured[policy], uppers).items():
            yield (percent, policy, upper), {
                "flows": len(flows),
                "finished": sum(flow.slowdown is not None for flow in flows),
                "slowdown": known_percentile(flows, percent, needed(percent)),
            }


def by_size(run):
    for percent in (50, 99):
        sizes = [flow.size for flow in run.measured_flows]
        yield from size_rows(run, percent, equal_bins(sizes, len(run.policies), needed(percent)))


def by_log_size(run):
    for percent in (50, 99):
        yield from size_rows(run, percent, round_bins([flow.size for flow in run.measured_flows]))


def dc_pairs(run):
    for policy in run.policies:
        for pair in {flow.pair for flow in run.measured[policy]}:
            flows = [flow for flow in run.measured[policy] if flow.pair == pair]
            yield (policy, *pair), {
                "flows": len(flows),
                "finished": sum(flow.slowdown is not None for flow in flows),
                "p50": known_percentile(flows, 50, needed(50)),
                "p99": known_percentile(flows, 99, needed(99)),
                "max": known_percentile(flows, 100, 1),
            }


def paths(run):
    taken = run.taken
    for policy in run.policies:
        flows = []
        for flow in run.of[policy]:
            if flow.path:
                own = taken.get((policy, flow.repetition, flow.id)) or [(flow.path, flow.size)]
                flows.append([(run.crossed(run.route(path)), size) for path, size in own])
        total = sum(size for own in flows for _, size in own)
        for link in run.links:
            over = [[size for links, size in own if link["name"] in links] for own in flows]
            over = [sizes for sizes in over if sizes]
            share = sum(map(sum, over)) / max(total, 1)
            yield (policy, link["name"]), {"flows": len(over), "share_of_bytes": share}


def utilisation(run):
    shares = {}
    for policy in run.policies:
        uses = run.uses(policy)
        for link in run.links if uses else []:
            of = [use for (name, *_), use in uses.items() if name == link["name"]]
            shares[link["name"], policy] = max(of, default=None)
    most = lambda link: max(
        (use for (name, _), use in shares.items() if name == link["name"] and use is not None), default=0
    )
    height = 15 * max(2, sum(bool(run.uses(policy)) for policy in run.policies)) + 12
    room = min(MAX_LINKS, max(24, 1_800 // height))
    shown = {link["name"] for link in sorted(run.links, key=most, reverse=True)[:room]}
    for key, share in shares.items():
        if key[0] in shown:
            yield key, {"utilisation": share}


# Figures over time, of the first repetition


class Grid:
    """Intervals of time: a quarter more than the time by which nine tenths of the flows had ended, and all faults;
    to the end if that is less than half as much again."""

    def __init__(self, run):
        ends = sorted(end for policy in run.policies for _, end, _ in spans(run, policy))
        fault = max((fault["time_ns"] for fault in run.faults), default=0)
        end = max([*ends, fault, INTERVALS])
        most = ends[len(ends) * 9 // 10] if ends else 0
        focus = max(most, fault) * 5 // 4
        focus = end if focus * 3 // 2 >= end else max(focus, INTERVALS)
        self.width = -(-focus // INTERVALS)
        # Wider intervals that no figure shows end a counter's steps, too.
        self.rest = max(0, end - self.width * INTERVALS)

    def index(self, time):
        """Returns the interval of a time; wider ones follow those of the figures until the end."""
        after = time - self.width * INTERVALS
        if after < 0:
            return time // self.width
        wide = -(-self.rest // WIDE_INTERVALS)
        return INTERVALS + min(after // wide, WIDE_INTERVALS - 1) if wide else INTERVALS - 1

    def merged(self, count):
        """Returns the start and end of intervals, `count` of them merged."""
        return [(at * self.width, (at + count) * self.width) for at in range(0, INTERVALS, count)]

    def halves(self, start, end):
        return [(at, at + self.width) for at in range(start, end, self.width)]


def spans(run, policy):
    """Returns start, end and flow of the started flows of the first repetition."""
    flows = [flow for flow in run.of[policy] if flow.repetition == 0 and flow.has_started]
    return [(flow.start, run.ends[policy, 0] if flow.end is None else flow.end, flow) for flow in flows]


def groups(run):
    """Returns the label of each route's layer: the route, or with too many routes its number of links."""
    routes = {run.route(flow.path) for flow in run.flows if flow.path}
    if len(routes) <= MAX_ROUTES:
        return {route: route_label(run, route) for route in routes}
    links = {route: len(run.hops(route)) - 1 for route in routes if run.hops(route)}
    shown = sorted(set(links.values()))[:MAX_ROUTES]
    label = lambda count: f"over {count} link{'' if count == 1 else 's'}"
    return {route: label(count) for route, count in links.items() if count in shown}


def route_label(run, route):
    delay = run.delay(route)
    return route if delay == math.inf else f"{route} · {three_digits(delay)}"


def three_digits(nanos):
    """Returns a time with three significant digits."""
    for unit, size in (("s", 10**9), ("ms", 10**6), ("µs", 1000), ("ns", 1)):
        if float(f"{nanos / size:.3g}") >= 1 or unit == "ns":
            break
    value = nanos / size
    text = f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
    return f"{text} {unit}"


OTHERS = "another or unknown"


def layers(run, policy):
    """Returns start, end and layer of the spans of a policy, and all layers."""
    labels = groups(run)
    of = lambda flow: labels.get(run.route(flow.path), OTHERS) if flow.path else OTHERS
    return [(start, end, of(flow)) for start, end, flow in spans(run, policy)], {*labels.values(), OTHERS}


def flows_in_flight(run, grid):
    for policy in run.policies:
        found, names = layers(run, policy)
        for start, end in grid.merged(MERGED_FLIGHT):
            time = defaultdict(int)
            for begin, finish, layer in found:
                time[layer] += max(0, min(finish, end) - max(begin, start))
            for layer in names:
                value = time[layer] / (end - start)
                yield (policy, start / NANOS, layer), {"end_s": end / NANOS, "value": value}


def paths_over_time(run, grid):
    edges = grid.merged(MERGED_PATHS)
    shown = [edge for edge in edges if edge[0] <= run.last_start] or edges[:1]
    for policy in run.policies:
        found, names = layers(run, policy)
        for start, end in shown:
            counts = defaultdict(int)
            for begin, _, layer in found:
                counts[layer] += start <= begin < end
            for layer in names:
                value = 100 * counts[layer] / max(sum(counts.values()), 1)
                yield (policy, start / NANOS, layer), {"end_s": end / NANOS, "value": value}


def timeline(run):
    labels = groups(run)
    for policy in run.policies:
        for start, end, flow in spans(run, policy):
            route = labels.get(run.route(flow.path)) if flow.path else None
            finish = None if flow.end is None else end / NANOS
            yield (policy, start / NANOS), {"end_s": finish, "route": route}


def directions(run):
    """Returns link, sender and receiver of every direction that was sampled in the first repetition, in order."""
    return sorted({key[2:] for key in run.counters if key[1] == 0})


def strips(weights):
    """Returns the directions with the largest weights, at most 16 and over a fiftieth of the largest."""
    most = max(weights.values(), default=0)
    used = [key for key in sorted(weights) if weights[key] > most / 50]
    return sorted(used, key=lambda key: -weights[key])[:MAX_STRIPS]


def links_over_time(run, grid):
    uses = {policy: run.uses(policy) for policy in run.policies}
    weight = lambda key: max(uses[policy].get(key, 0) for policy in run.policies)
    for link, sender, receiver in strips({key: weight(key) for key in directions(run)}):
        for policy in run.policies:
            samples = run.counters.get((policy, 0, link, sender, receiver))
            if not samples:
                continue
            # The last sample of each interval counts, and a counter grows evenly between them.
            last = {}
            for time, sent in sorted(samples):
                last[grid.index(time)] = (time, sent)
            points = [(0, 0)] + [sample for sample in sorted(last.values()) if sample[0] > 0]
            final = points[-1][0]
            for start, end in grid.merged(MERGED_STRIPS):
                shares = []
                for begin, finish in grid.halves(start, end):
                    if begin >= max(time for time, _ in samples):
                        continue
                    finish_known = min(finish, final)
                    fits = run.capacity(link, begin, finish_known)
                    carried = counter_at(points, finish) - counter_at(points, begin)
                    shares.append(100 * carried / fits if fits else 0.0)
                if shares:
                    middle = (start + end) // 2 / NANOS
                    yield (f"{sender} → {receiver}", policy, middle), {"value": mean(shares)}


def counter_at(points, time):
    """Returns a counter on the line between the points around a time; after the last, its value."""
    at = bisect.bisect_left(points, (time, -1))
    if at == len(points):
        return points[-1][1]
    if at == 0:
        return points[0][1]
    (t0, v0), (t1, v1) = points[at - 1], points[at]
    return v0 + (v1 - v0) * (time - t0) / (t1 - t0)


def queues_over_time(run, grid):
    longest = lambda key: max(
        (size for policy in run.policies for _, size in run.queues.get((policy, *key[1:]), ())), default=0
    )
    for link, switch, receiver in strips({key: longest(key) for key in directions(run)}):
        for policy in run.policies:
            samples = run.queues.get((policy, switch, receiver), [])
            by_interval = defaultdict(list)
            for time, size in samples:
                by_interval[grid.index(time) // MERGED_STRIPS].append(size)
            for at, (start, end) in enumerate(grid.merged(MERGED_STRIPS)):
                if by_interval[at]:
                    key = f"{switch} → {receiver}", policy, (start + end) // 2 / NANOS
                    yield key, {"value": max(by_interval[at]) / 1e6}


def around_faults(run):
    degree = lambda dc: sum(dc in (link["a"], link["b"]) for link in run.links)
    faulty = {fault["link"] for fault in run.all_faults}
    ends = [max((link["a"], link["b"]), key=degree) for link in run.links if link["name"] in faulty]
    senders = sorted({sender for policy, repetition, _, sender, _ in run.counters if repetition == 0 and sender in ends})
    ends = senders[: max(1, MAX_FAULT_PANELS // len(run.policies))]
    times = [fault["time_ns"] for fault in run.all_faults]
    until = max(times) + max(max(times) - min(times), min(times))
    for (policy, repetition, _, sender, receiver), samples in run.counters.items():
        if repetition != 0 or sender not in ends:
            continue
        samples = sorted(sample for sample in samples if sample[0] <= until)
        every = 1
        while len(samples) // every >= MAX_COUNTERS:
            every *= 2
        points = [(0, 0)] + samples[every - 1 :: every]
        for (t0, v0), (t1, v1) in zip(points, points[1:]):
            if t1 > t0:
                key = f"{policy}: sent by {sender}", f"to {receiver}", t0 / NANOS
                yield key, {"end_s": t1 / NANOS, "gbit_per_s": (v1 - v0) * 8 / (t1 - t0)}


# compare


def compare(runs, written, ledger):
    """Compares the output of `compare --json` with the two runs."""
    ledger.open("compare --json")
    base, other = runs
    are_same = schedule(base) == schedule(other)
    not_valid = [name for name, run in zip("AB", runs) if not run.is_valid]
    counts = [run.repetitions for run in runs]
    welch = "welch-t over the repetitions of both runs"
    both = [policy for policy in base.policies if policy in other.policies]
    found = {
        "run": "B",
        "is_paired": are_same,
        "not_valid": not_valid,
        "intervals": welch if min(counts) > 1 and not are_same else estimator(min(counts)),
        "policies": [compare_policy(runs, policy, are_same, not not_valid) for policy in both],
        "in_one_run": [policy for run in runs for policy in run.policies if policy not in both],
    }
    ledger.tree("", written, {"scenario": base.info["scenario"], "against": [found]})


def schedule(run):
    """Returns the flows that were to be played."""
    name = lambda node: run.plan["nodes"][node]["name"]
    return sorted(
        (it["repetition"], it["id"], name(it["src"]), name(it["dst"]), it["paper_size_bytes"], it["paper_start_ns"])
        for it in run.plan["flows"]
    )


def compare_policy(runs, policy, are_same, are_valid):
    unfinished = [run.least(policy) for run in runs]
    found = {"policy": policy, "unfinished": [len(of) for of in unfinished]}
    for side, run, least in zip(("base", "other"), runs, unfinished):
        found[side] = slowdowns(run.finished(policy), least)
    if not are_valid:
        return {**found, "change": None, "paired": None, "paper": None, "bins": []}
    finished = [[flow for flow in run.measured[policy] if flow.slowdown is not None] for run in runs]
    return {
        **found,
        "change": change(*(run.finished(policy) for run in runs), are_same),
        "paired": paired(finished) if are_same else None,
        "paper": paper(finished),
        "bins": [row for percent in (50, 99) for row in bin_changes(finished, percent)],
    }


def paired(sides):
    """Returns the object `paired`: each flow with itself."""
    base, other = ({(flow.repetition, flow.id): flow.slowdown for flow in flows} for flows in sides)
    keys = sorted(base.keys() & other.keys())
    if len(keys) < BEYOND:
        return None
    ratios = defaultdict(list)
    for key in keys:
        ratios[key[0]].append(other[key] / base[key])
    repetitions = [sorted(of) for of in ratios.values()]
    pooled = [ratio for of in repetitions for ratio in of]
    # Cliff's delta: pairs of any two flows in which the other run's is slower, less those in which it is faster.
    one = sorted(base[key] for key in keys)
    delta = sum(
        bisect.bisect_left(one, other[key]) - (len(one) - bisect.bisect_right(one, other[key])) for key in keys
    ) / len(keys) ** 2
    words = ["negligible", "small", "medium", "large"]
    return {
        "pairs": len(keys),
        "median_ratio": estimate(repetitions, lambda v: percentile(v, 50), needed(50)),
        "mean_ratio": estimate(repetitions, geometric_mean, BEYOND),
        "faster": sum(ratio < 0.99 for ratio in pooled) / len(pooled),
        "slower": sum(ratio > 1.01 for ratio in pooled) / len(pooled),
        "cliffs_delta": delta,
        "effect": words[bisect.bisect_right([0.147, 0.33, 0.474], abs(delta))],
    }


def paper(sides):
    """Returns the paper's reductions: flows sorted by size in 20 bins, slowdowns of at least 1, ranks from 0."""
    bins = []
    for flows in sides:
        flows = sorted(flows, key=lambda flow: (flow.size, flow.repetition, flow.id))
        edges = [len(flows) * at // PAPER_BINS for at in range(PAPER_BINS + 1)]
        slices = [flows[a:b] for a, b in zip(edges, edges[1:])]
        bins.append([sorted(max(1.0, flow.slowdown) for flow in of) for of in slices])
    both = [(a, b) for a, b in zip(*bins) if a and b]
    if not both:
        return None
    at = lambda of, percent: of[len(of) * percent // 100]
    return {
        "bins": len(both),
        "median_bin_p50": statistics.median(at(b, 50) / at(a, 50) - 1 for a, b in both),
        "worst_bin_p99": max(at(b, 99) / at(a, 99) - 1 for a, b in both),
    }


def bin_changes(sides, percent):
    least = needed(percent)
    uppers = equal_bins([flow.size for flows in sides for flow in flows], 2, least)
    binned = [in_bins(flows, uppers) for flows in sides]
    for upper in uppers:
        values = [sorted(flow.slowdown for flow in bins[upper]) for bins in binned]
        if min(map(len, values)) >= least:
            yield {
                "percentile": percent,
                "upper_bytes": upper,
                "flows": [len(of) for of in values],
                "slowdown": [percentile(of, percent) for of in values],
            }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="*", metavar="RUN", help="run directory")
    parser.add_argument("--compare", metavar="FILE", help="output of `lcmp-lab compare --json` of two runs")
    parser.add_argument("--self-test", action="store_true", help="check Student's quantiles")
    asked = parser.parse_args()
    if asked.compare and len(asked.runs) != 2:
        parser.error("--compare needs two runs")
    if not asked.runs and not asked.self_test:
        parser.error("no run is given")
    holds = self_test() if asked.self_test else True
    try:
        runs = [Run(path) for path in asked.runs]
        for run in runs:
            ledger = Ledger()
            ledger.open("flows.csv: slowdown")
            for flow in run.flows:
                row = f"{flow.policy} {flow.repetition} {flow.id}"
                ledger.value(row, "slowdown", flow.written_slowdown, flow.slowdown)
            ledger.open("summary.json")
            ledger.tree("", run.read_json("summary.json"), summary(run))
            left_out = figures(run, ledger)
            ledger.print(run.path)
            print("  not recomputed: verdict, mechanisms of policies" + "".join(f", {name}" for name in sorted(left_out)))
            holds &= not ledger.wrong
        if asked.compare:
            ledger = Ledger()
            compare(runs, json.loads(Path(asked.compare).read_text()), ledger)
            ledger.print(f"{runs[0].path} against {runs[1].path}")
            holds &= not ledger.wrong
    except (Unreadable, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyError as error:
        print(f"error: a run without {error}: it was written by another version", file=sys.stderr)
        return 2
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
