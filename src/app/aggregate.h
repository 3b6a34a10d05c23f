#ifndef METRONOME_APP_AGGREGATE_H_
#define METRONOME_APP_AGGREGATE_H_

#include <cstdint>
#include <vector>

namespace metronome {

/// What several runs of one configuration reached.
struct Aggregate {
  std::int64_t count = 0;
  double mean = 0.0;
  /// Mean of the middle half, which a single good or bad run can't pull away (Agarwal et al. 2021,
  /// arXiv:2108.13264). Where a quarter is no whole number of runs, the runs at both edges count in part.
  double interquartile_mean = 0.0;
  double interquartile_mean_low = 0.0;   ///< Its 95 % interval, by 10,000 bootstrap samples of the runs
  double interquartile_mean_high = 0.0;  ///< (percentiles 2.5 and 97.5); equal values give equal intervals.
  double median = 0.0;
  double min = 0.0;
  double max = 0.0;
};

/// REQUIRES (checked): at least one value; all finite.
Aggregate AggregateOf(const std::vector<double>& values);

/// REQUIRES (checked): not empty; sorted.
double InterquartileMean(const std::vector<double>& sorted);

}  // namespace metronome

#endif  // METRONOME_APP_AGGREGATE_H_
