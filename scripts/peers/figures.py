"""The reckoning behind the comparison: rates, growth of memory, and the table. Needs nothing but Python."""

import statistics

WINDOWS = 20  # a run's learning steps are cut into so many
SETTLING = 0.2  # the share of the learning steps that does not count for growth
LEAST_STEPS_FOR_GROWTH = 200  # fewer say nothing about 10,000


def thin(samples, spacing):
    """Those of `samples`, (step, ...) in rising order, that are at least `spacing` steps apart."""
    kept = []
    for sample in samples:
        if not kept or sample[0] - kept[-1][0] >= spacing:
            kept.append(sample)
    return kept


def median_rate(samples):
    """Steps per second: the median over the windows between neighbouring samples (step, seconds)."""
    rates = [
        (step - last_step) / (seconds - last_seconds)
        for (last_step, last_seconds), (step, seconds) in zip(samples, samples[1:])
        if seconds > last_seconds
    ]
    if not rates:
        raise ValueError("too short a run for a rate")
    return statistics.median(rates)


def growth_per_10000_steps(samples):
    """The slope of memory over steps by least squares, from samples (step, memory), once it has settled. None
    where too few are left."""
    if not samples:
        return None
    first, last = samples[0][0], samples[-1][0]
    settled = [sample for sample in samples if sample[0] >= first + SETTLING * (last - first)]
    if len(settled) < 3 or settled[-1][0] - settled[0][0] < LEAST_STEPS_FOR_GROWTH:
        return None
    mean_step = statistics.fmean(step for step, _ in settled)
    mean_memory = statistics.fmean(memory for _, memory in settled)
    spread = sum((step - mean_step) ** 2 for step, _ in settled)
    if spread == 0:
        return None
    return 10000 * sum((step - mean_step) * (memory - mean_memory) for step, memory in settled) / spread


def significant(value):
    """With two digits after the point where that says something, without where it does not."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


HEADINGS = (
    "program",
    "threads",
    "double DQN",
    "steps/s",
    "Metronome is faster by",
    "peak MiB",
    "MiB more every 10,000 steps",
    "steps measured",
)


def rows(results):
    """The cells of the table, one list for each result, in the order given."""
    reference = max((r["steps_per_second"] for r in results if r["peer"] == "metronome"), default=None)
    table = []
    for result in results:
        growth = result["growth_mib_per_10000_steps"]
        default = " (default)" if result["default_threads"] else ""
        table.append(
            [
                result["title"],
                f"{result['threads']}{default}",
                "yes" if result["double"] else "no",
                significant(result["steps_per_second"]),
                "" if reference is None else significant(reference / result["steps_per_second"]) + " x",
                f"{result['peak_mib']:,.0f}",
                "" if growth is None else f"{growth:+.2f}",
                f"{result['learning_steps']:,}",
            ]
        )
    return table


def as_text(results):
    lines = [list(HEADINGS)] + rows(results)
    widths = [max(len(line[i]) for line in lines) for i in range(len(HEADINGS))]
    return "\n".join(
        "  ".join(
            cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(line, widths))
        ).rstrip()
        for line in lines
    )


def as_markdown(results):
    lines = [list(HEADINGS), ["---"] + ["---:"] * (len(HEADINGS) - 1)] + rows(results)
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
