"""The checksums of draws.rs, computed from docs/WORKLOADS.md alone: python3 draws.py

Shares no code with the crate. Logarithms and powers are those of this machine, parameters are found
by summing up, so an agreement also shows that neither hangs on a last bit.
"""

import math
from functools import lru_cache
from itertools import islice

MASK = (1 << 64) - 1
SEED, CAPACITY, COUNT = 7, 3_000_001, 2_000


class Random:
    def __init__(self, seed, purpose=None):
        self.state = seed & MASK
        if purpose is not None:
            self.state = Random(seed ^ (purpose * 0xD1342543DE82EF95 & MASK)).bits()

    def bits(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return z ^ (z >> 31)

    def below(self, n):
        return self.bits() * n >> 64

    def happens(self, percent):
        return self.below(1_000_000) < percent * 10_000

    def unit(self):
        return ((self.bits() >> 12) + 0.5) / 2**52

    def time(self, mean):
        return -math.log(self.unit()) * mean


def gaps(kind, rate=10_000, burst=100_000, calm_ns=20e6, burst_ns=2e6, shape=1.5):
    """Nanoseconds from a request to the next, the first one from time 0."""
    r, mean, fast = Random(SEED, 1), 1e9 / rate, 1e9 / burst
    while kind == "poisson":
        yield r.time(mean)
    while kind == "pareto":
        yield mean * (shape - 1) / shape * r.unit() ** (-1 / shape)
    left = 0.0
    while kind == "on_off":
        silence = r.time(calm_ns)
        yield left + silence
        left = r.time(burst_ns)
        while left > fast:
            yield fast
            left -= fast
    in_burst, waited = r.unit() < burst_ns / (calm_ns + burst_ns), 0.0
    while kind == "mmpp":
        stay = r.time(burst_ns if in_burst else calm_ns)
        while (gap := r.time(fast if in_burst else mean)) < stay:
            stay -= gap
            yield waited + gap
            waited = 0.0
        waited += stay
        in_burst = not in_burst


def clock(kind):
    """Times in whole nanoseconds; fractions are carried on."""
    number = 0
    while kind in ("none", "constant"):
        yield number * 10**9 // 30_000 if kind == "constant" else 0
        number += 1
    now, fraction = 0, 0.0
    for gap in gaps(kind):
        gap += fraction
        now, fraction = now + int(gap), gap - int(gap)
        yield now


def solve(mean, wanted):
    """Where a falling mean has the wanted value."""
    low, high = 1e-6, 64.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if mean(middle) > wanted else (low, middle)
    return high


@lru_cache
def geometric(n, wanted):
    def mean(t):
        weights = [math.exp(-t * k) for k in range(n)]
        return math.fsum(k * w for k, w in enumerate(weights)) / math.fsum(weights)

    return solve(mean, wanted)


def geometric_size(u, least, step, n, mean):
    wanted = (mean - least) / step
    mirrored = wanted > (n - 1) / 2
    t = geometric(n, n - 1 - wanted if mirrored else wanted)
    k = min(n - 1, int(-math.log(1 - u * (1 - math.exp(-n * t))) / t))
    return least + step * (n - 1 - k if mirrored else k)


@lru_cache
def pareto(least, step, n, wanted):
    def mean(a):
        def below(x):
            return (1 - (least / x) ** a) / (1 - (least / (least + n * step)) ** a)

        sizes = [least + step * k for k in range(n)]
        return math.fsum(s * (below(s + step) - below(s)) for s in sizes)

    return solve(mean, wanted)


def pareto_size(u, least, step, n, mean):
    a = pareto(least, step, n, mean)
    x = least * (1 - u * (1 - (least / (least + n * step)) ** a)) ** (-1 / a)
    return least + step * min(n - 1, int((x - least) / step))


def size(rule, op, r):
    """Reads and trims of 8 to 128 sectors, writes of 16 to 256; steps of 8."""
    least, most = (16, 256) if op == "write" else (8, 128)
    step, n = 8, (most - least) // 8 + 1
    if rule == "one":
        return 8
    if rule == "uniform":
        return least + step * r.below(n)
    if rule == "two":
        return most if r.happens(30 if op == "write" else 10) else least
    draw = {"geometric": geometric_size, "pareto": pareto_size}[rule]
    return draw(r.unit(), least, step, n, {"read": 24, "trim": 24, "write": 80}[op])


def places(access, count, r, stride=16):
    """Places, given how many places the request before took."""
    factor = max(1, count * 0x9E3779B97F4A7C15 >> 64)
    while math.gcd(factor, count) != 1:
        factor += 1
    at, lap, took = 0, 0, 0
    while True:
        if access == "uniform":
            place = r.below(count)
        elif access == "self_similar":
            place = int(count * r.unit() ** (math.log(0.2) / math.log(0.8))) * factor % count
        elif access == "hot_cold":
            hot = count * 20 // 100
            first, last = (0, hot) if r.happens(80) else (hot, count)
            place = (first + r.below(last - first)) * factor % count
        elif access == "sequential":
            place = at = at + took if at + took < count else 0
        else:
            if at >= count:
                at = lap = (lap + 1) % min(stride, count)
            place, at = at, at + stride
        took = yield place


def pattern(access="uniform", rule="one", kind="none", read=100, trim=0, flush=0, goes_on=0):
    ops, sizes, go_on = Random(SEED, 2), Random(SEED, 3), Random(SEED, 5)
    largest = 8 if rule == "one" else 128 if read + trim == 100 else 256
    count = (CAPACITY - largest) // 8 + 1
    way = places(access, count, Random(SEED, 4))
    behind, writes, took = count, 0, None
    for now in clock(kind):
        if flush and writes == flush:
            writes = 0
            yield now, 0, 0, "flush"
            continue
        share = ops.below(1_000_000) / 10_000
        op = "read" if share < read else "trim" if share < read + trim else "write"
        writes += op == "write"
        sectors = size(rule, op, sizes)
        if goes_on and go_on.happens(goes_on) and behind < count:
            place = behind
        else:
            place = way.send(took)
            took = -(-sectors // 8)
        behind = place + -(-sectors // 8)
        yield now, place * 8, sectors, op


def mix(mean_ms, writes, small, large, large_share, goes_on, place):
    r = Random(SEED)

    def u():
        return (r.bits() >> 11) / 2**53

    room, units, now, end = CAPACITY // 8 * 8, CAPACITY // 8, 0.0, None
    while True:
        now -= math.log(1 - u()) * mean_ms
        op = "write" if u() < writes else "read"
        sectors = large if u() < large_share else small
        if not (u() < goes_on and end is not None and end + sectors <= room):
            x = u()
            if place != "uniform":
                x **= math.log(0.2) / math.log(0.8)
            unit = int(x * units)
            if place == "scattered":
                unit = (unit * 2_654_435_761 + 12_345) % units
            end = min(unit * 8, room - sectors)
        end += sectors
        yield int(now * 1e6), end - sectors, sectors, op


def checksum(requests):
    total = 0xCBF29CE484222325
    for now, first, sectors, op in islice(requests, COUNT):
        for word in (now, first, sectors, ["read", "write", "trim", "flush"].index(op)):
            total = ((total ^ word) * 0x100000001B3) & MASK
    return total


CASES = {
    "uniform": pattern(),
    "sequential": pattern("sequential", "uniform"),
    "strided": pattern("strided"),
    "hot_cold": pattern("hot_cold"),
    "self_similar": pattern("self_similar"),
    "mixed": pattern(goes_on=60, rule="uniform", read=70),
    "operations": pattern(read=50, trim=10, flush=3),
    "two": pattern(rule="two", read=50),
    "geometric": pattern(rule="geometric", read=50),
    "pareto sizes": pattern(rule="pareto", read=50),
    "constant": pattern(kind="constant"),
    "poisson": pattern(kind="poisson"),
    "mmpp": pattern(kind="mmpp"),
    "on_off": pattern(kind="on_off"),
    "pareto": pattern(kind="pareto"),
    "oltp": mix(133.5, 0.91, 8, 16, 0.095, 0.02, "uniform"),
    "olap-clustered": mix(155.56, 0.05, 16, 32, 0.6025, 0.18, "clustered"),
    "oltp-scattered": mix(133.5, 0.91, 8, 16, 0.095, 0.02, "scattered"),
}

if __name__ == "__main__":
    for name, requests in CASES.items():
        print(f"{name}: 0x{checksum(requests):016x}")
