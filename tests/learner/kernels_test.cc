#include "learner/kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "metronome/core/rng.h"

namespace metronome::kernels {
namespace {

// Matrices as plain vectors and loops: what the kernels must agree with.
struct Matrix {
  Matrix(std::int64_t r, std::int64_t c, Rng* rng = nullptr)
      : rows(r), columns(c), values(static_cast<std::size_t>(r * c)) {
    if (rng == nullptr) return;
    for (double& value : values) value = static_cast<double>(static_cast<float>(rng->Uniform(-1.0, 1.0)));
  }
  double& at(std::int64_t r, std::int64_t c) { return values[static_cast<std::size_t>(r * columns + c)]; }
  double at(std::int64_t r, std::int64_t c) const {
    return values[static_cast<std::size_t>(r * columns + c)];
  }

  std::int64_t rows, columns;
  std::vector<double> values;
};

/// The matrix as float rows `stride` apart, zeros between.
std::vector<float> Padded(const Matrix& matrix, std::int64_t stride) {
  std::vector<float> rows(static_cast<std::size_t>(matrix.rows * stride));
  for (std::int64_t r = 0; r < matrix.rows; ++r) {
    for (std::int64_t c = 0; c < matrix.columns; ++c) {
      rows[static_cast<std::size_t>(r * stride + c)] = static_cast<float>(matrix.at(r, c));
    }
  }
  return rows;
}

/// Weights (outputs, inputs) and biases (outputs) in the packed layout.
std::vector<float> Packed(const PackedShape& shape, const Matrix& weights, const Matrix* biases) {
  std::vector<float> packed(static_cast<std::size_t>(shape.size()));
  for (std::int64_t output = 0; output < shape.outputs(); ++output) {
    for (std::int64_t input = 0; input < shape.inputs(); ++input) {
      packed[static_cast<std::size_t>(shape.OffsetOf(input, output))] =
          static_cast<float>(weights.at(output, input));
    }
    if (biases != nullptr) {
      packed[static_cast<std::size_t>(shape.OffsetOf(shape.inputs(), output))] =
          static_cast<float>(biases->at(0, output));
    }
  }
  return packed;
}

// Below, at and above every block of rows, vector and panel.
constexpr std::int64_t kSizes[] = {1, 2, 3, 5, 7, 8, 15, 16, 17, 31, 32, 33, 48, 65, 100};
constexpr std::int64_t kRowCounts[] = {1, 2, 3, 7, 12, 13, 29, 64};

TEST(KernelsTest, HiddenForwardIsTheProductPlusBiasCutAtZero) {
  Rng rng(1);
  for (const std::int64_t inputs : kSizes) {
    for (const std::int64_t outputs : kSizes) {
      for (const std::int64_t rows : kRowCounts) {
        const PackedShape shape(inputs, outputs, true);
        const Matrix x(rows, inputs, &rng);
        const Matrix w(outputs, inputs, &rng);
        const Matrix b(1, outputs, &rng);
        const std::vector<float> packed = Packed(shape, w, &b);
        const std::vector<float> x_rows = Padded(x, inputs + 3);
        const std::int64_t stride = StrideFor(outputs);
        std::vector<float> y(static_cast<std::size_t>(rows * stride), -7.0f);
        HiddenForward(shape, packed.data(), rows, {x_rows.data(), inputs + 3}, {y.data(), stride});
        for (std::int64_t r = 0; r < rows; ++r) {
          for (std::int64_t o = 0; o < shape.padded_outputs(); ++o) {
            double want = 0.0;
            if (o < outputs) {
              want = b.at(0, o);
              for (std::int64_t i = 0; i < inputs; ++i) want += x.at(r, i) * w.at(o, i);
            }
            ASSERT_NEAR(y[static_cast<std::size_t>(r * stride + o)], std::max(want, 0.0), 1e-4)
                << inputs << " -> " << outputs << ", row " << r << " of " << rows << ", output " << o;
          }
        }
      }
    }
  }
}

TEST(KernelsTest, HiddenForwardOfARowDoesNotDependOnTheRowsAroundIt) {
  Rng rng(2);
  const PackedShape shape(33, 100, true);
  const Matrix x(64, 33, &rng);
  const Matrix w(100, 33, &rng);
  const Matrix b(1, 100, &rng);
  const std::vector<float> packed = Packed(shape, w, &b);
  const std::vector<float> x_rows = Padded(x, 33);
  const std::int64_t stride = StrideFor(100);
  std::vector<float> together(static_cast<std::size_t>(64 * stride));
  std::vector<float> alone(static_cast<std::size_t>(64 * stride));
  HiddenForward(shape, packed.data(), 64, {x_rows.data(), 33}, {together.data(), stride});
  for (std::int64_t row = 0; row < 64; ++row) {
    HiddenForward(shape, packed.data(), 1, {x_rows.data() + row * 33, 33},
                  {alone.data() + row * stride, stride});
  }
  EXPECT_EQ(together, alone);
}

TEST(KernelsTest, HiddenBackwardIsTheProductWithTheWeightsWhereTheInputWasActive) {
  Rng rng(3);
  for (const std::int64_t inputs : kSizes) {
    for (const std::int64_t outputs : kSizes) {
      const std::int64_t rows = 13;
      const PackedShape shape(inputs, outputs, true);
      const PackedShape transposed(outputs, inputs, false);
      const Matrix w(outputs, inputs, &rng);
      const Matrix dy(rows, outputs, &rng);
      Matrix active(rows, inputs, &rng);
      for (double& value : active.values) value = std::max(value, 0.0);
      const std::vector<float> packed = Packed(shape, w, nullptr);
      std::vector<float> turned(static_cast<std::size_t>(transposed.size()));
      for (std::int64_t panel = 0; panel < shape.num_panels(); ++panel) {
        const std::int64_t middle = inputs / 2;  // in two tiles, the second with the bias
        Transpose(shape, {panel, 0, middle}, packed.data(), transposed, turned.data());
        Transpose(shape, {panel, middle, inputs + 1}, packed.data(), transposed, turned.data());
      }
      const std::int64_t dy_stride = StrideFor(outputs);
      const std::int64_t stride = StrideFor(inputs);
      const std::vector<float> dy_rows = Padded(dy, dy_stride);
      const std::vector<float> active_rows = Padded(active, stride);
      std::vector<float> dx(static_cast<std::size_t>(rows * stride), -7.0f);
      HiddenBackward(transposed, turned.data(), rows, {dy_rows.data(), dy_stride},
                     {active_rows.data(), stride}, {dx.data(), stride});
      for (std::int64_t r = 0; r < rows; ++r) {
        for (std::int64_t i = 0; i < inputs; ++i) {
          double want = 0.0;
          for (std::int64_t o = 0; o < outputs; ++o) want += dy.at(r, o) * w.at(o, i);
          if (active.at(r, i) <= 0.0) want = 0.0;
          ASSERT_NEAR(dx[static_cast<std::size_t>(r * stride + i)], want, 1e-4)
              << inputs << " <- " << outputs << ", row " << r << ", input " << i;
        }
      }
    }
  }
}

/// Three elements of four become 0.
void MakeSparse(Matrix& matrix) {
  for (std::size_t i = 0; i < matrix.values.size(); ++i) {
    if (i * 7 % 4 != 0) matrix.values[i] = 0.0;
  }
}

// Depths that the sparse path takes and, with outputs for one, two, four and more panels and a rest.
constexpr std::int64_t kSparseDepths[] = {64, 128, 320};
constexpr std::int64_t kSparseOutputs[] = {1, 16, 32, 33, 64, 100, 128, 300};

TEST(KernelsTest, HiddenForwardOfSparseRowsIsTheProductAndThatOfFullRowsToTheLastBit) {
  Rng rng(20);
  for (const std::int64_t inputs : kSparseDepths) {
    for (const std::int64_t outputs : kSparseOutputs) {
      const PackedShape shape(inputs, outputs, true);
      Matrix sparse(5, inputs, &rng);
      MakeSparse(sparse);
      // The same five rows and thirty full ones: too many are not zero to pass over those that are.
      Matrix among(35, inputs, &rng);
      std::copy(sparse.values.begin(), sparse.values.end(), among.values.begin());
      const Matrix w(outputs, inputs, &rng);
      const Matrix b(1, outputs, &rng);
      const std::vector<float> packed = Packed(shape, w, &b);
      const std::vector<float> sparse_rows = Padded(sparse, inputs + 3);
      const std::vector<float> among_rows = Padded(among, inputs + 3);
      const std::int64_t stride = StrideFor(outputs);
      std::vector<float> y(static_cast<std::size_t>(5 * stride), -7.0f);
      std::vector<float> y_among(static_cast<std::size_t>(35 * stride), -7.0f);
      HiddenForward(shape, packed.data(), 5, {sparse_rows.data(), inputs + 3}, {y.data(), stride});
      HiddenForward(shape, packed.data(), 35, {among_rows.data(), inputs + 3}, {y_among.data(), stride});
      for (std::int64_t r = 0; r < 5; ++r) {
        for (std::int64_t o = 0; o < outputs; ++o) {
          double want = b.at(0, o);
          for (std::int64_t i = 0; i < inputs; ++i) want += sparse.at(r, i) * w.at(o, i);
          const auto at = static_cast<std::size_t>(r * stride + o);
          ASSERT_NEAR(y[at], std::max(want, 0.0), 1e-4) << inputs << " -> " << outputs << ", row " << r;
          ASSERT_EQ(y[at], y_among[at]) << inputs << " -> " << outputs << ", row " << r << ", output " << o;
        }
      }
    }
  }
}

TEST(KernelsTest, HiddenBackwardOfSparseRowsIsTheProductAndThatOfFullRowsToTheLastBit) {
  Rng rng(21);
  for (const std::int64_t outputs : kSparseDepths) {
    for (const std::int64_t inputs : kSparseOutputs) {
      const PackedShape transposed(outputs, inputs, false);
      Matrix sparse(5, outputs, &rng);
      MakeSparse(sparse);
      Matrix among(35, outputs, &rng);
      std::copy(sparse.values.begin(), sparse.values.end(), among.values.begin());
      const Matrix w(inputs, outputs, &rng);  // what the packed layout calls outputs are the inputs here
      const Matrix active(35, inputs, &rng);
      const std::vector<float> turned = Packed(transposed, w, nullptr);
      const std::int64_t stride = StrideFor(inputs);
      const std::vector<float> active_rows = Padded(active, stride);
      const std::vector<float> sparse_rows = Padded(sparse, outputs);
      const std::vector<float> among_rows = Padded(among, outputs);
      std::vector<float> dx(static_cast<std::size_t>(5 * stride), -7.0f);
      std::vector<float> dx_among(static_cast<std::size_t>(35 * stride), -7.0f);
      HiddenBackward(transposed, turned.data(), 5, {sparse_rows.data(), outputs},
                     {active_rows.data(), stride}, {dx.data(), stride});
      HiddenBackward(transposed, turned.data(), 35, {among_rows.data(), outputs},
                     {active_rows.data(), stride}, {dx_among.data(), stride});
      for (std::int64_t r = 0; r < 5; ++r) {
        for (std::int64_t i = 0; i < inputs; ++i) {
          double want = 0.0;
          for (std::int64_t o = 0; o < outputs; ++o) want += sparse.at(r, o) * w.at(i, o);
          if (active.at(r, i) <= 0.0) want = 0.0;
          const auto at = static_cast<std::size_t>(r * stride + i);
          ASSERT_NEAR(dx[at], want, 1e-4) << inputs << " <- " << outputs << ", row " << r;
          ASSERT_EQ(dx[at], dx_among[at]) << inputs << " <- " << outputs << ", row " << r << ", input " << i;
        }
      }
    }
  }
}

TEST(KernelsTest, NanIsNotPassedOverAsAZero) {
  std::vector<float> values(64);
  EXPECT_EQ(simd::NonZeroMask<64>(values.data()), 0u);
  values[0] = std::numeric_limits<float>::quiet_NaN();
  values[17] = -0.0f;
  values[63] = 1e-30f;
  EXPECT_EQ(simd::NonZeroMask<64>(values.data()), (std::uint64_t{1} << 63) | 1u);
}

TEST(KernelsTest, HiddenGradientIsTheOuterProductSummedOverRowsWithItsSquares) {
  Rng rng(4);
  for (const std::int64_t inputs : kSizes) {
    for (const std::int64_t outputs : kSizes) {
      const std::int64_t rows = 29;
      const PackedShape shape(inputs, outputs, true);
      const Matrix x(rows, inputs, &rng);
      const Matrix dy(rows, outputs, &rng);
      const std::vector<float> x_rows = Padded(x, inputs);
      const std::int64_t stride = StrideFor(outputs);
      const std::vector<float> dy_rows = Padded(dy, stride);
      std::vector<float> gradient(static_cast<std::size_t>(shape.size()), -7.0f);
      double squares = 0.0;
      for (std::int64_t panel = 0; panel < shape.num_panels(); ++panel) {
        const std::int64_t middle = inputs / 2;
        double tile = 0.0;
        HiddenGradients(shape, {panel, 0, middle}, 1, rows, {x_rows.data(), inputs}, {dy_rows.data(), stride},
                        gradient.data(), &tile, 1);
        squares += tile;
        HiddenGradients(shape, {panel, middle, inputs + 1}, 1, rows, {x_rows.data(), inputs},
                        {dy_rows.data(), stride}, gradient.data(), &tile, 1);
        squares += tile;
      }
      double want_squares = 0.0;
      for (std::int64_t o = 0; o < outputs; ++o) {
        for (std::int64_t i = 0; i <= inputs; ++i) {
          double want = 0.0;
          for (std::int64_t r = 0; r < rows; ++r) want += dy.at(r, o) * (i < inputs ? x.at(r, i) : 1.0);
          want_squares += want * want;
          ASSERT_NEAR(gradient[static_cast<std::size_t>(shape.OffsetOf(i, o))], want, 1e-4)
              << inputs << " -> " << outputs << ", input " << i << ", output " << o;
        }
      }
      ASSERT_NEAR(squares, want_squares, 1e-4 * want_squares);
    }
  }
}

TEST(KernelsTest, HiddenGradientOfSparseRowsIsThatOfOnePanelAtATimeToTheLastBit) {
  Rng rng(22);
  for (const std::int64_t rows : {1, 31, 32, 33, 100}) {
    for (const std::int64_t panels : {1, 2, 4}) {
      const std::int64_t inputs = 40;
      const std::int64_t outputs = panels * PackedShape::kPanelWidth;
      const PackedShape shape(inputs, outputs, true);
      Matrix x(rows, inputs, &rng);
      MakeSparse(x);
      const Matrix dy(rows, outputs, &rng);
      const std::vector<float> x_rows = Padded(x, inputs);
      const std::int64_t stride = StrideFor(outputs);
      const std::vector<float> dy_rows = Padded(dy, stride);
      std::vector<float> together(static_cast<std::size_t>(shape.size()), -7.0f);
      std::vector<float> alone = together;
      for (const auto& [first, last] : {std::pair(0, 16), std::pair(16, 32), std::pair(32, 41)}) {
        std::vector<double> squares(4);
        HiddenGradients(shape, {0, first, last}, panels, rows, {x_rows.data(), inputs},
                        {dy_rows.data(), stride}, together.data(), squares.data(), 1);
        for (std::int64_t panel = 0; panel < panels; ++panel) {
          double square = 0.0;
          HiddenGradients(shape, {panel, first, last}, 1, rows, {x_rows.data(), inputs},
                          {dy_rows.data(), stride}, alone.data(), &square, 1);
          EXPECT_EQ(squares[static_cast<std::size_t>(panel)], square);
        }
      }
      EXPECT_EQ(together, alone) << rows << " rows, " << panels << " panels";
      for (std::int64_t o = 0; o < outputs; ++o) {
        for (std::int64_t i = 0; i <= inputs; ++i) {
          double want = 0.0;
          for (std::int64_t r = 0; r < rows; ++r) want += dy.at(r, o) * (i < inputs ? x.at(r, i) : 1.0);
          ASSERT_NEAR(together[static_cast<std::size_t>(shape.OffsetOf(i, o))], want, 1e-4);
        }
      }
    }
  }
}

TEST(KernelsTest, OutputLayerAgreesWithPlainLoops) {
  Rng rng(5);
  for (const std::int64_t inputs : kSizes) {
    for (const std::int64_t actions : {1, 2, 4, 9, 18}) {
      const std::int64_t rows = 13;
      const OutputShape shape{inputs, actions};
      Matrix x(rows, inputs, &rng);
      for (double& value : x.values) value = std::max(value, 0.0);
      const Matrix w(actions, inputs, &rng);
      const Matrix b(1, actions, &rng);
      std::vector<float> weights(static_cast<std::size_t>(shape.size()));
      for (std::int64_t a = 0; a < actions; ++a) {
        for (std::int64_t i = 0; i < inputs; ++i) {
          weights[static_cast<std::size_t>(a * shape.stride() + i)] = static_cast<float>(w.at(a, i));
        }
        weights[static_cast<std::size_t>(shape.bias_offset() + a)] = static_cast<float>(b.at(0, a));
      }
      const std::int64_t stride = StrideFor(inputs);
      const std::vector<float> x_rows = Padded(x, stride);
      std::vector<float> q(static_cast<std::size_t>(rows * actions));
      OutputForward(shape, weights.data(), rows, {x_rows.data(), stride}, {q.data(), actions});
      std::vector<std::int32_t> chosen;
      std::vector<float> errors;
      for (std::int64_t r = 0; r < rows; ++r) {
        for (std::int64_t a = 0; a < actions; ++a) {
          double want = b.at(0, a);
          for (std::int64_t i = 0; i < inputs; ++i) want += x.at(r, i) * w.at(a, i);
          ASSERT_NEAR(q[static_cast<std::size_t>(r * actions + a)], want, 1e-4);
        }
        chosen.push_back(static_cast<std::int32_t>(rng.UniformInt(actions)));
        errors.push_back(static_cast<float>(rng.Uniform(-1.0, 1.0)));
      }
      std::vector<float> dx(static_cast<std::size_t>(rows * stride));
      OutputBackward(shape, weights.data(), rows, chosen.data(), errors.data(), {x_rows.data(), stride},
                     {dx.data(), stride});
      std::vector<float> gradient(static_cast<std::size_t>(shape.size()), -7.0f);
      const std::int64_t middle = inputs / 2;
      double squares = OutputGradient(shape, 0, middle, rows, chosen.data(), errors.data(),
                                      {x_rows.data(), stride}, gradient.data());
      if (middle < inputs) {
        squares += OutputGradient(shape, std::max<std::int64_t>(middle, 0), inputs, rows, chosen.data(),
                                  errors.data(), {x_rows.data(), stride}, gradient.data());
      }
      double want_squares = 0.0;
      for (std::int64_t a = 0; a < actions; ++a) {
        for (std::int64_t i = 0; i <= inputs; ++i) {
          double want = 0.0;
          for (std::int64_t r = 0; r < rows; ++r) {
            const auto row = static_cast<std::size_t>(r);
            if (chosen[row] != a) continue;
            want += static_cast<double>(errors[row]) * (i < inputs ? x.at(r, i) : 1.0);
          }
          want_squares += want * want;
          const std::int64_t at = i < inputs ? a * shape.stride() + i : shape.bias_offset() + a;
          ASSERT_NEAR(gradient[static_cast<std::size_t>(at)], want, 1e-4)
              << inputs << " inputs, action " << a;
        }
      }
      // With a single input both parts begin at column 0, and the biases count twice.
      if (middle > 0) {
        ASSERT_NEAR(squares, want_squares, 1e-4 * want_squares + 1e-9);
      }
      for (std::int64_t r = 0; r < rows; ++r) {
        for (std::int64_t i = 0; i < inputs; ++i) {
          const auto row = static_cast<std::size_t>(r);
          const double want =
              x.at(r, i) > 0.0 ? static_cast<double>(errors[row]) * w.at(chosen[row], i) : 0.0;
          ASSERT_NEAR(dx[static_cast<std::size_t>(r * stride + i)], want, 1e-5);
        }
      }
    }
  }
}

TEST(KernelsTest, AdamTakesTheStepWorkedOutByHand) {
  // First step from zero moments with g = 0.5: m = 0.05, v = 0.00025, corrected m/(1-0.9) = 0.5, v/(1-0.999)
  // = 0.25, so w falls by lr * 0.5 / (sqrt(0.25) + eps) = lr.
  AdamStep step;
  step.step_size = static_cast<float>(0.01 / (1.0 - 0.9));
  step.inverse_root = static_cast<float>(1.0 / std::sqrt(1.0 - 0.999));
  std::vector<float> gradient = {9.0f, 0.5f, 9.0f};
  std::vector<float> weight = {1.0f, 1.0f, 1.0f};
  std::vector<float> m(3), v(3);
  Adam(step, 1, 2, gradient.data(), weight.data(), m.data(), v.data());
  EXPECT_NEAR(weight[1], 0.99f, 1e-6);
  EXPECT_NEAR(m[1], 0.05f, 1e-7);
  EXPECT_NEAR(v[1], 0.00025f, 1e-9);
  EXPECT_EQ(weight[0], 1.0f) << "outside the range";
  EXPECT_EQ(weight[2], 1.0f) << "outside the range";
}

TEST(KernelsTest, TargetSyncCopiesOrMovesByTheRate) {
  const std::vector<float> online = {1.0f, 2.0f, 3.0f};
  std::vector<float> target = {0.0f, 0.0f, 0.0f};
  TargetSync(0.25f, 1, 3, online.data(), target.data());
  EXPECT_THAT(target, testing::ElementsAre(0.0f, 0.5f, 0.75f));
  TargetSync(1.0f, 0, 2, online.data(), target.data());
  EXPECT_THAT(target, testing::ElementsAre(1.0f, 2.0f, 0.75f));
}

}  // namespace
}  // namespace metronome::kernels
