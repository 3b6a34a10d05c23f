#ifndef METRONOME_CORE_MEMORY_H_
#define METRONOME_CORE_MEMORY_H_

#include <cstdint>
#include <optional>
#include <string>

namespace metronome {

/// Bytes of memory that this process holds now: resident pages on Linux, phys_footprint on macOS (which
/// counts compressed and GPU pages as well). Allocates nothing after its first call.
std::int64_t ResidentBytes();

/// Bytes that a program could still take without swapping: the least of what the system has available and
/// what the process's control group leaves. Empty where the system doesn't say.
std::optional<std::int64_t> AvailableMemoryBytes();

/// Gives memory that is free inside the heap back to the system, where the heap can. For after a checkpoint
/// or an evaluation, which take more than the loop does; some hundred microseconds.
void ReturnFreeMemory();

/// "1.5 GiB", "640.0 KiB", "12 B": for messages.
std::string FormatBytes(std::int64_t bytes);

}  // namespace metronome

#endif  // METRONOME_CORE_MEMORY_H_
