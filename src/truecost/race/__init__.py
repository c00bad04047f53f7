"""Which run comes next, who is out, and when to stop; and replays of it on recorded runs."""

from truecost.race.policy import Cut, Decision, Schedule, Standing, Stretch, decide, schedule

__all__ = ["Cut", "Decision", "Schedule", "Standing", "Stretch", "decide", "schedule"]
