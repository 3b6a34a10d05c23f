"""Tests of the comparison's reckoning: python3 scripts/peers/selftest.py"""

import json
import os
import pathlib
import stat
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

sys.dont_write_bytecode = True
import figures
import measure
import metronome_run

HERE = pathlib.Path(__file__).resolve().parent


def result(peer, rate, **others):
    made = {
        "peer": peer,
        "title": peer.title(),
        "threads": 1,
        "default_threads": False,
        "double": True,
        "steps_per_second": rate,
        "learning_steps": 20000,
        "peak_mib": 200.4,
        "growth_mib_per_10000_steps": 0.5,
    }
    made.update(others)
    return made


class RateTest(unittest.TestCase):
    def test_is_the_median_of_the_windows(self):
        # 100 steps in 1 s, in 1 s, and in a slow 8 s.
        self.assertEqual(figures.median_rate([(0, 5.0), (100, 6.0), (200, 7.0), (300, 15.0)]), 100.0)

    def test_takes_windows_of_unequal_length_at_their_own_rate(self):
        self.assertEqual(figures.median_rate([(0, 0.0), (50, 1.0), (250, 3.0), (550, 5.0)]), 100.0)

    def test_refuses_a_run_without_a_window(self):
        with self.assertRaises(ValueError):
            figures.median_rate([(0, 1.0)])

    def test_samples_are_thinned_to_a_distance(self):
        samples = [(0, "a"), (40, "b"), (100, "c"), (130, "d"), (205, "e")]
        self.assertEqual(figures.thin(samples, 100), [(0, "a"), (100, "c"), (205, "e")])


class GrowthTest(unittest.TestCase):
    def test_is_the_slope(self):
        samples = [(step, 300 + step / 1000) for step in range(0, 20001, 1000)]
        self.assertAlmostEqual(figures.growth_per_10000_steps(samples), 10.0)

    def test_of_what_falls_is_negative(self):
        samples = [(step, 300 - step / 1000) for step in range(0, 20001, 1000)]
        self.assertAlmostEqual(figures.growth_per_10000_steps(samples), -10.0)

    def test_leaves_out_the_first_fifth(self):
        samples = [(step, step if step < 4000 else 5000) for step in range(1000, 11001, 100)]
        self.assertNotEqual(figures.growth_per_10000_steps(samples), 0.0)
        samples = [(step, step if step < 3000 else 5000) for step in range(1000, 11001, 100)]
        self.assertEqual(figures.growth_per_10000_steps(samples), 0.0)

    def test_of_too_few_samples_is_not_told(self):
        self.assertIsNone(figures.growth_per_10000_steps([]))
        self.assertIsNone(figures.growth_per_10000_steps([(0, 1.0), (10, 2.0)]))
        self.assertIsNone(figures.growth_per_10000_steps([(step, 300 + step) for step in range(0, 200, 10)]))


class TableTest(unittest.TestCase):
    def test_divides_by_the_fastest_metronome(self):
        rows = figures.rows(
            [
                result("sb3", 200.0, double=False, growth_mib_per_10000_steps=None),
                result("autograd", 1000.0),
                result("metronome", 4000.0, threads=2, default_threads=True),
                result("metronome", 2000.0),
            ]
        )
        self.assertEqual([row[4] for row in rows], ["20.0 x", "4.00 x", "1.00 x", "2.00 x"])
        self.assertEqual(rows[0], ["Sb3", "1", "no", "200", "20.0 x", "200", "", "20,000"])
        self.assertEqual(rows[2][1], "2 (default)")

    def test_has_no_ratio_without_metronome(self):
        self.assertEqual(figures.rows([result("sb3", 200.0)])[0][4], "")

    def test_keeps_digits_that_say_something(self):
        self.assertEqual(
            [figures.significant(v) for v in (12345.6, 99.95, 12.34, 4.318)],
            ["12,346", "100.0", "12.3", "4.32"],
        )

    def test_is_markdown_when_asked_for(self):
        lines = figures.as_markdown([result("metronome", 4000.0)]).splitlines()
        self.assertEqual(len(lines), 3)
        self.assertEqual(lines[1].count("---"), len(figures.HEADINGS))
        self.assertEqual(lines[2], "| Metronome | 1 | yes | 4,000 | 1.00 x | 200 | +0.50 | 20,000 |")

    def test_is_aligned_as_text(self):
        lines = figures.as_text([result("sb3", 9.0), result("metronome", 40000.0)]).splitlines()
        self.assertEqual(lines[1].index("9.00") + 4, lines[2].index("40,000") + 6)


# Stands for Metronome: its run has 1,000 steps a second, and takes 1 KiB more every 100 steps.
PROGRAM = """#!{python}
import os, sys
if sys.argv[1] == "--version":
    print("metronome 9.8.7")
    sys.exit()
if {fails}:
    sys.exit("metronome: error: no such thing")
run = sys.argv[sys.argv.index("--run") + 1]
os.mkdir(run)
with open(run + "/episodes.csv", "w") as file:
    print("step,episode,updates,rss_kib,wall_s", file=file)
    for step in range(100, 3001, 100):
        print(step, step // 100, max(0, step - 1000), 50000 + step // 100, step / 1000, sep=",", file=file)
with open(run + "/log.txt", "w") as file:
    print("info: learner: static engine, cpu, 2 threads", file=file)
"""


class RunTest(unittest.TestCase):
    def run_with(self, fails, *options):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "metronome"
            program.write_text(PROGRAM.format(python=sys.executable, fails=fails), encoding="utf-8")
            program.chmod(program.stat().st_mode | stat.S_IXUSR)
            command = [sys.executable, str(HERE / "run"), "--quick", "--metronome", str(program), *options]
            environment = dict(os.environ, PYTHONDONTWRITEBYTECODE="1")
            return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)

    def test_measures_metronome_alone(self):
        done = self.run_with(False, "--only", "metronome", "--markdown")
        self.assertEqual(done.returncode, 0, done.stderr)
        cells = [cell.strip() for cell in done.stdout.splitlines()[2].strip("|").split("|")]
        self.assertEqual(cells[:5], ["Metronome", "2 (default)", "yes", "1,000", "1.00 x"])
        self.assertEqual(cells[6], "+0.10")
        self.assertIn("metronome 9.8.7", done.stdout)

    def test_leaves_out_what_fails_with_its_reason(self):
        done = self.run_with(True, "--only", "metronome")
        self.assertEqual(done.returncode, 1)
        self.assertIn("metronome is left out: metronome: error: no such thing", done.stdout)

    def test_refuses_an_unknown_peer(self):
        self.assertEqual(self.run_with(False, "--only", "nobody").returncode, 2)


class MeterTest(unittest.TestCase):
    def run_meter(self, steps, seconds, step_seconds):
        now = [0.0]
        meter = measure.Meter(steps, seconds)
        with mock.patch("measure.time.perf_counter", lambda: now[0]):
            while meter.step():
                now[0] += step_seconds
        return [(step, seconds) for step, seconds, _ in meter.samples]

    def test_ends_with_the_steps_asked_for(self):
        samples = self.run_meter(steps=200, seconds=60.0, step_seconds=0.0625)
        self.assertEqual(samples[0], (0, 0.0))
        self.assertEqual(samples[-1], (200, 12.5))
        self.assertEqual(len(samples), figures.WINDOWS + 1)

    def test_ends_when_time_is_over(self):
        samples = self.run_meter(steps=10000, seconds=40.0, step_seconds=0.5)
        self.assertEqual(samples[-1], (80, 40.0))
        self.assertEqual(len(samples), figures.WINDOWS + 1)

    def test_has_two_windows_however_slow(self):
        self.assertEqual(
            self.run_meter(steps=10000, seconds=1.0, step_seconds=5.0), [(0, 0), (1, 5), (2, 10)]
        )


class WorkTest(unittest.TestCase):
    def test_is_the_same_for_metronome_as_for_the_others(self):
        settings = metronome_run.settings("static", 5000)
        self.assertEqual(json.loads(settings["network.hidden"]), [measure.HIDDEN, measure.HIDDEN])
        self.assertEqual(settings["learner.batch_size"], measure.BATCH)
        self.assertEqual(settings["replay.capacity"], measure.CAPACITY)
        self.assertEqual(settings["train.steps"], measure.WARMUP + 5000)


if __name__ == "__main__":
    unittest.main()
