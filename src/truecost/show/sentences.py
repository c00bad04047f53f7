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

# Where a limit is 0 itself, or infinite: no amount can be given.
NO_AMOUNT: Final[dict[tuple[Criterion, str], str]] = {
    ("time", "better"): "{Where} {winner} is faster than {default} on average ({mean}, {level}).",
    ("time", "undecided"): "Nothing can be proven about the {mean} while the range of costs is "
    "unknown: give --low and --high.",
    ("time", "worse"): "{Where} {winner} is slower than {default} on average ({mean}, {level}).",
    ("cost", "better"): "{Where} {winner} costs less than {default} on average ({mean}, {level}).",
    ("cost", "undecided"): "Nothing can be proven about the {mean} while the range of costs is "
    "unknown: give --low and --high.",
    ("cost", "worse"): "{Where} {winner} costs more than {default} on average ({mean}, {level}).",
}

# Only the approximate interval is known, and it leaves both directions open.
APPROXIMATELY_UNDECIDED: Final[dict[Criterion, str]] = {
    "time": "{Where} {winner} may be {least} s faster or {most} s slower than {default} on average "
    "({mean}, approximate).",
    "cost": "{Where} {winner} may cost {least} less or {most} more than {default} on average "
    "({mean}, approximate).",
}

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
NAME_DEFAULT: Final = "To compare, name the default: --default NAME."
ALONE_OBSERVED: Final = "On {units} {winner} costs {observed} on average ({mean})."

# The penalty decides: proven for some, not for the declared one.
LADDER: Final[dict[tuple[str, str], str]] = {
    ("better", "up to"): "Better as long as a timeout costs at most {high} cutoffs; at the "
    "declared {declared} not proven.",
    ("better", "between"): "Better as long as a timeout costs {low} to {high} cutoffs; at the "
    "declared {declared} not proven.",
    ("better", "only"): "Better if a timeout costs {high} cutoffs; at the declared {declared} not "
    "proven.",
    ("worse", "up to"): "Worse as long as a timeout costs at most {high} cutoffs; at the declared "
    "{declared} not proven.",
    ("worse", "between"): "Worse as long as a timeout costs {low} to {high} cutoffs; at the "
    "declared {declared} not proven.",
    ("worse", "only"): "Worse if a timeout costs {high} cutoffs; at the declared {declared} not "
    "proven.",
}
MIXED: Final[dict[tuple[str, str], str]] = {
    ("better", "up to"): "Mixed: faster, but failed more often ({failed} against {rival}). Better "
    "only while a timeout costs at most {high} cutoffs.",
    ("better", "between"): "Mixed: faster, but failed more often ({failed} against {rival}). "
    "Better only while a timeout costs {low} to {high} cutoffs.",
    ("better", "only"): "Mixed: faster, but failed more often ({failed} against {rival}). Better "
    "only if a timeout costs {high} cutoffs.",
    ("worse", "up to"): "Mixed: slower, but failed less often ({failed} against {rival}). Worse "
    "only while a timeout costs at most {high} cutoffs.",
    ("worse", "between"): "Mixed: slower, but failed less often ({failed} against {rival}). Worse "
    "only while a timeout costs {low} to {high} cutoffs.",
    ("worse", "only"): "Mixed: slower, but failed less often ({failed} against {rival}). Worse "
    "only if a timeout costs {high} cutoffs.",
}

# The second sentence, on the runs won; "it" is whom the headline begins with.
WINS: Final[dict[str, str]] = {
    "better": "It won {won} of {runs}, and wins at least {least} of new runs ({level}).",
    "undecided": "It won {won} of {runs}: no difference proven.",
    "worse": "It won {won} of {runs}, and wins at most {most} of new runs ({level}).",
    "not testable": "It won {won} of {runs}.",
}

# What training made it look like.
TRAINING: Final[dict[str, str]] = {
    "list": "Over-tuning made {winner} look about {error} better in training.",
    "earlier": "Configuration {earlier}, the best earlier in the search, is proven better than "
    "{winner}.",
    "search": "On the {instances} that both were run on, the difference was {difference}; "
    "tuning favours {winner} there.",
    "tuned": "Tuning favours {winner} here: it was chosen by these runs.",
}

WHERE: Final = {
    "instance": "on new instances",
    "family": "on instances of new families",
    "seed": "with new seeds",
}
