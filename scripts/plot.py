"""Draws what runs of Metronome did, from their tables, into one PNG or SVG. Called by scripts/plot."""

import argparse
import csv
import pathlib
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402
from matplotlib.ticker import FuncFormatter  # noqa: E402

# Told apart by the colour-blind as well (Okabe and Ito 2008), and by their dashes on paper.
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"]
DASHES = ["-", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (5, 1.2, 1.2, 1.2)), (0, (3, 1)), (0, (7, 2)), (0, (1, 2))]
POINTS = 400  # of a curve
# What does not tell two configurations apart: the seed, and what only decides how long a run is, and how it is
# judged, kept and told.
ALIKE_KEYS = {"train.seed", "train.steps"}
ALIKE_SECTIONS = {"eval", "checkpoint", "device", "log"}


class Refusal(Exception):
    """A mistake of the user's, in one line."""


class Run:
    """A run's folder: its configuration and its two tables, a column an array."""

    def __init__(self, folder):
        self.folder = folder
        for name in ("config.toml", "episodes.csv", "evals.csv"):
            if not (folder / name).is_file():
                raise Refusal(f"{folder}: no run, it has no {name}")
        self.config = read_config(folder / "config.toml")
        self.episodes = read_table(folder / "episodes.csv")
        self.evaluations = read_table(folder / "evals.csv")
        if len(self.episodes["step"]) < 2:
            raise Refusal(f"{folder}: has fewer than two episodes so far")

    def returns(self, window):
        """Step, and the mean return of the last `window` episodes."""
        sums = np.concatenate([[0.0], np.cumsum(self.episodes["return"])])
        last = np.arange(1, len(sums))
        first = np.maximum(last - window, 0)
        return self.episodes["step"], (sums[last] - sums[first]) / (last - first)

    def smooth(self, column, window):
        """Step, and the mean of a column over the last `window` episodes that have it."""
        there = ~np.isnan(self.episodes[column])
        values = self.episodes[column][there]
        sums = np.concatenate([[0.0], np.cumsum(values)])
        last = np.arange(1, len(sums))
        first = np.maximum(last - window, 0)
        return self.episodes["step"][there], (sums[last] - sums[first]) / (last - first)


def read_config(path):
    """Our own config.toml, in which a key and its value are one line: {"section.key": "value"}."""
    config, section = {}, ""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            section = line.strip("[] ")
        elif "=" in line and not line.startswith("#"):
            key, value = line.split("=", 1)
            config[f"{section}.{key.strip()}"] = value.strip()
    return config


def read_table(path):
    """{column: values}; what is empty or no number is NaN. A last row that is still being written is left out."""
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.reader(line for line in file if line.endswith("\n")))
    columns = list(zip(*rows[1:])) or [()] * len(rows[0])

    def number(text):
        try:
            return float(text)
        except ValueError:
            return np.nan

    return {name: np.array([number(text) for text in column]) for name, column in zip(rows[0], columns)}


def find_runs(paths):
    """The runs that the paths name; a set of seeds stands for all of its runs."""
    runs = []
    for path in map(pathlib.Path, paths):
        if (path / "seeds.json").is_file():
            folders = [f for f in sorted(path.glob("seed-*")) if f.name.removeprefix("seed-").isdigit()]
            runs += [Run(folder) for folder in folders]
        else:
            runs.append(Run(path))
    return runs


def group(runs):
    """[(name, runs)]: runs of one configuration together, named by the keys in which the groups differ."""
    groups = {}
    for run in runs:
        settings = {
            key: value
            for key, value in run.config.items()
            if key not in ALIKE_KEYS and key.split(".")[0] not in ALIKE_SECTIONS
        }
        groups.setdefault(tuple(sorted(settings.items())), []).append(run)
    keys = sorted({key for settings in groups for key, _ in settings})
    differing = [key for key in keys if len({dict(settings).get(key) for settings in groups}) > 1]
    named = []
    for settings, members in groups.items():
        values = dict(settings)
        shown = [f"{key.split('.')[1]} = {values.get(key, 'none')}" for key in differing]
        named.append((", ".join(shown) or values["game.name"].strip('"'), members))
    return named


def curve(axes, place, pairs):
    """A group's line and band: the mean over its runs, and the least and greatest."""
    pairs = [(steps, values) for steps, values in pairs if len(steps) > 1]
    if not pairs:
        return
    # Where all runs have a value; one that ended early has its last one thereafter.
    begin = max(steps[0] for steps, _ in pairs)
    end = max(steps[-1] for steps, _ in pairs)
    grid = np.linspace(begin, end, POINTS)
    all_values = np.array([np.interp(grid, steps, values) for steps, values in pairs])
    colour = COLOURS[place % len(COLOURS)]
    if len(pairs) > 1:
        axes.fill_between(grid, all_values.min(0), all_values.max(0), color=colour, alpha=0.18, linewidth=0)
    axes.plot(grid, all_values.mean(0), color=colour, linestyle=DASHES[place % len(DASHES)], linewidth=1.8)


def short(value, _=None):
    """1500000 as 1.5M."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"


def furnish(axes, title, xlabel, ylabel):
    axes.set_title(title, loc="left", fontsize=10.5)
    axes.set_xlabel(xlabel)
    axes.set_ylabel(ylabel)
    axes.xaxis.set_major_formatter(FuncFormatter(short))
    axes.grid(color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.margins(x=0.01)


def learning_page(groups, window):
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), sharey=True)
    for place, (_, runs) in enumerate(groups):
        curve(left, place, [run.returns(window) for run in runs])
        curve(right, place, [(run.evaluations["step"], run.evaluations["mean"]) for run in runs])
    furnish(left, f"Training (mean of the last {window} episodes)", "environment steps", "return, game points")
    furnish(right, "Evaluation (greedy, mean of its episodes)", "environment steps", "")
    return figure


def training_page(groups, window):
    figure, axes = plt.subplots(1, 3, figsize=(12, 3.8))
    for place, (_, runs) in enumerate(groups):
        curve(axes[0], place, [(run.evaluations["step"], run.evaluations["mean"]) for run in runs])
        curve(axes[1], place, [run.smooth("q_mean", window) for run in runs])
        curve(axes[2], place, [run.smooth("loss", window) for run in runs])
    furnish(axes[0], "Evaluation (greedy)", "environment steps", "mean return, game points")
    furnish(axes[1], "Mean Q of what is learned from", "environment steps", "discounted return, game points")
    furnish(axes[2], "Loss", "environment steps", "mean over a batch")
    for panel in axes[1:]:
        values = np.concatenate([line.get_ydata() for line in panel.lines] or [np.ones(1)])
        if values.min() > 0 and values.max() > 100 * values.min():
            panel.set_yscale("log")
    return figure


def flatness_page(groups, _):
    figure, (median, longest, memory) = plt.subplots(3, 1, figsize=(9, 7), sharex=True)
    for place, (_, runs) in enumerate(groups):
        colour = COLOURS[place % len(COLOURS)]
        for run in runs:
            table = {name: values[run.episodes["updates"] > 0] for name, values in run.episodes.items()}
            count = len(table["episode"])
            # Of many episodes one figure for each few: the median, or the largest where that is the question.
            parts = [part for part in np.array_split(np.arange(count), min(POINTS, max(count, 1))) if len(part)]
            middle = [np.median(table["episode"][part]) for part in parts]
            for axes, values, figure_of, style in (
                (median, table["step_us_p50"], np.median, "-"),
                (longest, table["step_us_p99"], np.median, "-"),
                (longest, table["step_us_max"], np.max, ":"),
                (memory, table["rss_kib"] / 1024, np.max, "-"),
            ):
                axes.plot(middle, [figure_of(values[part]) for part in parts], color=colour, linestyle=style,
                          linewidth=1.4)
    furnish(median, "Median time of an episode's steps", "", "microseconds")
    furnish(longest, "Its 99th percentile (solid) and longest step (dotted)", "", "microseconds")
    furnish(memory, "Memory of the process", "episodes", "resident, MiB")
    longest.set_yscale("log")
    for axes in (median, memory):
        axes.set_ylim(0, 1.25 * max((np.nanmax(line.get_ydata()) for line in axes.lines), default=1.0))
    return figure


PAGES = {"learning": learning_page, "training": training_page, "flatness": flatness_page}


def main():
    parser = argparse.ArgumentParser(prog="scripts/plot", description=__doc__.split(". ")[0])
    parser.add_argument("runs", nargs="+", metavar="RUN", help="a run's folder, or that of a set of seeds")
    parser.add_argument("--out", required=True, metavar="FILE", help="ends in .png or .svg")
    parser.add_argument("--page", choices=PAGES, default="learning",
                        help="learning (default): returns in training and evaluation; training: evaluation, Q and "
                        "loss; flatness: step time and memory against episodes")
    parser.add_argument("--title", metavar="TEXT")
    parser.add_argument("--label", action="append", default=[], metavar="TEXT",
                        help="names the groups, in the order of the runs; default what they differ in")
    parser.add_argument("--window", type=int, default=100, metavar="N", help="episodes in a mean; default 100")
    options = parser.parse_args()
    if not options.out.endswith((".png", ".svg")):
        parser.error(f"--out {options.out}: must end in .png or .svg")
    if options.window < 1:
        parser.error("--window must be at least 1")

    plt.rcParams.update({"font.size": 10, "svg.fonttype": "none", "svg.hashsalt": "metronome"})
    groups = group(find_runs(options.runs))
    if options.label and len(options.label) != len(groups):
        raise Refusal(f"--label: given {len(options.label)} times, and there are {len(groups)} configurations")
    names = options.label or [name for name, _ in groups]
    figure = PAGES[options.page](groups, options.window)
    handles = [plt.Line2D([], [], color=COLOURS[i % len(COLOURS)], linewidth=1.8,
                          linestyle="-" if options.page == "flatness" else DASHES[i % len(DASHES)],
                          label=f"{name} ({len(runs)} {'seed' if len(runs) == 1 else 'seeds'})")
               for i, (name, (_, runs)) in enumerate(zip(names, groups))]
    if options.title:
        figure.suptitle(options.title, x=0.01, ha="left", fontsize=12, fontweight="bold")
    widest = max(len(handle.get_label()) + 8 for handle in handles)  # in letters, 13 to an inch
    columns = max(1, min(len(handles), int(13 * figure.get_figwidth() / widest)))
    rows = -(-len(handles) // columns)
    height = figure.get_figheight()
    below, above = (0.12 + 0.22 * rows) / height, (0.35 if options.title else 0.0) / height
    figure.legend(handles=handles, loc="lower center", ncol=columns, frameon=False)
    figure.tight_layout(rect=(0, below, 1, 1 - above))
    metadata = {"Date": None} if options.out.endswith(".svg") else {"Software": None}
    figure.savefig(options.out, dpi=110, metadata=metadata)


if __name__ == "__main__":
    try:
        main()
    except (Refusal, OSError) as mistake:
        sys.exit(f"scripts/plot: {mistake}")
