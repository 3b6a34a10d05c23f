"""Metronome, by what `metronome train` writes to episodes.csv: the whole loop as users run it, with its logs."""

import argparse
import csv
import os
import re
import resource
import subprocess
import sys
import tempfile

import figures
import measure

TITLES = {"static": "Metronome", "autograd": "Metronome, autograd engine"}
PEERS = {"static": "metronome", "autograd": "autograd"}


def settings(engine, steps):
    """The same work as the other peers': see measure.py."""
    return {
        "game.name": '"cartpole"',
        "game.max_episode_steps": 500,
        "network.hidden": f"[{measure.HIDDEN}, {measure.HIDDEN}]",
        "learner.engine": f'"{engine}"',
        "learner.batch_size": measure.BATCH,
        "learner.discount": measure.DISCOUNT,
        "learner.learning_rate": measure.LEARNING_RATE,
        "learner.loss": '"huber"',
        "learner.max_gradient_norm": measure.MAX_GRADIENT_NORM,
        "learner.double": "true",
        "learner.target_update_period": measure.TARGET_PERIOD,
        "learner.target_update_rate": 1.0,
        "replay.capacity": measure.CAPACITY,
        "replay.warmup": measure.WARMUP,
        "exploration.epsilon_start": measure.EPSILON,
        "exploration.epsilon_end": measure.EPSILON,
        "train.steps": measure.WARMUP + steps,
        "train.update_period": 1,
        "train.updates_per_period": 1,
        "train.seed": measure.SEED,
        "eval.period": 0,
        "checkpoint.period": 0,
        "device.name": '"cpu"',
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=20_000, help="steps with an update")
    parser.add_argument("--threads", type=int, default=0, help="0 leaves the choice to Metronome")
    parser.add_argument("--engine", choices=TITLES, default="static")
    parser.add_argument("--metronome", required=True, help="the program")
    arguments = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        config = os.path.join(folder, "config.toml")
        with open(config, "w", encoding="utf-8") as file:
            for key, value in settings(arguments.engine, arguments.steps).items():
                print(f"{key} = {value}", file=file)
        run = os.path.join(folder, "run")
        command = [
            arguments.metronome,
            "train",
            "--config",
            config,
            "--run",
            run,
            "--threads",
            str(arguments.threads),
        ]
        done = subprocess.run(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False
        )
        if done.returncode != 0:
            sys.exit(
                done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"exit {done.returncode}"
            )
        peak = measure.peak_mib(resource.RUSAGE_CHILDREN)
        with open(os.path.join(run, "episodes.csv"), encoding="ascii") as file:
            episodes = [row for row in csv.DictReader(file) if int(row["updates"]) > 0]
        with open(os.path.join(run, "log.txt"), encoding="utf-8") as file:
            chosen = re.search(r"learner: .*?(\d+) threads?", file.read())
    version = subprocess.check_output([arguments.metronome, "--version"], text=True).splitlines()[0]

    spacing = arguments.steps // figures.WINDOWS
    measure.report(
        PEERS[arguments.engine],
        TITLES[arguments.engine],
        int(chosen.group(1)) if chosen else arguments.threads,
        True,
        {"metronome": version.split()[-1]},
        figures.thin([(int(row["step"]), float(row["wall_s"])) for row in episodes], spacing),
        [(int(row["step"]), int(row["rss_kib"]) / 1024) for row in episodes],
        peak,
    )


if __name__ == "__main__":
    main()
