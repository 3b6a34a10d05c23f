#include "metronome/core/memory.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string_view>

#ifdef __APPLE__
#include <mach/mach.h>
#include <malloc/malloc.h>
#elif defined(__GLIBC__)
#include <malloc.h>
#endif

namespace metronome {
namespace {

#ifdef __linux__

/// Reads the start of a small file into `text` without allocating. Empty when there is no such file.
std::string_view ReadSmallFile(const char* path, std::span<char> text) {
  const int descriptor = open(path, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return {};
  const ssize_t bytes = read(descriptor, text.data(), text.size() - 1);
  close(descriptor);
  if (bytes <= 0) return {};
  text[static_cast<std::size_t>(bytes)] = '\0';
  return {text.data(), static_cast<std::size_t>(bytes)};
}

/// The number in a control group's file; empty when it says "max" or isn't there.
std::optional<std::int64_t> ReadNumber(const std::string& path) {
  char text[64];
  const std::string_view content = ReadSmallFile(path.c_str(), text);
  if (content.empty() || content[0] < '0' || content[0] > '9') return std::nullopt;
  return std::strtoll(text, nullptr, 10);
}

/// The number after `key` in a control group's memory.stat, 0 when it isn't there.
std::int64_t ReadStatistic(const std::string& path, std::string_view key) {
  char text[8192];
  std::string_view content = ReadSmallFile(path.c_str(), text);
  while (!content.empty()) {
    if (content.starts_with(key) && content.substr(key.size()).starts_with(' ')) {
      return std::strtoll(content.data() + key.size(), nullptr, 10);
    }
    const std::size_t end = content.find('\n');
    content.remove_prefix(end == std::string_view::npos ? content.size() : end + 1);
  }
  return 0;
}

/// What is left of the memory limit of this process's control group, version 2 or 1.
std::optional<std::int64_t> ControlGroupLeft() {
  char text[4096];
  const std::string_view groups = ReadSmallFile("/proc/self/cgroup", text);
  const std::size_t at = groups.find("0::");
  std::optional<std::int64_t> left;
  const auto consider = [&left](const std::string& folder, const char* limit_file, const char* used_file,
                                std::string_view cache_key) {
    const std::optional<std::int64_t> limit = ReadNumber(folder + limit_file);
    const std::optional<std::int64_t> used = ReadNumber(folder + used_file);
    if (!limit || !used) return;
    // The group is charged for files that lie in the cache, and after a build that is most of it; the system
    // drops those that nobody reads before it refuses memory.
    const std::int64_t cache = ReadStatistic(folder + "/memory.stat", cache_key);
    const std::int64_t here = std::clamp<std::int64_t>(*limit - *used + cache, 0, *limit);
    left = left ? std::min(*left, here) : here;
  };
  if (at != std::string_view::npos) {
    // Each group on the way to the root may have a limit of its own.
    std::string group(groups.substr(at + 3, groups.find('\n', at) - at - 3));
    while (true) {
      consider("/sys/fs/cgroup" + (group == "/" ? "" : group), "/memory.max", "/memory.current",
               "inactive_file");
      const std::size_t slash = group.find_last_of('/');
      if (slash == std::string::npos || group.size() <= 1) break;
      group.resize(std::max<std::size_t>(slash, 1));
    }
  }
  consider("/sys/fs/cgroup/memory", "/memory.limit_in_bytes", "/memory.usage_in_bytes",
           "total_inactive_file");
  return left;
}

#endif

}  // namespace

std::int64_t ResidentBytes() {
#ifdef __APPLE__
  task_vm_info_data_t info = {};
  mach_msg_type_number_t count = TASK_VM_INFO_COUNT;
  if (task_info(mach_task_self(), TASK_VM_INFO, reinterpret_cast<task_info_t>(&info), &count) !=
      KERN_SUCCESS) {
    return 0;
  }
  return static_cast<std::int64_t>(info.phys_footprint);
#else
  // Kept open: a read is then one system call. "size resident shared ..." in pages.
  static const int descriptor = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  static const std::int64_t page_bytes = sysconf(_SC_PAGESIZE);
  char text[128];
  const ssize_t bytes = pread(descriptor, text, sizeof(text) - 1, 0);
  if (bytes <= 0) return 0;
  text[bytes] = '\0';
  const char* resident = std::strchr(text, ' ');
  return resident == nullptr ? 0 : std::strtoll(resident, nullptr, 10) * page_bytes;
#endif
}

std::optional<std::int64_t> AvailableMemoryBytes() {
#ifdef __APPLE__
  vm_statistics64_data_t statistics = {};
  mach_msg_type_number_t count = HOST_VM_INFO64_COUNT;
  if (host_statistics64(mach_host_self(), HOST_VM_INFO64, reinterpret_cast<host_info64_t>(&statistics),
                        &count) != KERN_SUCCESS) {
    return std::nullopt;
  }
  const std::int64_t pages = static_cast<std::int64_t>(statistics.free_count) +
                             static_cast<std::int64_t>(statistics.inactive_count) +
                             static_cast<std::int64_t>(statistics.purgeable_count);
  return pages * static_cast<std::int64_t>(sysconf(_SC_PAGESIZE));
#else
  char text[8192];
  const std::string_view content = ReadSmallFile("/proc/meminfo", text);
  const std::size_t at = content.find("MemAvailable:");
  std::optional<std::int64_t> available = ControlGroupLeft();
  if (at != std::string_view::npos) {
    const std::int64_t system = std::strtoll(text + at + std::strlen("MemAvailable:"), nullptr, 10) * 1024;
    available = available ? std::min(*available, system) : system;
  }
  return available;
#endif
}

void ReturnFreeMemory() {
#if defined(__GLIBC__)
  malloc_trim(0);
#elif defined(__APPLE__)
  malloc_zone_pressure_relief(nullptr, 0);
#endif
}

std::string FormatBytes(std::int64_t bytes) {
  if (bytes > -1024 && bytes < 1024) return std::to_string(bytes) + " B";
  constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes) / 1024.0;
  std::size_t unit = 0;
  while ((value >= 1024.0 || value <= -1024.0) && unit + 1 < std::size(kUnits)) {
    value /= 1024.0;
    ++unit;
  }
  char text[48];
  std::snprintf(text, sizeof(text), "%.1f %s", value, kUnits[unit]);
  return text;
}

}  // namespace metronome
