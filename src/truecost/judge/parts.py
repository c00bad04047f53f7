"""An assessment as plain data: what every `--json` prints, from one table of parts."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, fields, is_dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from truecost.errors import Refusal
from truecost.matrix import CostMatrix
from truecost.runs import status_counts

if TYPE_CHECKING:
    from truecost.judge.assessment import Assessment

Audited = Literal[
    "certificate",
    "comparison",
    "statements",
    "refusals",
    "shown_better",
    "approximate",
    "optimism",
    "noise",
    "over_tuning",
    "families",
    "whole_list",
    "non_inferiority",
    "realised",
    "folds",
]
Part = Literal[Audited, "configurations", "bounds", "outlook"]
AUDITED: Final[tuple[Audited, ...]] = get_args(Audited)

# Properties of records that stand beside their fields.
PROPERTIES: Final[Mapping[str, tuple[str, ...]]] = {
    "Alike": ("significant",),
    "Change": ("names",),
    "FamilyResult": ("grade",),
    "NestedComponents": ("between",),
    "Scope": ("phrase",),
    "Statement": ("grade",),
}
# What a comparison has, in this order.
COMPARED: Final = (
    "configuration",
    "default",
    "observed",
    "lowest",
    "highest",
    "lower",
    "upper",
    "on",
    "instances",
    "gains",
    "losses",
    "configurations",
    "method",
    "condition",
    "assumptions",
    "deciding",
    "survives",
    "reason",
    "grade",
)


def plain_data(value: Any) -> Any:
    """A value with dictionaries in the place of records: of their fields and `PROPERTIES`."""
    if isinstance(value, Mapping):
        return {key: plain_data(item) for key, item in value.items()}
    names = getattr(value, "_fields", None)
    if names is None and is_dataclass(value):
        names = [field.name for field in fields(value)]
    if names is not None:
        names = (*names, *PROPERTIES.get(type(value).__name__, ()))
        return {name: plain_data(getattr(value, name)) for name in names}
    return type(value)(map(plain_data, value)) if isinstance(value, list | tuple) else value


def as_plain(assessment: "Assessment", *parts: Part) -> dict[str, Any]:
    """Who, what it costs, and the parts asked for."""
    log, trajectory, default = assessment.log, assessment.trajectory, assessment.default
    size = size_of(log.matrix)
    about = {
        "runs": {
            "kind": log.kind,
            **size,
            "missing_runs": log.matrix.costs.size - size["runs"],
            "utility": log.utility,
            "maximised": trajectory.maximised,
            "left_out": log.left_out,
            "notes": list(log.notes),
        },
        "chosen": {
            name: getattr(trajectory, name) for name in ("tool", "proposed", "raced", "unfinished")
        },
        "asked": assessment.question,
        "scope": assessment.scope,
        "incumbent": _entry(assessment, assessment.incumbent),
        "default": None if default is None else _entry(assessment, default),
    }
    return dict(plain_data(about | {part: PARTS[part](assessment) for part in parts}))


def size_of(matrix: CostMatrix) -> dict[str, Any]:
    """How many runs a matrix has, how they ended, and the range of costs."""
    configurations, instances, most = matrix.shape
    return {
        "configurations": configurations,
        "instances": instances,
        "runs": int(matrix.counts().sum()),
        "runs_per_cell": most,
        "low": matrix.low,
        "high": matrix.high,
        "statuses": None if matrix.statuses is None else status_counts(matrix.statuses),
    }


def _entry(assessment: "Assessment", name: str) -> dict[str, Any]:
    if name in assessment.tested:
        source = "test runs"
    elif name == assessment.default and name != assessment.incumbent:
        source = "training runs"
    else:
        source = assessment.optimism.source
    return {
        **_counted(assessment, assessment.matrix.configurations.index(name)),
        "true_cost": assessment.true_cost(name),
        "true_cost_from": source,
        "parameters": assessment.log.parameters.get(name, {}),
        "arguments": assessment.log.arguments(name),
    }


def _counted(assessment: "Assessment", place: int) -> dict[str, Any]:
    costs = assessment.costs
    return {
        "configuration": assessment.matrix.configurations[place],
        "training_cost": float(costs.training[place]),
        "training_cost_at_least": float(costs.lowest[place]),
        "standard_error": float(costs.standard_error[place]),
        "runs": int(costs.runs[place]),
        "instances": int(costs.instances[place]),
        "censored": int(assessment.censored[place]),
    }


def _configurations(assessment: "Assessment") -> list[dict[str, Any]]:
    costs = assessment.costs
    return [
        {
            **_counted(assessment, place),
            "rank": rank if costs.ranked[place] else None,
            "within": float(costs.components.within[place]),
            "across": float(costs.components.across[place]),
            "total": float(costs.components.total[place]),
            "not_solved": float(assessment.failed[place]) if assessment.failed_known else None,
        }
        for rank, place in enumerate(costs.order.tolist(), 1)
    ]


def _certificate(assessment: "Assessment") -> Any:
    if assessment.certificate is None:
        return {"reason": assessment.no_certificate}
    return {**asdict(assessment.certificate), "width": assessment.beside.width}


def _comparison(assessment: "Assessment") -> Any:
    comparison = assessment.comparison
    return comparison and {name: getattr(comparison, name) for name in COMPARED}


def _noise(assessment: "Assessment") -> Any:
    further = {"spread": assessment.spread, "heaviest": assessment.beside.heaviest}
    return asdict(assessment.noise) | further


def _outlook(assessment: "Assessment") -> Any:
    outlook = assessment.outlook
    plan: Any = outlook.plan
    if not isinstance(plan, Refusal):
        plan = {name: getattr(plan, name) for name in ("instances", "runs", "standard_error")}
    return {
        "plan": plan,
        "reach": [{"show": item.what, **asdict(item.forecast)} for item in outlook.reach],
        "assumed": outlook.assumed,
        "tell_apart": outlook.apart,
    }


def _families(assessment: "Assessment") -> Any:
    families, beside = assessment.log.matrix.families, assessment.beside
    return {
        "number": None if families is None else len(set(families)),
        "likeness": beside.likeness,
        "components": beside.components,
        "results": beside.family_results,
    }


PARTS: Final[Mapping[str, Callable[["Assessment"], Any]]] = {
    "configurations": _configurations,
    "certificate": _certificate,
    "comparison": _comparison,
    "optimism": lambda assessment: (
        asdict(assessment.optimism) | {"expected_difference": assessment.beside.expected_difference}
    ),
    "noise": _noise,
    "outlook": _outlook,
    "families": _families,
    # What all of a benchmark will show is no verdict: it has no grade.
    "realised": lambda assessment: [asdict(statement) for statement in assessment.beside.realised],
    **{
        name: attrgetter(name)
        for name in ("statements", "refusals", "approximate", "over_tuning", "bounds")
    },
    **{
        name: attrgetter(f"beside.{name}")
        for name in ("shown_better", "whole_list", "non_inferiority", "folds")
    },
}
