#include "app/aggregate.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "metronome/core/check.h"
#include "metronome/core/rng.h"

namespace metronome {
namespace {

constexpr int kBootstrapSamples = 10'000;
constexpr double kOutside = 0.025;  // of the interval, on either side

/// The value that a share `q` lies below, interpolated between neighbours.
double Quantile(const std::vector<double>& sorted, double q) {
  const double place = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace

double InterquartileMean(const std::vector<double>& sorted) {
  METRONOME_CHECK(!sorted.empty());
  METRONOME_CHECK(std::is_sorted(sorted.begin(), sorted.end()));
  const auto count = static_cast<double>(sorted.size());
  double sum = 0.0;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    // Value i covers the ranks from i to i + 1; those from n/4 to 3n/4 count.
    const auto rank = static_cast<double>(i);
    const double inside = std::min(rank + 1.0, 0.75 * count) - std::max(rank, 0.25 * count);
    sum += std::max(inside, 0.0) * sorted[i];
  }
  return sum / (0.5 * count);
}

Aggregate AggregateOf(const std::vector<double>& values) {
  METRONOME_CHECK(!values.empty());
  std::vector<double> sorted = values;
  for (const double value : sorted) METRONOME_CHECK(std::isfinite(value));
  std::sort(sorted.begin(), sorted.end());
  Aggregate aggregate;
  aggregate.count = static_cast<std::int64_t>(sorted.size());
  aggregate.mean = std::accumulate(sorted.begin(), sorted.end(), 0.0) / static_cast<double>(sorted.size());
  aggregate.interquartile_mean = InterquartileMean(sorted);
  aggregate.median = Quantile(sorted, 0.5);
  aggregate.min = sorted.front();
  aggregate.max = sorted.back();

  Rng rng(1, "bootstrap");  // the same interval each time
  std::vector<double> means;
  std::vector<double> sample(sorted.size());
  for (int i = 0; i < kBootstrapSamples; ++i) {
    for (double& value : sample) value = sorted[static_cast<std::size_t>(rng.UniformInt(aggregate.count))];
    std::sort(sample.begin(), sample.end());
    means.push_back(InterquartileMean(sample));
  }
  std::sort(means.begin(), means.end());
  aggregate.interquartile_mean_low = Quantile(means, kOutside);
  aggregate.interquartile_mean_high = Quantile(means, 1.0 - kOutside);
  return aggregate;
}

}  // namespace metronome
