#include "train/flatness.h"

#include <algorithm>

namespace metronome {

FlatnessMonitor::FlatnessMonitor() : slices_(kMostSlices) {}

void FlatnessMonitor::AddStep(std::int64_t nanoseconds) {
  if (slices_[used_ - 1].steps.count() == steps_per_slice_) {
    if (used_ == kMostSlices) Join();
    if (slices_[used_ - 1].steps.count() == steps_per_slice_) {
      ++used_;
      slices_[used_ - 1].resident_bytes = last_resident_bytes_;
    }
  }
  slices_[used_ - 1].steps.Add(nanoseconds);
}

void FlatnessMonitor::AddMemory(std::int64_t resident_bytes) {
  last_resident_bytes_ = resident_bytes;
  Slice& slice = slices_[used_ - 1];
  slice.resident_bytes = std::max(slice.resident_bytes, resident_bytes);
}

void FlatnessMonitor::Join() {
  for (std::size_t i = 0; i < kMostSlices / 2; ++i) {
    const Slice& left = slices_[2 * i];
    const Slice& right = slices_[2 * i + 1];
    const std::int64_t resident = std::max(left.resident_bytes, right.resident_bytes);
    if (i > 0) slices_[i] = left;
    slices_[i].steps.Merge(right.steps);
    slices_[i].resident_bytes = resident;
  }
  for (std::size_t i = kMostSlices / 2; i < kMostSlices; ++i) {
    slices_[i].steps.Clear();
    slices_[i].resident_bytes = 0;
  }
  used_ = kMostSlices / 2;
  steps_per_slice_ *= 2;
}

FlatnessMonitor::Tenth FlatnessMonitor::Describe(std::size_t first, std::size_t last) const {
  // A histogram of its own: the slices stay as they are.
  DurationHistogram steps;
  Tenth tenth;
  for (std::size_t i = first; i < last; ++i) {
    steps.Merge(slices_[i].steps);
    tenth.resident_bytes = std::max(tenth.resident_bytes, slices_[i].resident_bytes);
  }
  tenth.median_step_us = steps.QuantileNanoseconds(0.5) / 1000.0;
  return tenth;
}

std::optional<FlatnessMonitor::Report> FlatnessMonitor::report() const {
  // The slice in progress counts once it is full, since a few steps have no steady median.
  const std::size_t whole = slices_[used_ - 1].steps.count() == steps_per_slice_ ? used_ : used_ - 1;
  if (whole < 10) return std::nullopt;
  const std::size_t tenth = whole / 10;
  Report report;
  report.first = Describe(0, tenth);
  report.last = Describe(whole - tenth, whole);
  report.step_ratio = report.last.median_step_us / report.first.median_step_us;
  report.memory_growth_bytes = report.last.resident_bytes - report.first.resident_bytes;
  if (report.first.resident_bytes > 0) {
    report.memory_ratio =
        static_cast<double>(report.last.resident_bytes) / static_cast<double>(report.first.resident_bytes);
  }
  return report;
}

}  // namespace metronome
