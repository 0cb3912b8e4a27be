"""Campaigns: checks that are repeated over many cases, of which a default run makes a sample. As tests/campaign.h, which says more.

    files = Campaign("data_trees", "random trees of stages", 60, 250, "further random trees")
    for seed in files.seeds(): …

TAPEDECK_LONG=1 in the environment runs all cases, TAPEDECK_SEED=N chooses the sample and what is random in it.
"""
import os
import random

LONG = int(os.environ.get("TAPEDECK_LONG") or 0)
# Into the environment: processes that a test starts have the same seed.
if not os.environ.get("TAPEDECK_SEED"):
    os.environ["TAPEDECK_SEED"] = str(random.SystemRandom().randrange(1_000_000))
SEED = int(os.environ["TAPEDECK_SEED"])


class Campaign:
    """`sample` and `whole` count the cases of a default run and of a whole one; `cases` names them in the plural; `left_out` says what
    the sample does without."""

    def __init__(self, name, cases, sample, whole, left_out):
        self.name, self.sample, self.whole, self.seed = name, sample, whole, SEED
        self.count = whole * LONG if LONG else sample
        self._deck, self._decks = [], 0
        again = f"TAPEDECK_SEED={SEED} runs these again"
        print(f"{name}: all {self.count:,} {cases} ({again})" if LONG else
              f"{name}: {sample:,} of {whole:,} {cases}; left out: {left_out} ({again}, TAPEDECK_LONG=1 all)", flush=True)

    def random(self, stream=0):
        """A generator that depends on the seed, the campaign's name and `stream`."""
        return random.Random(f"{SEED} {self.name} {stream}")

    def seeds(self):
        """One seed for each random case."""
        return [f"{SEED} {self.name} case {case}" for case in range(self.count)]

    def some(self, cases):
        """Of a list of `whole` cases the next `sample`, in the list's order; the whole list in a whole run. As cards are dealt: no case
        comes a second time before each has come once."""
        cases = list(cases)
        assert len(cases) == self.whole, f"{self.name}: the list has {len(cases)} cases, not {self.whole}"
        if LONG or self.sample >= self.whole:
            return cases
        hand = []
        while len(hand) < self.sample:
            if not self._deck:
                self._decks += 1
                others = [place for place in range(self.whole) if place not in hand]
                self.random(f"deck {self._decks}").shuffle(others)
                self._deck = hand + others  # what is in the hand goes to the bottom: it has just been dealt
            hand.append(self._deck.pop())
        return [cases[place] for place in sorted(hand)]
