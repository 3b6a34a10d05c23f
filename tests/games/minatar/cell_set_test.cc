#include "games/minatar/cell_set.h"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <utility>

#include "games/minatar/ordered_list.h"
#include "metronome/core/rng.h"

namespace metronome {
namespace {

using Naive = std::set<std::pair<int, int>>;  // (row, column)

CellSet FromNaive(const Naive& cells) {
  CellSet result;
  for (const auto& [row, column] : cells) result.Add(row, column);
  return result;
}

Naive Random(Rng& rng) {
  Naive cells;
  const std::int64_t count = rng.UniformInt(40);
  for (std::int64_t i = 0; i < count; ++i) {
    cells.emplace(static_cast<int>(rng.UniformInt(10)), static_cast<int>(rng.UniformInt(10)));
  }
  return cells;
}

Naive Moved(const Naive& cells, int rows, int columns) {
  Naive result;
  for (const auto& [row, column] : cells) {
    const int to_row = row + rows;
    const int to_column = column + columns;
    if (to_row >= 0 && to_row < 10 && to_column >= 0 && to_column < 10) result.emplace(to_row, to_column);
  }
  return result;
}

TEST(CellSetTest, IsASetOfCells) {
  Rng rng(1);
  for (int i = 0; i < 500; ++i) {
    const Naive cells = Random(rng);
    const Naive others = Random(rng);
    const CellSet set = FromNaive(cells);
    EXPECT_EQ(set.size(), static_cast<int>(cells.size()));
    EXPECT_EQ(set.empty(), cells.empty());
    Naive both;
    Naive either = others;
    Naive rest;
    for (const auto& cell : cells) {
      (others.contains(cell) ? both : rest).insert(cell);
      either.insert(cell);
    }
    EXPECT_EQ(set & FromNaive(others), FromNaive(both));
    EXPECT_EQ(set | FromNaive(others), FromNaive(either));
    EXPECT_EQ(set - FromNaive(others), FromNaive(rest));
    for (int row = 0; row < 10; ++row) {
      for (int column = 0; column < 10; ++column) {
        EXPECT_EQ(set.Has(row, column), cells.contains({row, column}));
      }
    }
    CellSet emptied = set;
    for (const auto& [row, column] : cells) emptied.Remove(row, column);
    EXPECT_TRUE(emptied.empty());
  }
}

TEST(CellSetTest, MovesEveryCellAndDropsThoseThatLeave) {
  Rng rng(2);
  for (int i = 0; i < 500; ++i) {
    const Naive cells = Random(rng);
    const CellSet set = FromNaive(cells);
    EXPECT_EQ(set.MovedUp(), FromNaive(Moved(cells, -1, 0)));
    EXPECT_EQ(set.MovedDown(), FromNaive(Moved(cells, 1, 0)));
    EXPECT_EQ(set.MovedLeft(), FromNaive(Moved(cells, 0, -1)));
    EXPECT_EQ(set.MovedRight(), FromNaive(Moved(cells, 0, 1)));
    Naive rotated = Moved(cells, 1, 0);
    for (const auto& [row, column] : cells) {
      if (row == 9) rotated.emplace(0, column);
    }
    EXPECT_EQ(set.RotatedDown(), FromNaive(rotated));
  }
}

TEST(CellSetTest, MakesRowsColumnsAndBlocks) {
  for (int i = 0; i < 10; ++i) {
    Naive row;
    Naive column;
    for (int k = 0; k < 10; ++k) {
      row.emplace(i, k);
      column.emplace(k, i);
    }
    EXPECT_EQ(CellSet::Row(i), FromNaive(row));
    EXPECT_EQ(CellSet::Column(i), FromNaive(column));
  }
  EXPECT_EQ(CellSet::Block(1, 2, 7, 8), FromNaive({{1, 7}, {1, 8}, {2, 7}, {2, 8}}));
}

TEST(CellSetTest, GoesThroughItsCellsInRisingOrder) {
  Rng rng(3);
  for (int i = 0; i < 200; ++i) {
    const Naive cells = Random(rng);
    std::vector<int> want;
    for (const auto& [row, column] : cells) want.push_back(10 * row + column);
    std::vector<int> got;
    FromNaive(cells).ForEach([&](int cell) { got.push_back(cell); });
    EXPECT_EQ(got, want);
  }
}

struct Item {
  int row = 0;
  int column = 0;
  int number = 0;
};

TEST(OrderedListTest, KeepsTheOrderInWhichItemsCame) {
  OrderedList<Item, 4> list;
  for (int i = 0; i < 4; ++i) list.Add({.row = i % 2, .column = 7, .number = i});
  EXPECT_EQ(list.FirstAt(1, 7), 1);
  EXPECT_EQ(list.FirstAt(1, 6), -1);
  list.Remove(1);
  ASSERT_EQ(list.size(), 3);
  EXPECT_EQ(list[0].number, 0);
  EXPECT_EQ(list[1].number, 2);
  EXPECT_EQ(list[2].number, 3);
  EXPECT_EQ(list.FirstAt(1, 7), 2);
  list.Remove(2);
  list.Remove(0);
  ASSERT_EQ(list.size(), 1);
  EXPECT_EQ(list[0].number, 2);
}

TEST(OrderedListDeathTest, OneTooManyAborts) {
  OrderedList<Item, 1> list;
  list.Add({});
  EXPECT_DEATH(list.Add({}), "check failed");
}

}  // namespace
}  // namespace metronome
