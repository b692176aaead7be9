"""Interleaved rounds of several programs, and the figures that come out of them."""

from __future__ import annotations

from typing import Callable, Dict, List, NamedTuple, Sequence

from bench.process import Cost, Program, run

WARM_UP_ROUNDS = 1


class Row(NamedTuple):
    """One line of the report: a figure of ours beside the one it is held against."""

    what: str
    ours: str
    against: str
    ratio: str
    target: str
    met: bool


def median(values: Sequence[float]) -> float:
    """The middle value; of an even number of values, the mean of the middle two."""
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least ``share`` of the values do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """The median of the rounds' own ratios, which a drifting machine disturbs least."""
    return median([mine / other for mine, other in zip(ours, theirs)])


def rounds(
    programs: Sequence[Program], environ: Dict[str, str], count: int
) -> Dict[str, List[Cost]]:
    """Each program's costs over ``count`` rounds, by name."""
    return interleave([program.name for program in programs], count, _runner(programs, environ))


def _runner(programs: Sequence[Program], environ: Dict[str, str]) -> Callable[[str], Cost]:
    by_name = {program.name: program for program in programs}
    return lambda name: run(by_name[name].argv, environ)


def interleave(
    names: Sequence[str], count: int, measure: Callable[[str], Cost]
) -> Dict[str, List[Cost]]:
    """Measure every name once a round, in turned order every other round, after a warm-up."""
    costs: Dict[str, List[Cost]] = {name: [] for name in names}
    for number in range(WARM_UP_ROUNDS + count):
        for name in names if number % 2 else reversed(names):
            cost = measure(name)
            if number >= WARM_UP_ROUNDS:
                costs[name].append(cost)
    return costs
