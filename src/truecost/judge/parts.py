"""An assessment as plain data: what every `--json` prints, from one table of parts."""

from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from truecost.judge.refusal import Refusal
from truecost.judge.statements import Comparison
from truecost.runs import Status

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


def as_plain(assessment: "Assessment", *parts: Part) -> dict[str, Any]:
    """Who, what it costs, and the parts asked for."""
    matrix, trajectory = assessment.log.matrix, assessment.trajectory
    configurations, instances, runs_per_cell = matrix.shape
    runs = int(assessment.costs.runs.sum())
    statuses = None
    if matrix.statuses is not None:
        statuses = {status.label: int((matrix.statuses == status).sum()) for status in Status}
    default = assessment.default
    return {
        "runs": {
            "kind": assessment.log.kind,
            "configurations": configurations,
            "instances": instances,
            "runs_per_cell": runs_per_cell,
            "runs": runs,
            "missing_runs": matrix.costs.size - runs,
            "low": matrix.low,
            "high": matrix.high,
            "utility": assessment.log.utility,
            "maximised": trajectory.maximised,
            "statuses": statuses,
            "left_out": dict(assessment.log.left_out),
            "notes": list(assessment.log.notes),
        },
        "chosen": {
            "tool": trajectory.tool,
            "proposed": trajectory.proposed,
            "raced": trajectory.raced,
            "unfinished": trajectory.unfinished,
        },
        "asked": asdict(assessment.question),
        "scope": {**asdict(assessment.scope), "phrase": assessment.scope.phrase},
        "incumbent": _entry(assessment, assessment.incumbent),
        "default": None if default is None else _entry(assessment, default),
    } | {part: PARTS[part](assessment) for part in parts}


def _entry(assessment: "Assessment", name: str) -> dict[str, Any]:
    return {
        **_counted(assessment, assessment.matrix.configurations.index(name)),
        "true_cost": assessment.true_cost(name),
        "true_cost_from": _source(assessment, name),
        "parameters": dict(assessment.log.parameters.get(name, {})),
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


def _source(assessment: "Assessment", name: str) -> str:
    if name in assessment.tested:
        return "test runs"
    if name == assessment.default and name != assessment.incumbent:
        return "training runs"
    return assessment.optimism.source


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


def _certificate(assessment: "Assessment") -> dict[str, Any]:
    certificate, width = assessment.certificate, assessment.beside.width
    if certificate is None:
        return {"reason": assessment.no_certificate}
    return {**asdict(certificate), "width": None if width is None else asdict(width)}


def _comparison(assessment: "Assessment") -> dict[str, Any] | None:
    comparison: Comparison | None = assessment.comparison
    if comparison is None:
        return None
    return {name: getattr(comparison, name) for name in COMPARED} | {
        "deciding": [contribution._asdict() for contribution in comparison.deciding]
    }


def _statements(assessment: "Assessment") -> list[dict[str, Any]]:
    return [{**asdict(line), "grade": line.grade} for line in assessment.statements]


def _noise(assessment: "Assessment") -> dict[str, Any]:
    heaviest = assessment.beside.heaviest
    return {
        **asdict(assessment.noise),
        "spread": asdict(assessment.spread),
        "heaviest": None if heaviest is None else heaviest._asdict(),
    }


def _over_tuning(assessment: "Assessment") -> dict[str, Any]:
    along = [point._asdict() for point in assessment.over_tuning.along]
    return asdict(assessment.over_tuning) | {"along": along}


def _outlook(assessment: "Assessment") -> dict[str, Any]:
    outlook = assessment.outlook
    plan: dict[str, Any] = (
        {"reason": outlook.plan.reason}
        if isinstance(outlook.plan, Refusal)
        else {name: getattr(outlook.plan, name) for name in ("instances", "runs", "standard_error")}
    )
    return {
        "plan": plan,
        "reach": [{"show": item.what, **asdict(item.forecast)} for item in outlook.reach],
        "assumed": [needed._asdict() for needed in outlook.assumed],
        "tell_apart": None if outlook.apart is None else asdict(outlook.apart),
    }


def _families(assessment: "Assessment") -> dict[str, Any]:
    alike, families = assessment.beside.likeness, assessment.log.matrix.families
    nested = assessment.beside.components
    return {
        "number": None if families is None else len(set(families)),
        "likeness": None if alike is None else {**asdict(alike), "significant": alike.significant},
        "components": None if nested is None else {**asdict(nested), "between": nested.between},
        "results": [
            {**asdict(result), "grade": result.grade} for result in assessment.beside.family_results
        ],
    }


def _or_none(record: Any) -> dict[str, Any] | None:
    return None if record is None else asdict(record)


PARTS: Final[dict[Part, Callable[["Assessment"], Any]]] = {
    "configurations": _configurations,
    "certificate": _certificate,
    "comparison": _comparison,
    "statements": _statements,
    "refusals": lambda assessment: dict(assessment.refusals),
    "approximate": lambda assessment: [asdict(interval) for interval in assessment.approximate],
    "optimism": lambda assessment: (
        asdict(assessment.optimism) | {"expected_difference": assessment.beside.expected_difference}
    ),
    "noise": _noise,
    "over_tuning": _over_tuning,
    "bounds": lambda assessment: asdict(assessment.bounds),
    "outlook": _outlook,
    "families": _families,
    "shown_better": lambda assessment: {
        name: dict(limits) for name, limits in assessment.beside.shown_better.items()
    },
    "whole_list": lambda assessment: asdict(assessment.beside.whole_list),
    "non_inferiority": lambda assessment: _or_none(assessment.beside.non_inferiority),
    "realised": lambda assessment: [asdict(statement) for statement in assessment.beside.realised],
    "folds": lambda assessment: _or_none(assessment.beside.folds),
}
