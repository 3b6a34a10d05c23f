#ifndef METRONOME_LEARNER_DEVICE_H_
#define METRONOME_LEARNER_DEVICE_H_

#include <cstdint>
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

/// One of DevicesFound() with what it is: "cpu", "mps (Apple M1 Max, macOS 15.5)", "cuda (NVIDIA H200)".
std::string DeviceDescription(const std::string& device);

/// What is known to be wrong with a device in the versions of libtorch and macOS in use, a line each; empty
/// for the ones that are known to be good. `auto` leaves out a device with any.
std::vector<std::string> DeviceWarnings(const std::string& device);
/// The same for MPS of any versions, e.g. "2.7.1" and "13.6".
std::vector<std::string> MpsWarnings(const std::string& torch_version, const std::string& macos_version);

/// Whether the products of MPS may have transposed operands with this libtorch: before 2.12 each one leaves
/// some hundred bytes behind.
bool MpsTakesTransposed(const std::string& torch_version);

/// "15.5", or "" on other systems.
std::string MacosVersion();

/// Seeds libtorch's generators of every device. Metronome takes no random number from them: this is so that
/// nothing could differ between two runs if an op of libtorch did.
void SeedTorch(std::uint64_t seed);

/// Single-precision operations a second that this machine reaches in a product of two 1024 x 1024 matrices by
/// libtorch's BLAS with so many threads: the best of some tenths of a second. Leaves the BLAS with one
/// thread.
double MeasurePeakFlops(int threads);

/// Threads that libtorch and the BLAS may use in one operation. One owner of threads: our own team.
void SetTorchThreads(int threads);

}  // namespace metronome

#endif  // METRONOME_LEARNER_DEVICE_H_
