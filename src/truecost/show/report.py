"""One self-contained page about recorded runs: the verdict first, then what it rests on.

`report` computes what the page holds, `render` draws it as HTML, `save` writes the file. The same runs and options give the
same bytes.
"""

import os
from collections.abc import Sequence
from dataclasses import asdict
from importlib import metadata
from typing import Any

import numpy as np

from truecost.judge.audit import Audit
from truecost.judge.audit import audit as look
from truecost.judge.certificate import Chosen
from truecost.matrix import CostMatrix
from truecost.matrix.files import whole_file
from truecost.runs import Trajectory
from truecost.show import nextsteps, overtuned, sections
from truecost.show.content import Fact, Report, Tone, percent, signed
from truecost.show.content import number as written
from truecost.show.findings import Findings, Progress, Source, find
from truecost.show.html import page
from truecost.show.numbers import counted

__all__ = ["Report", "Source", "render", "report", "save"]


def report(
    matrix: CostMatrix,
    *,
    name: str,
    title: str | None = None,
    unit: str = "cost",
    default: str | None = None,
    incumbent: str | None = None,
    test: CostMatrix | None = None,
    trajectory: Trajectory | None = None,
    chosen: Chosen | None = None,
    list_size: int | None = None,
    delta: float = 0.05,
    splits: int = 1000,
    seed: int = 1,
    source: Source | None = None,
    notes: Sequence[str] = (),
    progress: Progress | None = None,
) -> Report:
    """What the page about recorded runs holds.

    Parameters
    ----------
    matrix
        The runs; missing ones allowed. What cannot be computed from them is left out, with a sentence that says why.
    name, title, unit
        What the runs are called, the title of the page if it is to be another one, and what a unit of cost is called.
    incumbent, default, test, trajectory, chosen, list_size, delta, splits
        As in `truecost.audit.audit`, whose verdict this is.
    seed
        Of every random number: the numbers are those of `truecost audit` with the same.
    source
        Where the runs are, for commands to copy; by default a matrix in a file of that name.
    notes
        What was left out or assumed when the runs were read, in sentences.
    progress
        Told what is being done, and the share of all work that is done.
    """
    tell = progress or _nobody
    tell("the audit", 0.0)
    audit = look(
        matrix,
        rng=np.random.default_rng(seed),
        incumbent=incumbent,
        default=default,
        test=test,
        trajectory=trajectory,
        chosen=chosen,
        list_size=list_size,
        splits=splits,
        delta=delta,
    )
    tell("noise, bounds and plan", 0.3)
    found = find(
        matrix,
        audit,
        test=test,
        trajectory=trajectory,
        chosen=chosen,
        list_size=list_size,
        source=source or _source(name, incumbent, default),
        unit=unit,
        seed=seed,
        notes=notes,
        progress=tell,
    )
    tell("figures", 0.6)
    version = metadata.version("truecost")
    parts = (
        sections.what_was_run(found),
        sections.how_noisy(found),
        sections.how_sure(found),
        overtuned.over_tuned(found),
        nextsteps.what_next(found),
        sections.how_made(found, version),
    )
    tone, badge = _judged(audit)
    return Report(
        title=f"{name}: how good is it really?" if title is None else title,
        subtitle=" × ".join(map(counted, matrix.shape, ("configuration", "instance", "run"))),
        tone=tone,
        badge=badge,
        verdict=_verdict(found),
        more=overtuned.optimism(found),
        key=_key(found),
        sections=parts,
        numbers=_numbers(found, name, version),
        version=version,
    )


def render(report: Report) -> bytes:
    """The page: HTML with everything in it, that loads nothing."""
    return page(report).encode()


def save(report: Report, path: str | os.PathLike[str]) -> None:
    """Write the page; what was there stays until the new file is whole."""
    content = render(report)
    with whole_file(path) as file:
        file.write(content)


def _source(name: str, incumbent: str | None, default: str | None) -> Source:
    named = {"--incumbent": incumbent, "--default": default}
    return Source(name, audited=tuple(f"{option}={value}" for option, value in named.items() if value is not None))


def _nobody(what: str, share: float) -> None:
    pass


def _judged(audit: Audit) -> tuple[Tone, str]:
    found = audit.comparison
    if found is None:
        return "open", "No default to compare with"
    if found.default == audit.incumbent:
        return "open", "The default itself"
    if audit.better:
        return "good", "Shown to be better than the default"
    if found.lower is None:
        return "open", "No valid comparison with the default"
    if found.lower > 0:
        return "bad", "Worse than the default"
    return "open", "Not shown to be better than the default"


def _verdict(found: Findings) -> str:
    audit = found.audit
    if audit.comparison is not None:
        return audit.verdict
    ran = int((found.costs.runs > 0).sum())
    if ran == 1:
        return f"{audit.incumbent} is the only configuration with runs."
    if found.order[0] == found.own:
        taken_out = " once how hard their instances are is taken out" if found.adjusted else ""
        return f"{audit.incumbent} has the least training cost of {ran:,} configurations{taken_out}."
    return f"{audit.incumbent} was chosen out of {ran:,} configurations."


def _key(found: Findings) -> tuple[Fact, ...]:
    """The numbers beside the verdict."""
    audit, unit = found.audit, found.in_unit
    facts = [Fact(term="training-cost", value=audit.training_cost, shown=written(audit.training_cost), unit=unit)]
    if audit.true_from == "test runs":
        facts.append(Fact(term="test-cost", value=audit.test_cost, shown=written(audit.test_cost), unit=unit))
    else:
        facts.append(Fact(term="corrected-cost", value=audit.corrected_cost, shown=written(audit.corrected_cost), unit=unit))
    sure = percent(1 - audit.delta)
    if audit.interval is None:
        facts.append(
            Fact(
                term="interval",
                label=f"true cost, {sure} sure",
                value=None,
                shown="–",
                note="no valid statement; see How sure",
            )
        )
    else:
        shown = f"{written(audit.interval.lower, 3)} to {written(audit.interval.upper, 3)}"
        ends = [audit.interval.lower, audit.interval.upper]
        facts.append(Fact(term="interval", label=f"true cost, {sure} sure", value=ends, shown=shown, unit=unit))
    comparison = audit.comparison
    if comparison is not None and comparison.default != audit.incumbent:
        limits = "no valid interval"
        if comparison.lower is not None and comparison.upper is not None:
            limits = f"{sure} sure: {signed(comparison.lower, 3)} to {signed(comparison.upper, 3)}"
        facts.append(
            Fact(term="difference", value=comparison.estimate, shown=signed(comparison.estimate), unit=unit, note=limits)
        )
    noise = audit.noise
    shown = {"runs": "too few runs", "instances": "too few instances", None: "–"}[noise.bottleneck]
    note = ""
    if noise.bottleneck is not None and not found.still:
        # The variance of the training cost is (across + within · mean of 1/n_i) / K.
        across = noise.across / (audit.spread.instances * noise.standard_error**2)
        share, where = (across, "across") if noise.bottleneck == "instances" else (1 - across, "within")
        note = f"{percent(share)} of the training cost's variance is {where} instances"
    facts.append(Fact(term="bottleneck", value=noise.bottleneck, shown="–" if found.still else shown, note=note))
    return tuple(facts)


def _numbers(found: Findings, name: str, version: str) -> dict[str, Any]:
    matrix, plan = found.matrix, found.plan
    configurations, instances, runs = matrix.shape
    within, across = found.components.within, found.components.across
    return {
        "name": name,
        "version": version,
        "unit": found.unit,
        "seed": found.seed,
        "configurations": configurations,
        "instances": instances,
        "runs_per_cell": runs,
        "runs": int(matrix.counts().sum()),
        "missing_runs": int(matrix.costs.size - matrix.counts().sum()),
        "low": matrix.low,
        "high": matrix.high,
        "audit": asdict(found.audit),
        "bounds": None if found.plug_in is None else found.plug_in._asdict(),
        "plan": None
        if plan is None
        else {"instances": plan.instances, "runs": plan.runs, "standard_error": plan.standard_error, "caveat": plan.caveat},
        "shown_on": None if found.reach is None else found.reach._asdict(),
        "tell_apart": None if found.apart is None else asdict(found.apart),
        "table": [
            {
                "configuration": matrix.configurations[i],
                "training_cost": float(found.costs.cost[i]),
                "standard_error": float(found.costs.standard_error[i]),
                "within": float(within[i]),
                "across": float(across[i]),
                "not_solved": float(found.failed[i]),
            }
            for i in found.order.tolist()
        ],
    }
