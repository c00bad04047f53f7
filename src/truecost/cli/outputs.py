"""The keys of every command's JSON: what each is called, its type and its meaning.

`OBJECTS` describes objects that are no records, a line for each key: name, type, meaning. Types are
`str`, `int`, `float`, `bool`, `any`, `values` (an object of anything), or another object; `[int]` is
a list, `{int}` an object with such values, `int?` may be null, `Plan|Refusal` is one of two. `like X`
takes over the keys of X, `like X: a b` two of them.
"""

from functools import cache
from typing import Annotated, Any, get_type_hints

from pydantic import Field

from truecost.cli.records import Bare, record, typed

TYPES: dict[str, Any] = {
    "str": str,
    "int": int,
    "float": float,
    "bool": bool,
    "any": Any,
    "values": dict[str, Any],
}
OBJECTS = """
about
runs Runs What was read.
chosen Origin Where the configurations come from.
asked Question The question, as given.
scope Scope What was sampled, and what statements are about.
incumbent Configuration The configuration that is judged.
default Configuration? The configuration that it should be better than; null where none is known.

parts
certificate Certificate|Refusal What its mean cost does not exceed, or why that cannot be said.
comparison Comparison? The difference to the default in mean cost; null without a default.
statements [Statement] What is guaranteed beyond the mean.
refusals {str} Why other statements cannot be made, by their quantities.
shown_better {{float}} Every configuration of a list that is shown better, with its limits.
families Families Families of instances, and the results on each.
whole_list WholeList|Refusal Which configurations of a list may be the best, or why that cannot be said.
non_inferiority NonInferiority|Refusal? Whether it is shown to be at most the margin worse; null without one.
realised [Realised] For a benchmark of which a part was run: what all of it will show.
folds FoldInterval|Refusal? Of folds: the approximate interval; null where the units are others.
approximate [Approximate] Intervals without a guarantee.
optimism Optimism How much the training cost flatters it.
noise Noise Where the noise of its training cost comes from.
over_tuning OverTuning Whether an earlier incumbent was better.
bounds PaperBounds|Refusal The paper's bounds with estimated variances.
outlook Outlook What more runs would buy.
configurations [ConfigurationRow] All configurations, the lowest training cost first.

Refusal
reason str Why there is none.

Counted
configuration str Its name.
training_cost float The mean of its instance means.
training_cost_at_least float The same with censored runs at their caps.
standard_error float Of the training cost.
runs int How many runs it has.
instances int On how many instances.
censored int How many of its runs are censored.

Configuration
like Counted
true_cost float The estimated cost on new instances; null if unknown.
true_cost_from str Where that comes from: test runs, splits, training runs, unknown.
parameters values Its parameters, where the log has them.
arguments str The same as arguments to paste, with irace's own switches where the log has them.

ConfigurationRow
like Counted
rank int? By training cost; null where it cannot be ranked.
within float Variance between runs on one instance.
across float Variance between instances.
total float Their sum.
not_solved float? The share of its runs that are not solved.

Origin
like Trajectory: tool proposed raced
unfinished bool Whether runs are still being made.

Runs
kind str What was read: smac, irace, table, matrix, journal, …
configurations int How many.
instances int How many.
runs_per_cell int The most runs of a configuration on an instance.
runs int How many in all.
missing_runs int How many cells have no run, counted in runs.
low float The least cost the metric allows; null if unknown.
high float The largest cost the metric allows; null if unknown.
utility str? Where costs are 1 − utility: which.
maximised bool Whether costs are minus a score: every cost here is, limits too.
statuses {int}? How many runs have each status.
left_out {int} How many runs were left out, by reason.
notes [str] What was assumed or changed on the way.

Families
number int? How many there are; null where none are known.
likeness Alike? Whether instances of one are alike.
components NestedComponents? Variances by level.
results [FamilyResult] Family by family.

Assumed
show str The statement.
effect float Its true value: cheaper by this share, or this share of runs won.
instances int? New instances that would show it.

PlanInShort
instances int On how many instances.
runs int How many runs in all.
standard_error float Which they have.

Outlook
plan PlanInShort|Refusal Runs that halve the standard error.
reach [Forecast] New instances that would show a statement; `show` names it.
assumed [Assumed] Where the runs selected the configuration: what several true values would take.
tell_apart Power? Runs that tell it from the default.

Journal
journal str The file.
kind str gather, configure or validate.
scenario str? The name of the scenario.
design [int]? Configurations, instances and runs of the design.
planned_runs int Their product.
runs int How many runs were made.
ahead int How many of them do not count yet.
statuses {int} How many runs have each status.
stopped Stop? Where and why a validation ended.
cpu float CPU seconds of all runs.
machines [Machine] Where they were made.
doubts [str] What looks wrong.

JournalNow
like Journal
counted bool Whether runs count already.

Proposal
name str Its name.
values values Its parameters.

Budget
amount float How much.
unit str runs or seconds.

configured
journal str The journal.
search Search How the search went.

validated
journal str The journal.
report str The page that was written.
validation Validation How the validation went.
like about
like audited

validations
like risk
validations [OneValidation] Of several logs: a validation each, at the error probability `delta`.

OneValidation
like validated

IncumbentStep
runs int? After how many runs.
configuration str Its name.
training_cost float? Of all its runs so far.

LimitPoint
instances int After how many instances.
limit float Valid at every look.
observed float The quantity in the runs.

watched
kind str gather, configure, validate or explain.
scenario str? The name of the scenario.
runs int How many runs were made.
outcomes {int} How many runs have each status.
last_run str? When the last run ended.
runs_per_minute float? Between the first and the last run.
share float? Of plan or budget that is done.
planned float? How many runs are planned.
size [int] Configurations, instances and runs of the plan.
filled [[float]] The share of runs made, by blocks of the matrix.
configurations int How many were proposed.
sources {int} How many proposals come from where.
incumbents [IncumbentStep] Incumbents over time.
default str? The default configuration.
default_cost float? Its mean training cost.
quantity str What decides a validation.
side str lower or upper: which limit decides.
threshold float What that limit has to pass.
margin str? The margin that was asked for.
like risk
sampled str instance or family.
planned_units int For how many of these limits are planned.
stopped str? Why it stopped.
instances int How many instances both have runs on.
limits [LimitPoint] The limit after each look.
chance float? A forecast: the chance to show it with what is planned.

Size
what str
instances int
cutoff float

Scenario
name str Its name.
title str A line about it.
solver str What is run.
licence str Of the solver.
sizes {Size} Its sizes.

drawn
seed int The seed of every random number.
splits int How many random splits of the instances.

risk
delta float The error probability.

scenario list
scenarios [Scenario] The built-in scenarios.

scenario show
like Scenario
parameters int How many parameters it has.

scenario export
name str Its name.
size str The size that was written.
like drawn: seed
scenario str The scenario file.

scenario from-log
scenario str The scenario file.
fill_in bool Whether the target is still to be filled in.

experiment estimators
like drawn
exact [values] The exact mean squared error at each (estimator, K, N).

simulated
simulated [values] The same from random splits.

searches
searches [OneSearch] Several logs of one search, side by side.

info
journal JournalNow The journal.

experiment m
like import: kind
like drawn
train int How many training instances.
test_instances int How many test instances.
common_seeds bool Whether all configurations had the same order of runs.
values [float] The values of m, N or K.
uniform [float] The mean uniform error at each value.
selection [float] The mean selection error.
training [float] The mean training cost of the chosen.
test [float] Runs on test instances, or the mean test cost at each value.
standard_errors {[float]} Of these means.
levels [float] The levels of the quantiles.
quantiles values Of the errors, at each level.
bounds values The paper's bounds with estimated variances.
like risk
caveat str Why the bounds are no guarantee.
fits {Fit} The curves fitted to the errors.

experiment configure
rules [str] The rules that were replayed.
budgets [float] As shares of all runs.
repetitions int How often.
like drawn: seed
cutoff float? What a run is charged at most; null where runs are counted.
regret [[float]] The mean regret by budget and rule.
standard_error [[float]] Of the mean regret.
best_fixed [str] The best fixed number of runs at each budget.
ours_minus {{[float]}} Our regret minus that of each rule, with its standard error.
certificates_missed [int] How many certificates did not hold, at each budget.
like risk

Reproduction
splits int
seed int
claims [Claim] Each claim of the paper, and whether it holds.
page str results.md.
files [str] Everything that was written.
kept [str] What was there from an earlier call.

reproduce
matrices {Reproduction} The results on each matrix.

Trajectory
tool str What proposed the configurations.
proposed str beforehand, adaptively or unknown.
raced bool? Whether the number of runs depended on observed costs.
default str? The default configuration.
incumbent str? What the tool took for the best.
steps [values] Incumbents over time.

TestRuns
like Runs: configurations instances runs_per_cell runs low high statuses

import
kind str What was read, or which quantity is swept.
like TestRuns
like Runs: utility left_out notes
test TestRuns? Runs on test instances, or the mean test cost at each value.
trajectory Trajectory Where the configurations come from.
columns {str} Of a table: which column was taken for what.
out str? Where the matrix was written.
test_out str? Where the test runs were written.

Choice
instances int K.
runs int N, of each configuration.
runs_per_instance float N / K.
configurations int m.
standard_error float Of the mean cost.
price float Of all runs and instances.
bound float? ε, where one was asked for.
theorem str? Where in the paper that stands.
cpu_hours float? Of all runs, where a run's time is known.
classical_runs_per_instance float? √(within/across × price ratio).

Current
runs int Of the pilot.
instances int Of the pilot.
standard_error float Which it has.
price float Of its runs.
even_standard_error float If the runs were spread evenly.
even_runs float Runs spread evenly with the same error.
variance_ratio float Variance relative to an even allocation.
same_price Choice The best choice at the same price.
same_error Choice? The cheapest choice with the same error.

Plan
configuration str? Whose variances.
like ConfigurationRow: within across total
within_error float Standard error of within.
across_error float Standard error of across.
goal str error, bound or budget.
target float What was asked for.
like risk
price_run float Of a run.
price_instance float Of a new instance.
configurations int m.
instances int? How many instances there are.
seconds_per_run float? CPU seconds.
recommendation Choice What to do.
curve values Other choices.
if_noisier Choice? The same if variances were a standard error higher.
current Current? What the pilot's allocation wastes.
guaranteed bool Whether the bound is.
caveat str Why not.
assumptions [str] What the bound needs.

Export
kind str irace, paramils or smac.
file str? Where it was written.
content str The schedule.
use [str] How to use it.

plans
plan Plan|PlanToShow What was planned.
tell_apart TellApart Runs that tell two configurations apart.
export Export The schedule for another configurator.

TrainingCosts
runs int Runs made for them.
default float Of the default.
incumbent float Of the incumbent.
simplified float Of the simplified configuration.

Compared
like about
like parts: comparison statements

Simplified
values values Its parameters.
arguments str To paste.

explain
journal str The journal.
scenario str The scenario file.
complete bool Whether the budget was enough for every change.
changes [Change] What differs between incumbent and default.
kept [Change] The changes that the simplified configuration keeps.
path [PathStep] From the default to the simplified configuration, change by change.
training TrainingCosts The mean training cost of the chosen.
simplified Simplified The incumbent without the changes that can be undone.
held_out_instances int On how many instances nobody tuned on both were run.
costs_more_than_incumbent_at_most float? The limit of what simplifying costs.
like risk
runs int What was read.
incumbent_against_default Compared? The incumbent compared with the default on held-out instances.
simplified_against_incumbent Compared? The simplified configuration compared with the incumbent.
guess [Guess] With --guess: the changes by their importance in the search's model.

compared
require str? What --require asks for; null where nothing must be shown.
met bool Whether the exit code is 0.
grade str better, worse or open.
primary str Which statement decides: mean or wins.

Solver
name str
like about
like parts: certificate comparison statements optimism outlook
better bool
report str

demo
matrices [Solver] The results on each matrix.
claims {{str}} The paper's claims on each example, with --splits.

doctor
findings [Finding] What was looked for, and whether it is there.
"""
# Of each command the objects whose keys it has; those in parentheses may be missing.
COMMANDS = """
audit = about, audited, parts: outlook
certify = about, parts: certificate
report = about, audited, parts: outlook configurations bounds, (searches)
info = (about), (parts: configurations), (info)
compare = compared, about, parts: comparison statements approximate non_inferiority
bound = (about), parts: bounds
plan = (about), (plans)
gather = (Journal), (GatherForecast)
configure = configured, about, audited
explain = (explain)
validate = (validated), (validations)
watch = (watched)
import = import
demo = demo
doctor = doctor
scenario list = scenario list
scenario show = scenario show
scenario export = scenario export
scenario from-log = scenario from-log
experiment estimators = experiment estimators, (simulated)
experiment m = experiment m
experiment n = experiment m
experiment k = experiment m
experiment configure = experiment configure
reproduce = reproduce
"""
LINES = {
    title: lines for title, *lines in (part.split("\n") for part in OBJECTS.strip().split("\n\n"))
}


@cache
def commands() -> dict[str, tuple[dict[str, Any], frozenset[str]]]:
    """The keys of every command with their types, and which of them may be missing."""
    listed: dict[str, tuple[dict[str, Any], frozenset[str]]] = {}
    for line in COMMANDS.strip().splitlines():
        command, _, objects = line.partition(" = ")
        fields: dict[str, Any] = {}
        optional: set[str] = set()
        for name in objects.split(", "):
            own = fields_of(name.strip("()"))
            fields |= own
            optional |= set(own) if name.startswith("(") else set()
        listed[command] = fields, frozenset(optional)
    return listed


@cache
def kind_of(text: str) -> Any:
    """The type that a text of `OBJECTS` names."""
    if text.endswith("?"):
        return kind_of(text[:-1]) | None
    if text[0] == "[":
        return list[kind_of(text[1:-1])]  # type: ignore[misc]
    if text[0] == "{":
        return dict[str, kind_of(text[1:-1])]  # type: ignore[misc]
    if "|" in text:
        first, _, rest = text.partition("|")
        return kind_of(first) | kind_of(rest)
    return TYPES.get(text) or _records().get(text) or typed(text, fields_of(text))


@cache
def fields_of(name: str) -> dict[str, Any]:
    """The keys of an object, or some of them (`parts: outlook`), with types and meanings."""
    if name == "audited":
        from truecost.judge.assessment import AUDITED

        # A part that is not described yet may be anything.
        return {key: fields_of("parts").get(key, Any) for key in AUDITED}
    title, _, picked = name.partition(": ")
    if picked:
        return {key: fields_of(title)[key] for key in picked.split()}
    if name not in LINES:
        return dict(kind_of(name).__annotations__)
    fields: dict[str, Any] = {}
    for line in LINES[name]:
        key, kind, meaning = [*line.split(" ", 2), ""][:3]
        if key == "like":
            fields |= fields_of(line.removeprefix("like "))
            continue
        described: Any = Annotated[kind_of(kind), Field(description=meaning)]
        fields[key] = described if meaning else kind_of(kind)
    return fields


@cache
def _records() -> dict[str, Any]:
    """Objects that are records of Python, or made from those."""
    from truecost.campaigns.changes import Change
    from truecost.campaigns.configure import Configured
    from truecost.campaigns.explain import PathStep
    from truecost.campaigns.gather import GatherForecast
    from truecost.doctor import Finding
    from truecost.journal.validationlog import Stop
    from truecost.judge import noise, optimism
    from truecost.judge.bounds import PaperBounds
    from truecost.judge.families import FamilyResult
    from truecost.judge.margin import NonInferiority
    from truecost.judge.parts import PROPERTIES
    from truecost.judge.question import Question
    from truecost.judge.scope import Scope
    from truecost.judge.searches import OneSearch
    from truecost.judge.statements import Certificate, Contribution, Statement
    from truecost.judge.whole_list import WholeList
    from truecost.paper.claims import Claim
    from truecost.paper.fit import Fit
    from truecost.plan.power import Power
    from truecost.runs import Machine
    from truecost.stats.approximate import Approximate
    from truecost.stats.folds import FoldInterval
    from truecost.stats.forecast import Forecast, Width
    from truecost.stats.grouping import Alike, NestedComponents

    plain: list[Any] = [Alike, Approximate, Change, Claim, Contribution, FamilyResult, Finding, Fit]
    plain += [FoldInterval, GatherForecast, NestedComponents, NonInferiority, OneSearch]
    plain += [PaperBounds, Power, Question, Scope, Statement, Stop, WholeList]
    made = {
        source.__name__: record(source, *PROPERTIES.get(source.__name__, ())) for source in plain
    }
    corrected = "The difference to the default, corrected for the choice."
    apart: dict[str, Any] = {"configurations": list[str] | None, "within": float, "across": float}
    apart |= dict.fromkeys(("observed_difference", "observed_standard_error"), float | None)
    ended: dict[str, Any] = {"all_runs": int, "cpu": float, "spent": float, "fresh_instances": int}
    ended |= {"left_out_instances": int, "shown": bool, "notes": list[str]}
    return made | {
        "Certificate": record(Certificate, width=record(Width) | None),
        "Comparison": _comparison(made["Contribution"]),
        "Forecast": record(Forecast, show=str),
        "Guess": record(Change, "names", title="Guess", importance=float),
        "Machine": record(Machine, conditions=dict[str, Any]),
        "Noise": record(
            noise.Noise, spread=record(noise.Spread), heaviest=record(noise.Heaviest) | None
        ),
        "Optimism": record(
            optimism.Optimism,
            expected_difference=Annotated[float | None, Field(description=corrected)],
        ),
        "OverTuning": record(optimism.OverTuning, along=list[record(optimism.Point)]),  # type: ignore[misc]
        "PathStep": record(PathStep, changes=list[made["Change"]]),  # type: ignore[valid-type]
        "PlanToShow": record(Forecast, title="PlanToShow", show=str),
        "Realised": record(Statement, title="Realised"),
        "Search": record(
            Configured,
            title="Search",
            without=("assessment",),
            **dict.fromkeys(("incumbent", "recommended", "default"), _later("Proposal")),
            budget=_later("Budget"),
        ),
        "TellApart": record(Power, title="TellApart", **apart),
        "Validation": record(Stop, title="Validation", **ended),
    }


def _later(name: str) -> Any:
    return typed(name, fields_of(name))


def _comparison(contribution: Any) -> Any:
    from truecost.judge.parts import COMPARED
    from truecost.judge.statements import Comparison

    hints = get_type_hints(Comparison)
    own = {name: hints[name] for name in COMPARED if name in hints}
    others = [name for name in COMPARED if name not in own and name != "deciding"]
    deciding: dict[str, Any] = {"deciding": list[contribution]}
    return record(Bare(Comparison), *others, title="Comparison", **own, **deciding)
