#include "learner/device_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "learner/learner_cases.h"
#include "learner/network.h"
#include "metronome/core/clock.h"
#include "metronome/core/error.h"
#include "metronome/learner/device.h"

namespace metronome {
namespace {

using testing::HasSubstr;

Candidate Cpu(int threads) { return {"cpu", false, false, threads}; }
Candidate Gpu() { return {"mps", true, false, 1}; }

TEST(FastestOfTest, LargerTeamMustBeWorthATenth) {
  EXPECT_EQ(FastestOf({Cpu(1), Cpu(2)}, {100.0, 95.0}), 0u);
  EXPECT_EQ(FastestOf({Cpu(1), Cpu(2)}, {100.0, 80.0}), 1u);
  EXPECT_EQ(FastestOf({Cpu(1), Cpu(2), Cpu(4)}, {100.0, 80.0, 75.0}), 1u);
}

TEST(FastestOfTest, AnotherDeviceMustOnlyBeFaster) {
  EXPECT_EQ(FastestOf({Cpu(1), Cpu(2), Gpu()}, {100.0, 60.0, 59.0}), 2u);
  EXPECT_EQ(FastestOf({Cpu(1), Cpu(2), Gpu()}, {100.0, 60.0, 61.0}), 1u);
}

/// Candidates whose times are told by a function, and a clock that goes on a tenth of a second with each.
struct Machine {
  std::vector<Candidate> candidates;
  std::function<double(std::size_t candidate, int renewals)> time;
  double seconds = 10.0;
  int renewals = 0;
  int measured = 0;

  std::vector<double> Measure() {
    return MeasureInTurn(
        candidates,
        [this](std::size_t i) {
          ++measured;
          seconds -= 0.02;
          return time(i, renewals);
        },
        [this] { ++renewals; }, [this] { return seconds; });
  }
};

TEST(MeasureInTurnTest, ThreadThatSharesACoreIsFoundOutByAnotherTry) {
  Machine machine{
      {Cpu(1), Cpu(2)}, [](std::size_t i, int renewals) {
        return i == 0 ? 100.0 : renewals < 2 ? 130.0 : 60.0;  // the third team has a core of its own
      }};
  EXPECT_THAT(machine.Measure(), testing::ElementsAre(100.0, 60.0));
  EXPECT_EQ(machine.renewals, 2);
}

TEST(MeasureInTurnTest, TeamThatIsFasterAtOnceIsMeasuredOnce) {
  Machine machine{{Cpu(1), Cpu(2)}, [](std::size_t i, int) { return i == 0 ? 100.0 : 60.0; }};
  machine.Measure();
  EXPECT_EQ(machine.renewals, 0);
}

TEST(MeasureInTurnTest, MachineWhereOneThreadIsBestIsBelievedAfterSomeTries) {
  Machine machine{{Cpu(1), Cpu(2)}, [](std::size_t i, int) { return i == 0 ? 100.0 : 100.0; }};
  EXPECT_THAT(machine.Measure(), testing::ElementsAre(100.0, 100.0));
  EXPECT_EQ(machine.renewals, 3);
}

TEST(MeasureInTurnTest, EndsInTimeAndHasMeasuredEachAtLeastOnce) {
  Machine machine{{Cpu(1), Cpu(2), Gpu()}, [](std::size_t, int) { return 100.0; }, 0.01};
  EXPECT_THAT(machine.Measure(), testing::ElementsAre(100.0, 100.0, 100.0));
  EXPECT_EQ(machine.measured, 3);
  Machine longer{{Cpu(1), Cpu(2)}, [](std::size_t, int) { return 100.0; }, 1.0};
  longer.Measure();
  EXPECT_GT(longer.seconds, -0.05) << "at most one turn over";
}

TEST(MeasureInTurnTest, MomentsInWhichTheMachineDidSomethingElseDontCount) {
  int call = 0;
  Machine machine{{Cpu(1), Gpu()}, [&call](std::size_t i, int) {
                    return (i == 0 ? 100.0 : 50.0) * (++call % 3 == 0 ? 1.0 : 20.0);
                  }};
  EXPECT_THAT(machine.Measure(), testing::ElementsAre(100.0, 50.0));
}

DeviceChoice Choose(const DeviceConfig& device, Ops ops, const std::vector<std::string>& found) {
  LearnerConfig config;
  config.batch_size = 16;
  config.ops = ops;
  const NetworkSpec spec = VectorNetwork(4, {16}, 2);
  Rng rng(1);
  return ChooseDevice(spec, config, device, found, InitialWeights(spec, rng));
}

TEST(ChooseDeviceTest, SaysThatTheProcessorIsAllThereIs) {
  const DeviceChoice choice = Choose({"auto", 2}, Ops::kAuto, {"cpu"});
  EXPECT_EQ(choice.candidate.device, "cpu");
  EXPECT_FALSE(choice.candidate.is_generic);
  EXPECT_EQ(choice.candidate.threads, 2);
  EXPECT_THAT(choice.notes, testing::ElementsAre(HasSubstr("cpu, the only device that libtorch")));
}

TEST(ChooseDeviceTest, NumberOfThreadsLeftOpenIsMeasuredAndShownInATable) {
  const std::int64_t start = MonotonicNanoseconds();
  const DeviceChoice choice = Choose({"cpu", 0}, Ops::kAuto, {"cpu"});
  if (choice.notes.empty()) GTEST_SKIP() << "this machine has one core: there is no choice";
  EXPECT_THAT(choice.notes.front(), HasSubstr("measured"));
  EXPECT_THAT(choice.notes[1], HasSubstr("cpu, fused ops, 1 thread: "));
  EXPECT_THAT(choice.notes.back(), HasSubstr("chosen: " + choice.candidate.name()));
  RecordProperty("seconds", std::to_string(1e-9 * static_cast<double>(MonotonicNanoseconds() - start)));
}

TEST(ChooseDeviceTest, GenericOpsOnTheProcessorTakeOneThreadUnlessTold) {
  const DeviceChoice choice = Choose({"cpu", 0}, Ops::kGeneric, {"cpu"});
  EXPECT_TRUE(choice.candidate.is_generic);
  EXPECT_EQ(choice.candidate.threads, 1);
  EXPECT_EQ(Choose({"cpu", 2}, Ops::kGeneric, {"cpu"}).candidate.threads, 2);
}

TEST(ChooseDeviceTest, FusedOpsLeaveOutOtherDevices) {
  const DeviceChoice choice = Choose({"auto", 1}, Ops::kFused, {"cpu", "mps", "cuda"});
  EXPECT_EQ(choice.candidate.device, "cpu");
  EXPECT_THAT(choice.notes,
              testing::ElementsAre(HasSubstr("mps is left out"), HasSubstr("cuda is left out")));
  EXPECT_THROW(Choose({"mps", 1}, Ops::kFused, {"cpu", "mps"}), Error);
}

TEST(ChooseDeviceTest, DeviceThatFailsIsLeftOutOrIfNamedRefused) {
  // Said to be there, and it isn't: the self-test can't even begin.
  const std::vector<std::string> here = DevicesFound();
  if (std::find(here.begin(), here.end(), "cuda") != here.end()) GTEST_SKIP() << "there is cuda here";
  const DeviceChoice choice = Choose({"auto", 1}, Ops::kAuto, {"cpu", "cuda"});
  EXPECT_EQ(choice.candidate.device, "cpu");
  EXPECT_THAT(choice.notes, testing::ElementsAre(HasSubstr("warning: cuda is left out: ")));
  try {
    Choose({"cuda", 1}, Ops::kAuto, {"cpu", "cuda"});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kNoDevice);
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
  }
}

}  // namespace
}  // namespace metronome
