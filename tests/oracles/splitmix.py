"""SplitMix64 in Python's unbounded integers (Steele, Lea & Flood 2014, figure 16)."""

MASK = 2**64 - 1


class SplitMix64:
    """The generator; `word` is all its state."""

    def __init__(self, word):
        self.word = word & MASK

    def next_word(self):
        self.word = (self.word + 0x9E3779B97F4A7C15) & MASK
        z = self.word
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return z ^ (z >> 31)

    def uniform(self):
        return (self.next_word() >> 11) / 2**53
