"""All sentences of the verdict, each written once and as a whole."""

from typing import Final, Literal

# What decides: a mean of running times, a mean of other costs, or runs won.
Criterion = Literal["time", "cost", "wins"]

# Fields: {Where} "On new instances"; {winner} and {default}, with their article; {mean} what the
# mean is of; {level} of one limit; {least} and {most} limits on the safe side.
HEADLINES: Final[dict[tuple[Criterion, str], str]] = {
    ("time", "better"): "{Where} {winner} is at least {least} s faster than {default} on average "
    "({mean}, {level}).",
    ("time", "probably better"): "{Where} {winner} is probably {least} to {most} s faster than "
    "{default} on average ({mean}, approximate).",
    ("time", "undecided"): "{Where} {winner} may be {least} s faster or {most} s slower than "
    "{default} on average ({mean}, {level}).",
    ("time", "probably worse"): "{Where} {winner} is probably {least} to {most} s slower than "
    "{default} on average ({mean}, approximate).",
    ("time", "worse"): "{Where} {winner} is at least {least} s slower than {default} on average "
    "({mean}, {level}).",
    ("cost", "better"): "{Where} {winner} costs at least {least} less than {default} on average "
    "({mean}, {level}).",
    ("cost", "probably better"): "{Where} {winner} probably costs {least} to {most} less than "
    "{default} on average ({mean}, approximate).",
    ("cost", "undecided"): "{Where} {winner} may cost {least} less or {most} more than {default} "
    "on average ({mean}, {level}).",
    ("cost", "probably worse"): "{Where} {winner} probably costs {least} to {most} more than "
    "{default} on average ({mean}, approximate).",
    ("cost", "worse"): "{Where} {winner} costs at least {least} more than {default} on average "
    "({mean}, {level}).",
    ("wins", "better"): "{Where} {winner} wins at least {least} of the runs against {default} "
    "({level}).",
    ("wins", "undecided"): "{Where} {winner} wins between {least} and {most} of the runs against "
    "{default} ({level}).",
    ("wins", "worse"): "{Where} {winner} wins at most {most} of the runs against {default} "
    "({level}).",
}

# Where a limit is 0 itself: no amount can be given.
NO_AMOUNT: Final[dict[tuple[Criterion, str], str]] = {
    ("time", "better"): "{Where} {winner} is faster than {default} on average ({mean}, {level}).",
    ("time", "worse"): "{Where} {winner} is slower than {default} on average ({mean}, {level}).",
    ("cost", "better"): "{Where} {winner} costs less than {default} on average ({mean}, {level}).",
    ("cost", "worse"): "{Where} {winner} costs more than {default} on average ({mean}, {level}).",
}
# The range of costs is unknown: only the approximate interval, if any, and it leaves both
# directions open.
APPROXIMATELY_UNDECIDED: Final = (
    "{Where} {winner} may cost {least} less or {most} more than {default} on average "
    "({mean}, approximate)."
)
UNKNOWN_RANGE: Final = (
    "Nothing can be proven about the {mean} while the range of costs is unknown: give --low and "
    "--high."
)
NO_RELEVANT_DIFFERENCE: Final = (
    "{Where} the means of {winner} and {default} differ by at most {margin} ({mean}, {level})."
)
# What was asked with a margin, where the headline says something else.
MARGIN: Final[dict[bool, str]] = {
    True: "Proven: {winner} costs at most {margin} more than {default} on average ({level}).",
    False: "Not proven: {winner} costs at most {margin} more than {default} on average.",
}
SAME: Final = "{Winner} is {default}: there is nothing to compare."
UNTESTED: Final = "{Default} has no test runs, so it cannot be compared with {winner}."
UNTESTED_WAY_OUT: Final = (
    "Run {default} on the test instances, too, or both on new ones with `truecost validate`."
)
ALONE: Final = "{Where} {winner} costs at most {most} on average ({mean}, {level})."
ALONE_OBSERVED: Final = "On {units} {winner} costs {observed} on average ({mean})."
NAME_DEFAULT: Final = "To compare, name the default: --default NAME."

# The penalty decides: proven for some ("at most 3", "2 to 5"), not for the declared one.
LADDER: Final = (
    "{Side} as long as a timeout costs {penalties} cutoffs; at the declared {declared} not proven."
)
MIXED: Final[dict[str, str]] = {
    "better": "Mixed: faster, but failed more often{counts}. Better only while a timeout costs "
    "{penalties} cutoffs.",
    "worse": "Mixed: slower, but failed less often{counts}. Worse only while a timeout costs "
    "{penalties} cutoffs.",
}

# The second sentence, on the runs won; "it" is whom the headline begins with.
WINS: Final[dict[str, str]] = {
    "better": "It won {won} of {runs}, and wins at least {least} of new runs ({level}).",
    "undecided": "It won {won} of {runs}: no difference in runs won is proven.",
    "worse": "It won {won} of {runs}, and wins at most {most} of new runs ({level}).",
}

# What training made it look like.
OVER_TUNED: Final = "Over-tuning made {winner} look about {error} better in training."
IN_TRAINING: Final = (
    "On the {instances} that both were run on, the difference was {difference}; tuning favours "
    "{winner} there."
)
TUNED_HERE: Final = "Tuning favours {winner} here: it was chosen by these runs."
