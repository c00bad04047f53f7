"""The configurations of a search, in the order of proposals, and where the next one comes from."""

import math

import numpy as np

from truecost.journal import searchlog
from truecost.journal.journal import Journal
from truecost.journal.searchlog import Settings
from truecost.race.heats import Heat, Heats
from truecost.space.learning import SAMPLES, Learner
from truecost.space.propose import Proposal, propose
from truecost.space.space import Configuration, Space

# How many of the best configurations have neighbours proposed.
PARENTS = 5
# With many workers the model learns again when there are this many times the runs.
GROWTH = 1.1


class Proposer:
    """What was proposed: first what the journal has, then the start, then by costs so far."""

    def __init__(self, book: Journal, space: Space, settings: Settings, heats: Heats) -> None:
        self._book, self._space, self._seed, self._heats = book, space, settings.seed, heats
        self._late = settings.many_workers
        self.recorded = searchlog.proposed_in(book)
        self._written = len(self.recorded)
        default = space.default().name
        self._start = [first for first in searchlog.start_of(book) if first.name != default]
        self.configurations: list[Configuration] = []
        self.origins: list[str] = []
        self._known: set[str] = set()
        self.exhausted, self._size = False, space.size()
        # The parents at a number of runs and an incumbent: ranking them for every proposal would
        # cost more the longer a search is.
        self._ranked: tuple[tuple[int, int], list[Configuration]] | None = None
        # The model's offers, the moment it was made at and the first proposal of them.
        self._learner = Learner(space)
        self._offered: tuple[int, int, list[Configuration]] = (0, 0, [])
        # Runs that were stopped: configuration, cell and cap.
        self.stopped: list[tuple[int, int, float]] = []

    def left(self) -> float:
        """How many more there can be."""
        return 0.0 if self.exhausted else max(0.0, self._size - len(self.configurations))

    def propose(self, heat: Heat, incumbent: int, spent: float) -> bool:
        """One more configuration, in a heat; whether there is one.

        `spent` is the share of the budget that is spent.
        """
        number = len(self.configurations)
        recorded = self.recorded[number] if number < len(self.recorded) else None
        proposal: Proposal | None = None
        if 0 < number <= len(self._start):
            proposal = Proposal(configuration=self._start[number - 1], origin="start")
        # What is recorded is proposed again where one model serves a while, so that a search that
        # is resumed goes on with the offers it had.
        elif (recorded is None or self._late) and not self.exhausted:
            proposal = propose(
                self._space,
                self._parents(incumbent),
                self._known,
                seed=self._seed,
                number=number,
                spent=spent,
                lost=incumbent == 0,
                learnt=lambda: self._offer(incumbent, spent),
            )
        proposal = recorded or proposal
        if proposal is None:
            self.exhausted = True
            return False
        if recorded is None:
            self.recorded.append(proposal)
        self.enter(proposal, heat)
        return True

    def enter(self, proposal: Proposal, heat: Heat) -> int:
        """A configuration takes part in a heat; its number."""
        self.configurations.append(proposal.configuration)
        self._known.add(proposal.configuration.name)
        self.origins.append(proposal.origin)
        return self._heats.enter(heat)

    def write(self) -> None:
        """Write new proposals into the journal."""
        # A whole heat at once where one model offers it.
        if len(self.recorded) > self._written:
            searchlog.note_proposals(self._book, self._written, self.recorded[self._written :])
            self._written = len(self.recorded)

    def _offer(self, incumbent: int, spent: float) -> Configuration | None:
        """The next configuration that the model offers; None if it has nothing to say."""
        # It learns before every heat, where all proposals of one are made at once.
        moment, number = len(self._heats.granted), len(self.configurations)
        if self._late:
            moment = int(math.log(max(self._heats.made, 1), GROWTH))
        before, first, offers = self._offered
        if moment != before:
            self._learn()
        # Once for a proposal: in a small space the model may offer nothing but what is known.
        if moment != before or (not offers and number != first):
            seed = np.random.SeedSequence(self._seed, spawn_key=(number, SAMPLES))
            rng = np.random.default_rng(seed)
            offers = self._learner.offers(self._parents(incumbent), spent, rng)[::-1]
            self._offered = moment, number, offers
        return offers.pop() if offers else None

    def _learn(self) -> None:
        rows, cells, costs = self._heats.table()
        # A run that was stopped costs its cap at least.
        stopped = np.array(self.stopped, dtype=np.float64).reshape(-1, 3).T
        self._learner.learn(
            self.configurations,
            np.concatenate([rows, stopped[0].astype(np.int64)]),
            np.concatenate([cells, stopped[1].astype(np.int64)]),
            np.concatenate([costs, stopped[2]]),
        )

    def ranked(self) -> list[int]:
        """Configurations by a model of all runs so far, the best first; [] if there is no model."""
        self._learn()
        return self._learner.ranked()

    def _parents(self, incumbent: int) -> list[Configuration]:
        """The best configurations."""
        # By the difference to the incumbent on common runs, at least half of its runs: who met easy
        # instances is not the best.
        heats, moment = self._heats, (self._heats.made, incumbent)
        if self._ranked is None or self._ranked[0] != moment:
            least = heats.count(incumbent) / 2 if self.configurations else 0
            enough = np.flatnonzero(heats.counts >= max(least, 1)).tolist()
            places = [place for place in enough if not heats.out[place]]
            apart = heats.apart(places, incumbent) if places else np.empty(0)
            ranked = [places[rank] for rank in np.argsort(apart, kind="stable")[:PARENTS]]
            self._ranked = moment, [self.configurations[place] for place in ranked]
        return self._ranked[1]
