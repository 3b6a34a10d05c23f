#ifndef METRONOME_GAMES_MINATAR_ORDERED_LIST_H_
#define METRONOME_GAMES_MINATAR_ORDERED_LIST_H_

#include <algorithm>
#include <array>

#include "metronome/core/check.h"

namespace metronome {

/// A list in the order in which its items were added, oldest first, with room for a fixed number of them.
/// Takes no memory of its own.
template <typename Item, int kCapacity>
class OrderedList {
 public:
  int size() const { return size_; }
  Item& operator[](int i) { return items_[static_cast<std::size_t>(i)]; }
  const Item& operator[](int i) const { return items_[static_cast<std::size_t>(i)]; }
  const Item* begin() const { return items_.data(); }
  const Item* end() const { return items_.data() + size_; }

  /// REQUIRES (checked): there is room.
  void Add(const Item& item) {
    METRONOME_CHECK_LT(size_, kCapacity);
    (*this)[size_++] = item;
  }

  /// The later ones move up.
  void Remove(int i) {
    METRONOME_DCHECK(i >= 0 && i < size_);
    std::copy(items_.begin() + i + 1, items_.begin() + size_, items_.begin() + i);
    --size_;
  }

  /// Where the oldest one is in that cell; -1 if none is.
  int FirstAt(int row, int column) const {
    for (int i = 0; i < size_; ++i) {
      if ((*this)[i].row == row && (*this)[i].column == column) return i;
    }
    return -1;
  }

 private:
  std::array<Item, kCapacity> items_ = {};
  int size_ = 0;
};

}  // namespace metronome

#endif  // METRONOME_GAMES_MINATAR_ORDERED_LIST_H_
