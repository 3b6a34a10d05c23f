#ifndef METRONOME_LEARNER_DEVICE_H_
#define METRONOME_LEARNER_DEVICE_H_

#include <string>
#include <vector>

namespace metronome {

/// The version of the libtorch in use: "1.13.0".
std::string TorchVersion();

/// The library that matrix products of libtorch go to: "OpenBLAS 0.3.21, Zen kernels".
std::string BlasDescription();

/// True for the reference BLAS, which is ten times slower than OpenBLAS.
bool BlasIsReference();

/// "cpu", and "mps" and "cuda" where libtorch finds them.
std::vector<std::string> DevicesFound();

/// Single-precision operations a second that this machine reaches in a product of two 1024 x 1024 matrices by
/// libtorch's BLAS with so many threads: the best of some tenths of a second. Leaves the BLAS with one
/// thread.
double MeasurePeakFlops(int threads);

/// Threads that libtorch and the BLAS may use in one operation. One owner of threads: our own team.
void SetTorchThreads(int threads);

}  // namespace metronome

#endif  // METRONOME_LEARNER_DEVICE_H_
