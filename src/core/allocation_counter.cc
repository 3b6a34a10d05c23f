#include "metronome/core/allocation_counter.h"

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <new>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define METRONOME_FOREIGN_HEAP 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define METRONOME_FOREIGN_HEAP 1
#endif
#endif

namespace metronome {
namespace {

// Constant-initialised: libraries allocate before any constructor of ours has run.
std::atomic<std::int64_t> allocation_count{0};
std::atomic<std::int64_t> allocation_bytes{0};

[[maybe_unused]] void Note(std::size_t bytes) {
  allocation_count.fetch_add(1, std::memory_order_relaxed);
  allocation_bytes.fetch_add(static_cast<std::int64_t>(bytes), std::memory_order_relaxed);
}

}  // namespace

AllocationScope::AllocationScope()
    : count_at_start_(allocation_count.load()), bytes_at_start_(allocation_bytes.load()) {}

bool AllocationScope::supported() {
#ifdef METRONOME_FOREIGN_HEAP
  return false;
#else
  return true;
#endif
}

std::int64_t AllocationScope::count() const { return allocation_count.load() - count_at_start_; }
std::int64_t AllocationScope::bytes() const { return allocation_bytes.load() - bytes_at_start_; }

}  // namespace metronome

#if !defined(METRONOME_FOREIGN_HEAP)
#if defined(__GLIBC__)

// A definition in the program comes before the one in libc for every library that is loaded. The C++
// library's operator new calls malloc, so it is counted once, here. free() stays libc's own.
extern "C" {

void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* block, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);

void* malloc(std::size_t size) noexcept {
  metronome::Note(size);
  return __libc_malloc(size);
}

void* calloc(std::size_t count, std::size_t size) noexcept {
  metronome::Note(count * size);
  return __libc_calloc(count, size);
}

void* realloc(void* block, std::size_t size) noexcept {
  metronome::Note(size);
  return __libc_realloc(block, size);
}

void* memalign(std::size_t alignment, std::size_t size) noexcept {
  metronome::Note(size);
  return __libc_memalign(alignment, size);
}

void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  metronome::Note(size);
  return __libc_memalign(alignment, size);
}

int posix_memalign(void** block, std::size_t alignment, std::size_t size) noexcept {
  if (alignment % sizeof(void*) != 0 || alignment == 0 || (alignment & (alignment - 1)) != 0) {
    return EINVAL;
  }
  metronome::Note(size);
  void* const result = __libc_memalign(alignment, size);
  if (result == nullptr) {
    return ENOMEM;
  }
  *block = result;
  return 0;
}

}  // extern "C"

#else

// The array, nothrow and sized forms of the C++ library call these.
void* operator new(std::size_t size) {
  metronome::Note(size);
  if (void* const block = std::malloc(size == 0 ? 1 : size)) {
    return block;
  }
  throw std::bad_alloc();
}

void* operator new(std::size_t size, std::align_val_t alignment) {
  metronome::Note(size);
  void* block = nullptr;
  const std::size_t boundary = static_cast<std::size_t>(alignment) < sizeof(void*)
                                   ? sizeof(void*)
                                   : static_cast<std::size_t>(alignment);
  if (posix_memalign(&block, boundary, size == 0 ? 1 : size) == 0) {
    return block;
  }
  throw std::bad_alloc();
}

void operator delete(void* block) noexcept { std::free(block); }
void operator delete(void* block, std::size_t) noexcept { std::free(block); }
void operator delete(void* block, std::align_val_t) noexcept { std::free(block); }
void operator delete(void* block, std::size_t, std::align_val_t) noexcept { std::free(block); }

#endif
#endif
