"""`kind = "irace"`: a target-runner, which prints `cost [time]` when called as
`runner configuration number seed instance [bound] --name value …`.

irace has a shell make arguments of the line, so an instance that is no file is split at its blanks,
unless the target is to have it `whole`.
"""

from truecost.running.targets import Calling, Kind, Report, TargetAnswer
from truecost.running.wrapper_answer import reported_number
from truecost.runs import Status
from truecost.space.space import shell_words

# Of integers in R and in most runners.
LARGEST = 2**31 - 1


def call_irace(call: Calling) -> list[str]:
    """The words irace gives a runner."""
    bound = [call.cutoff_text] if call.target.bound else []
    # Runners may take the identifier for an integer, as it always is in irace; a log's own label
    # is one.
    name = call.configuration.label or str(int(call.configuration.name, 16) % LARGEST + 1)
    instance = call.instance
    split = not (instance.is_file or call.target.whole)
    instance_words = shell_words(instance.argument) if split else [instance.argument]
    words = [name, str(call.number), str(call.seed), *instance_words, *bound]
    return [*call.command, *words, *([] if call.target.whole else call.arguments())]


def read_irace(report: Report) -> TargetAnswer:
    """The last line, `cost [time]`; a cost of Inf is irace's word for a configuration to reject.

    Under irace's capping the cost is the running time, and one of the bound or more is a timeout,
    whatever penalty the runner puts on it.
    """
    answer = read_answer(report.text)
    cost, metric = answer.value, report.metric
    if cost is None or not (report.bound and metric.timed and metric.clock == "reported"):
        return answer
    if metric.cutoff is not None and cost >= metric.cutoff:
        return TargetAnswer(status=Status.TIMEOUT, value=cost, time=metric.cutoff)
    return TargetAnswer(status=Status.SOLVED, value=cost, time=cost)


def read_answer(text: str) -> TargetAnswer:
    """What the last line says."""
    lines = [line.split() for line in text.splitlines() if line.strip()]
    words = lines[-1] if lines else []
    if not 1 <= len(words) <= 2:
        detail = "no answer: expected the last line to be 'cost [time]'"
        return TargetAnswer(status=Status.CRASHED, detail=detail)
    if words[0].lower().lstrip("+") in ("inf", "infinity"):
        return TargetAnswer(status=Status.CRASHED, detail="the target says Inf")
    cost, *rest = (reported_number(word) for word in words)
    time = rest[0] if rest else None
    if cost is None or (rest and (time is None or time < 0)):
        detail = f"no answer: cannot read {' '.join(words)[:80]!r}"
        return TargetAnswer(status=Status.CRASHED, detail=detail)
    return TargetAnswer(status=Status.SOLVED, value=cost, time=time)


KIND = Kind(
    call=call_irace,
    read=read_irace,
    style="--name value",
    switches=True,
    failing=True,
)
