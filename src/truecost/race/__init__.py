"""Which run comes next, who is out, and when to stop; and replays of it on recorded runs."""

from truecost.race.policy import Cut, Decision, RunOrder, Standing, Stretch, decide, schedule

__all__ = ["Cut", "Decision", "RunOrder", "Standing", "Stretch", "decide", "schedule"]
