#ifndef METRONOME_CORE_ALIGNED_BUFFER_H_
#define METRONOME_CORE_ALIGNED_BUFFER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <utility>

#include "metronome/core/check.h"

namespace metronome {

/// A block of `T`, zeroed and so touched page by page at construction, that never grows: taken once,
/// given back by the destructor. Starts on a 64-byte boundary (a cache line, the widest vector register).
template <typename T>
class AlignedBuffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  static constexpr std::size_t kAlignment = 64;

  AlignedBuffer() = default;
  explicit AlignedBuffer(std::int64_t size) : size_(size) {
    METRONOME_CHECK_GE(size, 0);
    data_ = static_cast<T*>(::operator new (bytes(), std::align_val_t{kAlignment}));
    std::fill_n(data_, size, T{});
  }
  ~AlignedBuffer() { ::operator delete (data_, std::align_val_t{kAlignment}); }

  AlignedBuffer(AlignedBuffer&& other) noexcept { swap(other); }
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept {
    swap(other);
    return *this;
  }
  AlignedBuffer(const AlignedBuffer&) = delete;
  AlignedBuffer& operator=(const AlignedBuffer&) = delete;

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::int64_t size() const { return size_; }
  T& operator[](std::int64_t index) { return data_[index]; }
  const T& operator[](std::int64_t index) const { return data_[index]; }
  std::span<T> span() { return {data_, static_cast<std::size_t>(size_)}; }
  std::span<const T> span() const { return {data_, static_cast<std::size_t>(size_)}; }

 private:
  void swap(AlignedBuffer& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
  }
  std::size_t bytes() const { return static_cast<std::size_t>(size_) * sizeof(T); }

  T* data_ = nullptr;
  std::int64_t size_ = 0;
};

}  // namespace metronome

#endif  // METRONOME_CORE_ALIGNED_BUFFER_H_
