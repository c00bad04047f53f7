"""The keys of every command's JSON: what each is called, its type and its meaning."""

from functools import cache
from typing import Annotated, Any, get_type_hints

from pydantic import Field

from truecost.cli.records import Bare, Numbers, Table, keys, record, typed


def _assessed() -> dict[str, Any]:
    """The keys that everything about runs begins with."""
    from truecost.judge.question import Question
    from truecost.judge.scope import Scope

    counted: dict[str, Any] = {
        "configuration": (str, "Its name."),
        "training_cost": (float, "The mean of its instance means."),
        "training_cost_at_least": (float, "The same with censored runs at their caps."),
        "standard_error": (float, "Of the training cost."),
        "runs": (int, "How many runs it has."),
        "instances": (int, "On how many instances."),
        "censored": (int, "How many of its runs are censored."),
    }
    entry = keys(
        "Configuration",
        **counted,
        true_cost=(float, "The estimated cost on new instances; null if unknown."),
        true_cost_from=(str, "Where that comes from: test runs, splits, training runs, unknown."),
        parameters=(dict[str, Any], "Its parameters, where the log has them."),
    )
    return {
        "runs": keys("Runs", **_runs()),
        "chosen": keys(
            "Origin",
            tool=(str, "What proposed the configurations."),
            proposed=(str, "beforehand, adaptively or unknown."),
            raced=(bool | None, "Whether the number of runs depended on observed costs."),
            unfinished=(bool, "Whether runs are still being made."),
        ),
        "asked": record(Question),
        "scope": record(Scope, "phrase"),
        "incumbent": entry,
        "default": entry | None,
        "configurations": list[  # type: ignore[misc]
            keys(
                "ConfigurationRow",
                **counted,
                rank=(int | None, "By training cost; null where it cannot be ranked."),
                within=(float, "Variance between runs on one instance."),
                across=(float, "Variance between instances."),
                total=(float, "Their sum."),
                not_solved=(float | None, "The share of its runs that are not solved."),
            )
        ],
    }


def _runs() -> dict[str, Any]:
    return {
        "kind": (str, "What was read: smac, irace, table, matrix, journal, …"),
        "configurations": (int, "How many."),
        "instances": (int, "How many."),
        "runs_per_cell": (int, "The most runs of a configuration on an instance."),
        "runs": (int, "How many in all."),
        "missing_runs": (int, "How many cells have no run, counted in runs."),
        "low": (float, "The least cost the metric allows; null if unknown."),
        "high": (float, "The largest cost the metric allows; null if unknown."),
        "utility": (str | None, "Where costs are 1 − utility: which."),
        "maximised": (bool, "Whether costs are minus a score: every cost here is, limits too."),
        "statuses": (dict[str, int] | None, "How many runs have each status."),
        "left_out": (dict[str, int], "How many runs were left out, by reason."),
        "notes": (list[str], "What was assumed or changed on the way."),
    }


def _parts() -> dict[str, Any]:
    """The parts of an assessment."""
    from truecost.judge import noise, optimism
    from truecost.judge.bounds import PaperBounds
    from truecost.judge.families import FamilyResult
    from truecost.judge.margin import NonInferiority
    from truecost.judge.parts import COMPARED
    from truecost.judge.statements import Certificate, Comparison, Contribution, Statement
    from truecost.judge.whole_list import WholeList
    from truecost.plan.power import Power
    from truecost.stats.approximate import Approximate
    from truecost.stats.folds import FoldInterval
    from truecost.stats.forecast import Forecast, Width
    from truecost.stats.grouping import Alike, NestedComponents

    refusal = keys("Refusal", reason=(str, "Why there is none."))
    assumed = keys(
        "Assumed",
        show=(str, "The statement."),
        effect=(float, "Its true value: cheaper by this share, or this share of runs won."),
        instances=(int | None, "New instances that would show it."),
    )
    compared = {name: get_type_hints(Comparison).get(name) for name in COMPARED}
    own = {name: kind for name, kind in compared.items() if kind is not None}
    others = [name for name in COMPARED if name not in own and name != "deciding"]
    comparison = record(
        Bare(Comparison),
        *others,
        title="Comparison",
        **own,
        deciding=list[record(Contribution)],  # type: ignore[misc]
    )
    return {
        "certificate": record(Certificate, width=record(Width) | None) | refusal,
        "comparison": comparison | None,
        "statements": list[record(Statement, "grade")],  # type: ignore[misc]
        "refusals": dict[str, str],
        "shown_better": dict[str, dict[str, float]],
        "families": keys(
            "Families",
            number=(int | None, "How many there are; null where none are known."),
            likeness=(record(Alike, "significant") | None, "Whether instances of one are alike."),
            components=(record(NestedComponents, "between") | None, "Variances by level."),
            results=(list[record(FamilyResult, "grade")], "Family by family."),  # type: ignore[misc]
        ),
        "whole_list": record(WholeList) | refusal,
        "non_inferiority": record(NonInferiority) | refusal | None,
        "realised": list[record(Statement, title="Realised")],  # type: ignore[misc]
        "folds": record(FoldInterval) | refusal | None,
        "approximate": list[record(Approximate)],  # type: ignore[misc]
        "optimism": record(
            optimism.Optimism,
            expected_difference=Annotated[
                float | None,
                Field(description="The difference to the default, corrected for the choice."),
            ],
        ),
        "noise": record(
            noise.Noise,
            spread=record(noise.Spread),
            heaviest=record(noise.Heaviest) | None,
        ),
        "over_tuning": record(optimism.OverTuning, along=list[record(optimism.Point)]),  # type: ignore[misc]
        "bounds": record(PaperBounds) | refusal,
        "outlook": keys(
            "Outlook",
            plan=(
                keys(
                    "PlanInShort",
                    instances=(int, "On how many instances."),
                    runs=(int, "How many runs in all."),
                    standard_error=(float, "Which they have."),
                )
                | refusal,
                "Runs that halve the standard error.",
            ),
            reach=(
                list[record(Forecast, show=str)],  # type: ignore[misc]
                "New instances that would show a statement; `show` names it.",
            ),
            assumed=(
                list[assumed],  # type: ignore[valid-type]
                "Where the runs selected the configuration: what several true values would take.",
            ),
            tell_apart=(record(Power) | None, "Runs that tell it from the default."),
        ),
    }


def _campaigns() -> dict[str, dict[str, Any]]:
    """What gather, configure and validate add."""
    from truecost.campaigns.configure import Configured
    from truecost.campaigns.gather import GatherForecast
    from truecost.journal.validationlog import Stop
    from truecost.runs import Machine

    stop = record(Stop)
    journal = keys(
        "Journal",
        journal=(str, "The file."),
        kind=(str, "gather, configure or validate."),
        scenario=(str | None, "The name of the scenario."),
        design=(list[int] | None, "Configurations, instances and runs of the design."),
        planned_runs=(int, "Their product."),
        runs=(int, "How many runs were made."),
        ahead=(int, "How many of them do not count yet."),
        statuses=(dict[str, int], "How many runs have each status."),
        stopped=(stop | None, "Where and why a validation ended."),
        cpu=(float, "CPU seconds of all runs."),
        machines=(list[record(Machine, conditions=dict[str, Any])], "Where they were made."),  # type: ignore[misc]
        doubts=(list[str], "What looks wrong."),
    )
    counted = {"counted": Annotated[bool, Field(description="Whether runs count already.")]}
    proposal = keys("Proposal", name=(str, "Its name."), values=(dict[str, Any], "Its parameters."))
    budget = keys("Budget", amount=(float, "How much."), unit=(str, "runs or seconds."))
    search = record(
        Configured,
        title="Search",
        incumbent=proposal,
        recommended=proposal,
        default=proposal,
        budget=budget,
        assessment=None,
    )
    validation = record(
        Stop,
        title="Validation",
        all_runs=int,
        cpu=float,
        spent=float,
        fresh_instances=int,
        left_out_instances=int,
        shown=bool,
        notes=list[str],
    )
    return {
        "gather": journal.__annotations__,
        "gather --dry-run": record(GatherForecast).__annotations__,
        "info": {"journal": typed("JournalNow", journal.__annotations__ | counted)},
        "configure": {
            "journal": str,
            "search": typed(
                "Search",
                {key: kind for key, kind in search.__annotations__.items() if key != "assessment"},
            ),
        },
        "validate": {"journal": str, "report": str, "validation": validation},
        "watch": _watch(),
    }


def _watch() -> dict[str, Any]:
    """A snapshot of a campaign; which keys there are depends on its kind."""
    step = keys(
        "IncumbentStep",
        runs=(int | None, "After how many runs."),
        configuration=(str, "Its name."),
        training_cost=(float | None, "Of all its runs so far."),
    )
    point = keys(
        "LimitPoint",
        instances=(int, "After how many instances."),
        limit=(float, "Valid at every look."),
        observed=(float, "The quantity in the runs."),
    )
    snapshot: dict[str, Any] = keys(
        "Watched",
        kind=(str, "gather, configure, validate or explain."),
        scenario=(str | None, "The name of the scenario."),
        runs=(int, "How many runs were made."),
        outcomes=(dict[str, int], "How many runs have each status."),
        last_run=(str | None, "When the last run ended."),
        runs_per_minute=(float | None, "Between the first and the last run."),
        share=(float | None, "Of plan or budget that is done."),
        planned=(float | None, "How many runs are planned."),
        size=(list[int], "Configurations, instances and runs of the plan."),
        filled=(list[list[float]], "The share of runs made, by blocks of the matrix."),
        configurations=(int, "How many were proposed."),
        sources=(dict[str, int], "How many proposals come from where."),
        incumbents=(list[step], "Incumbents over time."),  # type: ignore[valid-type]
        default=(str | None, "The default configuration."),
        default_cost=(float | None, "Its mean training cost."),
        quantity=(str, "What decides a validation."),
        side=(str, "lower or upper: which limit decides."),
        threshold=(float, "What that limit has to pass."),
        margin=(str | None, "The margin that was asked for."),
        delta=(float, "The error probability."),
        sampled=(str, "instance or family."),
        planned_units=(int, "For how many of these limits are planned."),
        stopped=(str | None, "Why it stopped."),
        instances=(int, "How many instances both have runs on."),
        limits=(list[point], "The limit after each look."),  # type: ignore[valid-type]
        chance=(float | None, "A forecast: the chance to show it with what is planned."),
    ).__annotations__
    return snapshot


def _scenarios() -> dict[str, dict[str, Any]]:
    scenario = {
        "name": str,
        "title": str,
        "solver": str,
        "licence": str,
        "sizes": dict[str, keys("Size", what=(str, ""), instances=(int, ""), cutoff=(float, ""))],  # type: ignore[misc]
    }
    return {
        "scenario list": {"scenarios": list[typed("Scenario", scenario)]},  # type: ignore[misc]
        "scenario show": {**scenario, "parameters": int},
        "scenario export": {"name": str, "size": str, "seed": int, "scenario": str},
        "scenario from-log": {"scenario": str, "fill_in": bool},
    }


def _experiments() -> dict[str, dict[str, Any]]:
    from truecost.paper.claims import Claim
    from truecost.paper.fit import Fit

    sweep = {
        "kind": str,
        "seed": int,
        "splits": int,
        "train": int,
        "test_instances": int,
        "common_seeds": bool,
        "values": Numbers,
        **dict.fromkeys(("uniform", "selection", "training", "test"), Numbers),
        "standard_errors": dict[str, Numbers],
        "levels": Numbers,
        "quantiles": dict[str, Any],
        "bounds": dict[str, Any],
        "delta": float,
        "caveat": str,
        "fits": dict[str, record(Fit)],  # type: ignore[misc]
    }
    replay = {
        "rules": list[str],
        "budgets": Numbers,
        "repetitions": int,
        "seed": int,
        "cutoff": float | None,
        "regret": list[Numbers],
        "standard_error": list[Numbers],
        "best_fixed": list[str],
        "ours_minus": dict[str, dict[str, Numbers]],
        "certificates_missed": list[int],
        "delta": float,
    }
    reproduction = keys(
        "Reproduction",
        splits=(int, ""),
        seed=(int, ""),
        claims=(list[record(Claim)], "Each claim of the paper, and whether it holds."),  # type: ignore[misc]
        page=(str, "results.md."),
        files=(list[str], "Everything that was written."),
        kept=(list[str], "What was there from an earlier call."),
    )
    return {
        "experiment estimators": {"seed": int, "splits": int, "exact": Table, "simulated": Table},
        **{f"experiment {letter}": sweep for letter in ("m", "n", "k")},
        "experiment configure": replay,
        "reproduce": {"matrices": dict[str, reproduction]},  # type: ignore[valid-type]
    }


def _import() -> dict[str, Any]:
    size = {
        name: kind
        for name, kind in keys("Size", **_runs()).__annotations__.items()
        if name not in ("kind", "missing_runs", "utility", "maximised", "left_out", "notes")
    }
    trajectory = keys(
        "Trajectory",
        tool=(str, "What proposed the configurations."),
        proposed=(str, "beforehand, adaptively or unknown."),
        raced=(bool | None, "Whether the number of runs depended on observed costs."),
        default=(str | None, "The default configuration."),
        incumbent=(str | None, "What the tool took for the best."),
        steps=(Table, "Incumbents over time."),
    )
    return {
        "kind": str,
        **size,
        "utility": str | None,
        "test": typed("TestRuns", size) | None,
        "trajectory": trajectory,
        "columns": dict[str, str],
        "left_out": dict[str, int],
        "notes": list[str],
        "out": str | None,
        "test_out": str | None,
    }


def _plans() -> dict[str, Any]:
    from truecost.plan.power import Power
    from truecost.stats.forecast import Forecast

    choice = keys(
        "Choice",
        instances=(int, "K."),
        runs=(int, "N, of each configuration."),
        runs_per_instance=(float, "N / K."),
        configurations=(int, "m."),
        standard_error=(float, "Of the mean cost."),
        price=(float, "Of all runs and instances."),
        bound=(float | None, "ε, where one was asked for."),
        theorem=(str | None, "Where in the paper that stands."),
        cpu_hours=(float | None, "Of all runs, where a run's time is known."),
        classical_runs_per_instance=(float | None, "√(within/across × price ratio)."),
    )
    current = keys(
        "Current",
        runs=(int, "Of the pilot."),
        instances=(int, "Of the pilot."),
        standard_error=(float, "Which it has."),
        price=(float, "Of its runs."),
        even_standard_error=(float, "If the runs were spread evenly."),
        even_runs=(float, "Runs spread evenly with the same error."),
        variance_ratio=(float, "Variance relative to an even allocation."),
        same_price=(choice, "The best choice at the same price."),
        same_error=(choice | None, "The cheapest choice with the same error."),
    )
    plan = keys(
        "Plan",
        configuration=(str | None, "Whose variances."),
        within=(float, "Variance between runs on one instance."),
        across=(float, "Variance between instances."),
        total=(float, "Their sum."),
        within_error=(float, "Standard error of within."),
        across_error=(float, "Standard error of across."),
        goal=(str, "error, bound or budget."),
        target=(float, "What was asked for."),
        delta=(float, "The error probability."),
        price_run=(float, "Of a run."),
        price_instance=(float, "Of a new instance."),
        configurations=(int, "m."),
        instances=(int | None, "How many instances there are."),
        seconds_per_run=(float | None, "CPU seconds."),
        recommendation=(choice, "What to do."),
        curve=(dict[str, Any], "Other choices."),
        if_noisier=(choice | None, "The same if variances were a standard error higher."),
        current=(current | None, "What the pilot's allocation wastes."),
        guaranteed=(bool, "Whether the bound is."),
        caveat=(str, "Why not."),
        assumptions=(list[str], "What the bound needs."),
    )
    return {
        "plan": plan | record(Forecast, title="PlanToShow", show=str),
        "tell_apart": record(
            Power,
            title="TellApart",
            configurations=list[str] | None,
            observed_difference=float | None,
            observed_standard_error=float | None,
            within=float,
            across=float,
        ),
        "export": keys(
            "Export",
            kind=(str, "irace, paramils or smac."),
            file=(str | None, "Where it was written."),
            content=(str, "The schedule."),
            use=(list[str], "How to use it."),
        ),
    }


def _explain(answer: Any) -> dict[str, Any]:
    from truecost.campaigns.changes import Change
    from truecost.campaigns.explain import PathStep

    change = record(Change, names=list[str])
    costs = keys(
        "TrainingCosts",
        runs=(int, "Runs made for them."),
        default=(float, "Of the default."),
        incumbent=(float, "Of the incumbent."),
        simplified=(float, "Of the simplified configuration."),
    )
    simplified = keys(
        "Simplified", values=(dict[str, Any], "Its parameters."), arguments=(str, "To paste.")
    )
    return {
        "journal": str,
        "scenario": str,
        "complete": bool,
        "changes": list[change],  # type: ignore[valid-type]
        "kept": list[change],  # type: ignore[valid-type]
        "path": list[record(PathStep, changes=list[change])],  # type: ignore[misc,valid-type]
        "training": costs,
        "simplified": simplified,
        "held_out_instances": int,
        "costs_more_than_incumbent_at_most": float | None,
        "delta": float,
        "runs": int,
        "incumbent_against_default": answer | None,
        "simplified_against_incumbent": answer | None,
        "guess": list[record(Change, title="Guess", names=list[str], importance=float)],  # type: ignore[misc]
    }


def _search() -> Any:
    """One of several searches, as `report` lists them."""
    return keys(
        "SearchInShort",
        name=(str, "The log."),
        incumbent=(str, "Its incumbent."),
        runs=(int, "How many runs it made."),
        training_cost=(float, "Of the incumbent in its own log."),
        pooled_cost=(float, "Of the incumbent over the runs of all searches."),
        common_instances=(int, "On how many instances incumbents are compared."),
        difference=(float, "To the incumbent with the lowest cost."),
        standard_error=(float, "Of that difference."),
        by_chance=(bool | None, "Whether chance explains the difference."),
    )


@cache
def commands() -> dict[str, tuple[dict[str, Any], frozenset[str]]]:
    """The keys of every command with their types, and which of them may be missing."""
    from truecost.doctor import Finding
    from truecost.judge.assessment import AUDITED

    assessed, parts, campaigns = _assessed(), _parts(), _campaigns()
    rows = {"configurations": assessed.pop("configurations")}

    def about(*names: str) -> dict[str, Any]:
        # A part that is not described yet may be anything.
        return assessed | {name: parts.get(name, Any) for name in names}

    paper = {"bounds": parts["bounds"]}
    demo = about("certificate", "comparison", "statements", "optimism", "outlook")
    solver = typed("Solver", {"name": str, **demo, "better": bool, "report": str})
    compared = {"require": str | None, "met": bool, "grade": str, "primary": str}
    plans, optional = _plans(), frozenset(assessed)
    validated = campaigns["validate"] | about(*AUDITED)
    # Of several logs, one validation each.
    several = {"delta": float, "validations": list[typed("OneValidation", validated)]}  # type: ignore[misc]
    explained = _explain(typed("Compared", about("comparison", "statements")))
    return {
        "audit": (about(*AUDITED, "outlook"), frozenset()),
        "certify": (about("certificate"), frozenset()),
        "report": (
            about(*AUDITED, "outlook") | rows | paper | {"searches": list[_search()]},  # type: ignore[misc]
            frozenset({"searches"}),
        ),
        "info": (assessed | rows | campaigns["info"], optional | {*rows, "journal"}),
        "compare": (
            compared | about("comparison", "statements", "approximate", "non_inferiority"),
            frozenset(),
        ),
        "bound": (assessed | paper, optional),
        "plan": (assessed | plans, optional | frozenset(plans)),
        "gather": (
            campaigns["gather"] | campaigns["gather --dry-run"],
            frozenset(campaigns["gather"] | campaigns["gather --dry-run"]),
        ),
        "configure": (campaigns["configure"] | about(*AUDITED), frozenset()),
        "explain": (explained, frozenset(explained)),
        "validate": (validated | several, frozenset(validated | several)),
        "watch": (campaigns["watch"], frozenset(campaigns["watch"])),
        "import": (_import(), frozenset()),
        "demo": (
            {"matrices": list[solver], "claims": dict[str, dict[str, str]]},  # type: ignore[valid-type]
            frozenset(),
        ),
        "doctor": ({"findings": list[record(Finding)]}, frozenset()),  # type: ignore[misc]
        **{name: (kinds, frozenset()) for name, kinds in _scenarios().items()},
        **{
            name: (kinds, frozenset({"simulated"} & set(kinds)))
            for name, kinds in _experiments().items()
        },
    }
