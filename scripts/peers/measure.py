"""What every Python peer takes and measures, in the same way: its work, its speed, its memory."""

import argparse
import json
import os
import resource
import subprocess
import sys
import time

import figures

# The work, the same for all; scripts/peers/metronome_run.py says it to Metronome.
ENVIRONMENT = "CartPole-v1"
HIDDEN = 128  # width of each of the two hidden layers
BATCH = 128
CAPACITY = 50_000
WARMUP = 1_000  # steps before the first update
LEARNING_RATE = 5e-4
DISCOUNT = 0.99
EPSILON = 0.05
MAX_GRADIENT_NORM = 10.0
TARGET_PERIOD = 1_000  # updates between copies into the target network
SEED = 1


def arguments(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--steps", type=int, default=20_000, help="steps with an update")
    parser.add_argument("--seconds", type=float, default=60.0, help="ends sooner when these are over")
    parser.add_argument("--threads", type=int, default=0, help="0 leaves the choice to the peer")
    return parser.parse_args()


def resident_mib():
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE") / 2**20
    except FileNotFoundError:  # macOS
        return int(subprocess.check_output(["ps", "-o", "rss=", "-p", str(os.getpid())])) / 1024


def peak_mib(who=resource.RUSAGE_SELF):
    # KiB on Linux, bytes on macOS
    return resource.getrusage(who).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


class Meter:
    """Counts learning steps, and notes time and memory whenever a window of them ends."""

    def __init__(self, steps, seconds):
        self.steps = steps
        self.seconds = seconds
        self.count = 0
        self.samples = []  # (learning steps, seconds, MiB)

    def step(self):
        """To be called before the first learning step and after each; false when it was the last."""
        now = time.perf_counter()
        if self._window_ends(now):
            self.samples.append((self.count, now, resident_mib()))
            if now - self.samples[0][1] >= self.seconds and len(self.samples) > 2:
                return False
        self.count += 1
        return self.count <= self.steps

    def _window_ends(self, now):
        if not self.samples:
            return True
        count, seconds, _ = self.samples[-1]
        # The second is for those that will not make their steps in time.
        return (
            self.count - count >= self.steps / figures.WINDOWS
            or now - seconds >= self.seconds / figures.WINDOWS
        )

    def report(self, peer, title, threads, double, versions):
        report(
            peer,
            title,
            threads,
            double,
            versions,
            [(step, seconds) for step, seconds, _ in self.samples],
            [(step, mib) for step, _, mib in self.samples],
            peak_mib(),
        )


def report(peer, title, threads, double, versions, times, memory, peak):
    """Prints the one line of JSON. `times`: (step, seconds); `memory`: (step, MiB)."""
    print(
        json.dumps(
            {
                "peer": peer,
                "title": title,
                "threads": threads,
                "double": double,
                "steps_per_second": figures.median_rate(times),
                "steps_per_second_overall": (times[-1][0] - times[0][0]) / (times[-1][1] - times[0][1]),
                "learning_steps": times[-1][0] - times[0][0],
                "peak_mib": peak,
                "growth_mib_per_10000_steps": figures.growth_per_10000_steps(memory),
                "versions": versions,
            }
        )
    )
