"""irace on a target: R asks for costs through a socket (`irace.R`)."""

import socket
import subprocess
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import ConfigSpace

from bench.runs import Counter, Returned, Runnable
from bench.targets import TRAINING
from truecost.space.space import Configuration, Space


class Irace:
    """A space as irace's files: parameters p0, p1, …, categories c0, c1, …"""

    def __init__(self, space: Space) -> None:
        self.space = space
        self.parameters: list[Any] = [space.configspace[name] for name in space.parameters]
        self._word = {name: f"p{place}" for place, name in enumerate(self.space.parameters)}

    def write(self, folder: Path) -> None:
        """irace's files: parameters, the default, what is forbidden."""
        conditions = self.space.configspace.parent_conditions_of
        lines = []
        for parameter in self.parameters:
            active = " & ".join(self._condition(each) for each in conditions[parameter.name])
            lines.append(
                f'{self._word[parameter.name]} "" {self._domain(parameter)}'
                + (f" | {active}" if active else "")
            )
        (folder / "parameters.txt").write_text("\n".join(lines) + "\n")
        default = self.space.default().values
        words = [
            self._written(each, default[each.name]) if each.name in default else "NA"
            for each in self.parameters
        ]
        (folder / "default.txt").write_text(
            " ".join(self._word.values()) + "\n" + " ".join(words) + "\n"
        )
        if clauses := self.space.configspace.forbidden_clauses:
            (folder / "forbidden.txt").write_text(
                "\n".join(self._clause(each) for each in clauses) + "\n"
            )

    def read(self, words: list[str]) -> Configuration:
        """The configuration that irace means."""
        values = {}
        for parameter, word in zip(self.parameters, words, strict=True):
            if word != "NA":
                values[parameter.name] = self._read(parameter, word)
        return Configuration.of(values)

    def _domain(self, parameter: Any) -> str:
        if isinstance(parameter, ConfigSpace.CategoricalHyperparameter):
            return "c (" + ", ".join(f'"c{place}"' for place in range(len(parameter.choices))) + ")"
        kind = "i" if isinstance(parameter, ConfigSpace.UniformIntegerHyperparameter) else "r"
        return f"{kind}{',log' if parameter.log else ''} ({parameter.lower}, {parameter.upper})"

    def _written(self, parameter: Any, value: Any) -> str:
        if isinstance(parameter, ConfigSpace.CategoricalHyperparameter):
            return f'"c{list(parameter.choices).index(value)}"'
        return repr(value)

    def _read(self, parameter: Any, word: str) -> Any:
        if isinstance(parameter, ConfigSpace.CategoricalHyperparameter):
            return parameter.choices[int(word[1:])]
        return (
            int(float(word))
            if isinstance(parameter, ConfigSpace.UniformIntegerHyperparameter)
            else float(word)
        )

    def _condition(self, condition: Any) -> str:
        match condition:
            case ConfigSpace.AndConjunction():
                return (
                    "(" + " & ".join(self._condition(each) for each in condition.components) + ")"
                )
            case ConfigSpace.OrConjunction():
                return (
                    "(" + " | ".join(self._condition(each) for each in condition.components) + ")"
                )
            case ConfigSpace.InCondition():
                values = ", ".join(
                    self._written(condition.parent, each) for each in condition.values
                )
                return f"({self._word[condition.parent.name]} %in% c({values}))"
            case ConfigSpace.EqualsCondition():
                return f"({self._word[condition.parent.name]} == {self._written(condition.parent, condition.value)})"
        sign = {"NotEqualsCondition": "!=", "LessThanCondition": "<", "GreaterThanCondition": ">"}[
            type(condition).__name__
        ]
        return f"({self._word[condition.parent.name]} {sign} {self._written(condition.parent, condition.value)})"

    def _clause(self, clause: Any) -> str:
        if isinstance(clause, ConfigSpace.ForbiddenAndConjunction):
            return " & ".join(self._clause(each) for each in clause.components)
        if isinstance(clause, ConfigSpace.ForbiddenEqualsClause):
            word = self._written(clause.hyperparameter, clause.value)
            return f"({self._word[clause.hyperparameter.name]} == {word})"
        values = ", ".join(self._written(clause.hyperparameter, each) for each in clause.values)
        return f"({self._word[clause.hyperparameter.name]} %in% c({values}))"


def by_irace(
    target: Runnable, budget: int, seed: int, *, test: str = "t-test", instances: int = TRAINING
) -> Returned | None:
    """None where irace refuses: its first iterations need more runs than there are."""
    cost, start, words = Counter(target), time.perf_counter(), Irace(target.space)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        words.write(folder)
        server = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        server.settimeout(1.0)
        script = Path(__file__).with_name("irace.R")
        command = [
            "Rscript",
            str(script),
            str(server.getsockname()[1]),
            str(folder),
            str(instances),
            str(budget),
            str(seed + 1),
            test,
        ]
        log = stack.enter_context((folder / "log").open("w+"))
        process = stack.enter_context(
            subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        )
        while True:
            try:
                line = server.accept()[0].makefile("rw")
                break
            except TimeoutError:
                if process.poll() is not None:
                    raise SystemExit(
                        f"irace did not start: {(folder / 'log').read_text()[-500:]}"
                    ) from None
        best = None
        for request in line:
            kind, *rest = request.rstrip("\n").split("\t")
            if kind == "best":
                best = words.read(rest)
                print(0, file=line, flush=True)
                break
            value = cost(words.read(rest[2:]), int(rest[0]) - 1, int(rest[1]))
            print(repr(value), file=line, flush=True)
        line.close()
        process.wait()
        if best is None:
            text = (folder / "log").read_text()
            if "Insufficient budget" not in text:
                raise SystemExit(f"irace ended: {text[-800:]}")
            return None
    return Returned(
        configuration=best, seconds=time.perf_counter() - start - cost.seconds, runs=cost.runs
    )
