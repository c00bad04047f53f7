"""Which run comes next, who is out, and when to stop; and replays of it on recorded runs.

Examples
--------
>>> tc.race.schedule(3, 2, rng=1).instances
array([0, 1, 2, 2, 0, 1])
"""

from truecost.race.policy import Cut, Decision, RunOrder, Standing, Stretch, decide, schedule

__all__ = ["Cut", "Decision", "RunOrder", "Standing", "Stretch", "decide", "schedule"]
