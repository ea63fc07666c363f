"""Online edge grafting, one test after another, on dictionaries and lists.

The rules are those of the papers' pseudocode with what they leave open filled in: tests are counted; the first round
ends when the reservoir is full, later ones after `max_tests` tests, or at the first edge that passes when the
reservoir is empty by then; frozen edges return only when the model has changed since they last did; activated edges
and their queue entries are gone; a node becomes a hub once.
"""

from math import fsum


class Grafting:
    """The state of a run; `round` does one activation round.

    `place` gives each pair its place in the random order, `turn(hub, other)` the turn at which a hub meets a node.
    With `round_down`, priorities of pairs that were tested are rounded, and equal ones go by their places.
    """

    round_down = None

    def __init__(self, n, pairs, *, size, max_tests, alpha, lam, place, turn, weight, hubs, threshold):
        self.n, self.size, self.max_tests, self.alpha, self.lam = n, size, max_tests, alpha, lam
        self.turn, self.weight, self.with_hubs, self.threshold = turn, weight, hubs, threshold
        self.queue = {e: (0.0, place[e]) for e in pairs}
        self.reservoir, self.frozen, self.hubs = {}, [], []
        self.degree = [0] * n
        self.filling, self.changed, self.log, self.n_refills = True, False, [], 0
        self.place = place

    def offset(self, e, s):
        return 1.0 - s / max(self.lam * self.weight(e), 2.0**-512)

    def freeze(self, e, s):
        self.frozen.append((e, self.offset(e, s)))
        self.log.append(("freeze", *self.frozen[-1]))

    def reorganise(self):
        total = sum(self.degree)
        if not self.with_hubs or total < 32:
            return
        limit = total / self.n if self.threshold is None else self.threshold * (self.n - 1)
        new = [v for v in range(self.n) if self.degree[v] > limit and v not in self.hubs]
        for v in new:
            self.hubs.append(v)
            self.log.append(("hub", v, len(self.hubs) - 1))
        for v in new:
            own = self.hubs.index(v)
            for e in [e for e in self.queue if v in e]:
                other = e[0] + e[1] - v
                older = other in self.hubs and self.hubs.index(other) < own
                at = self.hubs.index(other) if older else self.turn(v, other)
                if self.round_down and self.n_refills:
                    self.queue[e] = (self.round_down(self.queue[e][0] - 1.0), self.place[e])
                else:
                    self.queue[e] = (self.queue[e][0] - 1.0, at * self.n + own)

    def test(self, score):
        e = min(self.queue, key=lambda e: (*self.queue[e], e))
        del self.queue[e]
        s = score(e)
        self.log.append(("test", e, s))
        if not s > self.lam * self.weight(e):
            self.freeze(e, s)
        elif len(self.reservoir) < self.size:
            self.reservoir[e] = s
            self.log.append(("reserve", e, s))
        else:
            least = min(self.reservoir, key=lambda f: (self.reservoir[f], tuple(-v for v in f)))
            if self.reservoir[least] < s:
                out = self.reservoir.pop(least)
                self.log.append(("evict", least, out))
                self.reservoir[e] = s
                self.log.append(("reserve", e, s))
                self.freeze(least, out)
            else:
                self.freeze(e, s)

    def round(self, score, limit=None):
        self.reorganise()
        tests = 0
        while len(self.reservoir) < self.size if self.filling else tests < self.max_tests or not self.reservoir:
            if not self.queue:
                if not (self.frozen and self.changed):
                    break
                self.queue = {e: (v, k) for k, (e, v) in enumerate(self.frozen)}
                if self.round_down:
                    self.queue = {e: (self.round_down(v), self.place[e]) for e, v in self.frozen}
                self.n_refills += 1
                self.log.append(("refill", None, len(self.frozen)))
                self.frozen, self.changed = [], False
            self.test(score)
            tests += 1
        self.filling = False
        chosen = self.choose(limit)
        for e in chosen:
            self.log.append(("activate", e, self.reservoir.pop(e)))
            for v in e:
                self.degree[v] += 1
            self.changed = True
        return chosen

    def choose(self, limit):
        if not self.reservoir:
            return []
        order = sorted(self.reservoir, key=lambda e: (-self.reservoir[e], e))
        scores = [self.reservoir[e] for e in order]
        tau = min((1 - self.alpha) * fsum(scores) / len(scores) + self.alpha * scores[0], scores[0])
        chosen = []
        for e in order:
            if self.reservoir[e] >= tau and not any(set(e) & set(f) for f in chosen):
                chosen.append(e)
        return chosen[:limit]

    def rescore(self, nodes, score):
        if nodes:
            self.changed = True
        for e in self.reservoir:
            if set(e) & set(nodes):
                self.reservoir[e] = score(e)
        out = sorted(e for e, s in self.reservoir.items() if not s > self.lam * self.weight(e))
        dropped = [(e, self.reservoir.pop(e)) for e in out]
        self.log.extend(("drop", e, s) for e, s in dropped)
        for e, s in dropped:
            self.freeze(e, s)
