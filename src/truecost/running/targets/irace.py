"""`kind = "irace"`: a target-runner, which prints `cost [time]` when called as
`runner configuration number seed instance [bound] --name value …`.

irace lets a shell split the line into arguments, so an instance that is not a file is split at its
blanks.
"""

import re
from typing import TYPE_CHECKING

from truecost.running.targets import Answer, Call, Kind
from truecost.running.targets.wrapper import reported_number
from truecost.runs import Status
from truecost.space.arguments import shell_words

if TYPE_CHECKING:
    from truecost.running.scenario import Scenario

# Of integers in R and in most runners.
LARGEST = 2**31 - 1


def call(call: Call) -> list[str]:
    """The words irace gives a runner."""
    instance, argument = call.instance, call.instance.argument
    number = instance.number or call.scenario.place(instance) % 10**6 + 1
    identifier = str(identifier_of(call.configuration.name))
    words = [identifier, str(number), str(call.seed)]
    words += [argument] if instance.is_file else shell_words(argument)
    bound = [call.cutoff] if call.scenario.target.bound else []
    return [*call.command, *words, *bound, *call.arguments]


def identifier_of(name: str) -> int:
    """The name of a configuration as an integer, which irace's identifiers always are."""
    if name.isdecimal() and int(name) <= LARGEST:
        return int(name)
    number = int(name, 16) if re.fullmatch("[0-9a-f]+", name) else int(name.encode().hex(), 16)
    return number % LARGEST + 1


def read(scenario: "Scenario", _exit_code: int, text: str) -> Answer:
    """The last line, `cost [time]`; a cost of Inf asks irace to reject the configuration.

    Under irace's capping the cost is the running time, and one of the bound or more is a timeout,
    whatever penalty the runner puts on it.
    """
    answer, metric = read_line(text), scenario.metric
    cost = answer.value
    if cost is None or not (scenario.target.bound and metric.timed and metric.clock == "reported"):
        return answer
    if metric.cutoff is not None and cost >= metric.cutoff:
        return Answer(status=Status.TIMEOUT, value=cost, time=metric.cutoff)
    return Answer(status=Status.SOLVED, value=cost, time=cost)


def read_line(text: str) -> Answer:
    """What the last line says."""
    lines = [line.split() for line in text.splitlines() if line.strip()]
    words = lines[-1] if lines else []
    if not 1 <= len(words) <= 2:
        return Answer(status=Status.CRASHED, detail="no answer: the last line is not 'cost [time]'")
    if words[0].lower().lstrip("+") in ("inf", "infinity"):
        return Answer(status=Status.CRASHED, detail="the target says Inf")
    cost, *rest = (reported_number(word) for word in words)
    time = rest[0] if rest else None
    if cost is None or (rest and (time is None or time < 0)):
        return Answer(
            status=Status.CRASHED, detail=f"no answer: cannot read {' '.join(words)[:80]!r}"
        )
    return Answer(status=Status.SOLVED, value=cost, time=time)


KIND = Kind(call=call, read=read, style="--name value", failing=True)
