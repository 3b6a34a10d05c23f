#include "games/cartpole.h"

#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <numbers>
#include <string_view>

#include "metronome/core/check.h"
#include "metronome/core/hash.h"
#include "metronome/core/rng.h"

namespace metronome {
namespace {

constexpr double kGravity = 9.8;                             // m/s^2
constexpr double kPoleMass = 0.1;                            // kg
constexpr double kCartMass = 1.0;                            // kg
constexpr double kTotalMass = kPoleMass + kCartMass;         // kg
constexpr double kHalfPoleLength = 0.5;                      // m
constexpr double kPoleMoment = kPoleMass * kHalfPoleLength;  // kg m
constexpr double kForce = 10.0;                              // N
constexpr double kStepSeconds = 0.02;
constexpr double kAngleLimit = 12 * 2 * std::numbers::pi / 360;  // rad; in this order, for the last bit
constexpr double kPositionLimit = 2.4;                           // m
constexpr double kStartRange = 0.05;  // each part of the state starts within this of 0
constexpr std::int64_t kMaxEpisodeSteps = 500;

// The picture: one cell is one metre.
constexpr float kPictureWidth = 6.4f;
constexpr float kPictureHeight = 4.2f;
constexpr float kRailY = 3.2f;
constexpr float kCartWidth = 0.56f;
constexpr float kCartHeight = 0.26f;
constexpr float kWheelRadius = 0.085f;
constexpr float kPoleLength = 1.0f;
constexpr Color kSky = {24, 30, 44};
constexpr Color kHorizon = {48, 62, 98};
constexpr int kSkyBands = 32;  // from the one to the other
constexpr Color kHills = {32, 40, 58};
constexpr Color kNearHills = {37, 46, 66};
constexpr Color kGround = {44, 54, 75};
constexpr Color kGroundEdge = {64, 78, 106};
constexpr Color kSleeper = {58, 70, 94};
constexpr Color kRail = {138, 152, 180};
constexpr Color kStop = {226, 87, 76};
constexpr Color kStopStripe = {244, 232, 222};
constexpr Color kShadow = {14, 18, 28, 90};
constexpr Color kLean = {255, 190, 92, 26};
constexpr Color kLeanEdge = {255, 190, 92, 90};
constexpr Color kCart = {84, 160, 255};
constexpr Color kCartTop = {130, 188, 255};
constexpr Color kWheel = {224, 230, 240};
constexpr Color kHub = {70, 82, 106};
constexpr Color kPole = {255, 190, 92};
constexpr Color kPoleLight = {255, 220, 160};
constexpr Color kHinge = {250, 250, 250};

GameSpec MakeSpec() {
  constexpr double kUnbounded = std::numeric_limits<double>::infinity();
  // The step that terminates can end beyond a limit, never beyond twice the limit: that takes 120 m/s or
  // 10 rad/s, and the force reaches 10 m/s and 4 rad/s on the way.
  constexpr double kPositionRange = 2 * kPositionLimit;
  constexpr double kAngleRange = 2 * kAngleLimit;
  GameSpec spec;
  spec.name = "cartpole";
  spec.actions = {{"left", {"Left"}}, {"right", {"Right"}}};
  spec.observation.type = ElementType::kFloat32;
  spec.observation.shape = {4};
  spec.observation.features = {{"cart position, m", -kPositionRange, kPositionRange},
                               {"cart velocity, m/s", -kUnbounded, kUnbounded},
                               {"pole angle, rad", -kAngleRange, kAngleRange},
                               {"pole angular velocity, rad/s", -kUnbounded, kUnbounded}};
  spec.tick_rate_hz = 1 / kStepSeconds;
  spec.ticks_per_step = 1;
  spec.default_max_episode_steps = kMaxEpisodeSteps;
  spec.draw_width = static_cast<double>(kPictureWidth);
  spec.draw_height = static_cast<double>(kPictureHeight);
  return spec;
}

/// Everything that never moves.
void DrawScenery(DrawList& out) {
  constexpr float kMiddle = kPictureWidth / 2;
  constexpr auto kLimit = static_cast<float>(kPositionLimit);
  out.Rectangle(0.0f, 0.0f, kPictureWidth, kPictureHeight, kSky);
  for (int band = 1; band < kSkyBands; ++band) {
    const float top = kRailY * static_cast<float>(band) / kSkyBands;
    const auto mixed = [&](int high, int low) {
      return static_cast<std::uint8_t>(high + (low - high) * band / kSkyBands);
    };
    const Color color = {mixed(kSky.red, kHorizon.red), mixed(kSky.green, kHorizon.green),
                         mixed(kSky.blue, kHorizon.blue)};
    out.Rectangle(0.0f, top, kPictureWidth, kRailY / kSkyBands, color);
  }
  const std::array<DrawPoint, 9> hills = {{{0.0f, 2.5f},
                                           {0.8f, 2.15f},
                                           {1.7f, 2.55f},
                                           {2.6f, 2.2f},
                                           {3.6f, 2.62f},
                                           {4.7f, 2.1f},
                                           {kPictureWidth, 2.6f},
                                           {kPictureWidth, kRailY},
                                           {0.0f, kRailY}}};
  out.Polygon(hills, kHills);
  const std::array<DrawPoint, 8> near_hills = {{{0.0f, 2.8f},
                                                {1.2f, 2.62f},
                                                {2.3f, 2.9f},
                                                {4.0f, 2.7f},
                                                {5.4f, 2.92f},
                                                {kPictureWidth, 2.75f},
                                                {kPictureWidth, kRailY},
                                                {0.0f, kRailY}}};
  out.Polygon(near_hills, kNearHills);
  out.Rectangle(0.0f, kRailY, kPictureWidth, kPictureHeight - kRailY, kGround);
  out.Rectangle(0.0f, kRailY, kPictureWidth, 0.02f, kGroundEdge);

  // The rail on its sleepers, with a number at each metre and a buffer at both ends.
  for (int i = -12; i <= 12; ++i) {
    out.Rectangle(kMiddle + 0.2f * static_cast<float>(i) - 0.05f, kRailY + 0.03f, 0.1f, 0.07f, kSleeper);
  }
  out.Rectangle(kMiddle - kLimit, kRailY - 0.02f, 2 * kLimit, 0.05f, kRail);
  constexpr std::array<std::string_view, 5> kMetres = {"-2", "-1", "0", "1", "2 m"};
  for (std::size_t i = 0; i < kMetres.size(); ++i) {
    const float x = kMiddle + static_cast<float>(i) - 2.0f;
    out.Rectangle(x - 0.008f, kRailY + 0.12f, 0.016f, 0.07f, kRail);
    out.Text({x - (i < 2 ? 0.09f : 0.045f), kRailY + 0.22f}, 0.15f, kMetres[i], kRail);
  }
  for (const float side : {-1.0f, 1.0f}) {
    const float left = kMiddle + side * kLimit - 0.06f;
    out.Rectangle(left, kRailY - 0.42f, 0.12f, 0.48f, kStop);
    out.Rectangle(left, kRailY - 0.3f, 0.12f, 0.09f, kStopStripe);
    out.Rectangle(left, kRailY - 0.12f, 0.12f, 0.09f, kStopStripe);
  }
}

/// Pushes the cart under the side to which the pole will fall: a linear rule, its weights found by hand. The
/// first two terms catch the pole, the others bring the cart back to the middle.
class CartpolePolicy final : public ScriptedPolicy {
 public:
  int Act(std::span<const float> observation) override {
    METRONOME_CHECK_EQ(observation.size(), 4u);
    const float push =
        observation[2] + 0.25f * observation[3] + 0.05f * observation[0] + 0.1f * observation[1];
    return push > 0.0f ? 1 : 0;
  }
};

}  // namespace

Cartpole::Cartpole(const GameParameters& parameters)
    : spec_(MakeSpec()), sutton_barto_reward_(parameters.GetBool("sutton_barto_reward")) {}

void Cartpole::Reset(std::uint64_t seed) {
  Rng rng(seed);
  state_.position = rng.Uniform(-kStartRange, kStartRange);
  state_.velocity = rng.Uniform(-kStartRange, kStartRange);
  state_.angle = rng.Uniform(-kStartRange, kStartRange);
  state_.angular_velocity = rng.Uniform(-kStartRange, kStartRange);
  playing_ = true;
}

StepResult Cartpole::Step(int action) {
  METRONOME_CHECK(playing_);
  METRONOME_CHECK_GE(action, 0);
  METRONOME_CHECK_LT(action, 2);
  const auto [x, v, th, w] = state_;
  const double sin_th = std::sin(th);
  const double cos_th = std::cos(th);
  const double force = action == 1 ? kForce : -kForce;
  // The equations of motion of the article, in the original's order of operations: t is the acceleration of
  // the cart without the pole's push back, alpha the pole's angular acceleration, a the cart's acceleration.
  const double t = (force + kPoleMoment * (w * w) * sin_th) / kTotalMass;
  const double alpha = (kGravity * sin_th - cos_th * t) /
                       (kHalfPoleLength * (4.0 / 3.0 - kPoleMass * (cos_th * cos_th) / kTotalMass));
  const double a = t - kPoleMoment * alpha * cos_th / kTotalMass;
  // Explicit Euler: positions first, with the old velocities.
  state_.position = x + kStepSeconds * v;
  state_.velocity = v + kStepSeconds * a;
  state_.angle = th + kStepSeconds * w;
  state_.angular_velocity = w + kStepSeconds * alpha;

  StepResult result;
  result.terminated = state_.position < -kPositionLimit || state_.position > kPositionLimit ||
                      state_.angle < -kAngleLimit || state_.angle > kAngleLimit;
  if (sutton_barto_reward_) {
    result.reward = result.terminated ? -1.0f : 0.0f;
  } else {
    result.reward = 1.0f;
  }
  playing_ = !result.terminated;
  return result;
}

void Cartpole::WriteObservation(std::span<float> out) const {
  METRONOME_CHECK_EQ(out.size(), 4u);
  out[0] = static_cast<float>(state_.position);
  out[1] = static_cast<float>(state_.velocity);
  out[2] = static_cast<float>(state_.angle);
  out[3] = static_cast<float>(state_.angular_velocity);
}

std::uint64_t Cartpole::StateHash() const {
  return StateHasher()
      .Add(state_.position)
      .Add(state_.velocity)
      .Add(state_.angle)
      .Add(state_.angular_velocity)
      .Add(playing_)
      .value();
}

void Cartpole::SetState(const State& state) {
  state_ = state;
  playing_ = true;
}

void Cartpole::Draw(DrawList& out) const {
  constexpr float kMiddle = kPictureWidth / 2;
  constexpr auto kLeanLimit = static_cast<float>(kAngleLimit);
  DrawScenery(out);

  const float cart = kMiddle + static_cast<float>(state_.position);
  const float cart_top = kRailY - 2 * kWheelRadius - kCartHeight + 0.04f;
  const DrawPoint hinge = {cart, cart_top};
  const auto tip = [&hinge](float angle, float length) {
    return DrawPoint{hinge.x + length * std::sin(angle), hinge.y - length * std::cos(angle)};
  };

  // How far the pole may lean.
  constexpr int kPartsOfArc = 12;
  std::array<DrawPoint, kPartsOfArc + 2> fan = {hinge};
  for (int i = 0; i <= kPartsOfArc; ++i) {
    const float share = static_cast<float>(i) / kPartsOfArc;
    fan[static_cast<std::size_t>(i) + 1] = tip((2 * share - 1) * kLeanLimit, 1.25f * kPoleLength);
  }
  out.Polygon(fan, kLean);
  for (const float side : {-1.0f, 1.0f}) {
    const std::array<DrawPoint, 2> edge = {hinge, tip(side * kLeanLimit, 1.25f * kPoleLength)};
    out.Polyline(edge, 0.015f, kLeanEdge);
  }

  out.Rectangle(cart - 0.5f * kCartWidth, kRailY + 0.03f, kCartWidth, 0.05f, kShadow);
  const std::array<DrawPoint, 8> body = {{{cart - 0.46f * kCartWidth, cart_top},
                                          {cart + 0.46f * kCartWidth, cart_top},
                                          {cart + 0.5f * kCartWidth, cart_top + 0.03f},
                                          {cart + 0.5f * kCartWidth, cart_top + kCartHeight - 0.03f},
                                          {cart + 0.46f * kCartWidth, cart_top + kCartHeight},
                                          {cart - 0.46f * kCartWidth, cart_top + kCartHeight},
                                          {cart - 0.5f * kCartWidth, cart_top + kCartHeight - 0.03f},
                                          {cart - 0.5f * kCartWidth, cart_top + 0.03f}}};
  out.Polygon(body, kCart);
  out.Rectangle(cart - 0.46f * kCartWidth, cart_top, 0.92f * kCartWidth, 0.06f, kCartTop);
  for (const float side : {-1.0f, 1.0f}) {
    const DrawPoint wheel = {cart + side * 0.3f * kCartWidth, kRailY - kWheelRadius - 0.02f};
    out.Circle(wheel, kWheelRadius, kWheel);
    out.Circle(wheel, 0.4f * kWheelRadius, kHub);
  }
  const auto angle = static_cast<float>(state_.angle);
  const std::array<DrawPoint, 2> pole = {hinge, tip(angle, kPoleLength)};
  out.Polyline(pole, 0.1f, kPole);
  const std::array<DrawPoint, 2> light = {tip(angle, 0.1f), tip(angle, kPoleLength)};
  out.Polyline(light, 0.03f, kPoleLight);
  out.Circle(hinge, 0.055f, kHinge);
  out.Circle(hinge, 0.022f, kHub);
}

GameInfo CartpoleInfo() {
  GameInfo info;
  info.name = "cartpole";
  info.summary = "Balance a pole on a cart by pushing left or right; CartPole-v1 to the bit";
  info.parameters = {{.name = "sutton_barto_reward",
                      .default_value = false,
                      .low = 0.0,
                      .high = 1.0,
                      .unit = "",
                      .meaning = "reward 0 a step and -1 for the one that terminates, instead of 1 a step"}};
  info.make = [](const GameParameters& parameters) -> std::unique_ptr<Game> {
    return std::make_unique<Cartpole>(parameters);
  };
  info.make_scripted_policy = [](const GameParameters&) -> std::unique_ptr<ScriptedPolicy> {
    return std::make_unique<CartpolePolicy>();
  };
  return info;
}

}  // namespace metronome
