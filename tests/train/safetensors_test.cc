#include "metronome/train/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "metronome/core/error.h"
#include "metronome/core/file.h"
#include "metronome/core/rng.h"
#include "support/allocation_counter.h"
#include "support/python.h"
#include "support/temporary_folder.h"

namespace metronome {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

using Metadata = std::map<std::string, std::string>;

/// A file from a header as it stands and the data.
std::string File(const std::string& header, const std::string& data) {
  const std::uint64_t length = header.size();
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes + header + data;
}

/// The message of the Error that parsing gives; empty, and a failure, when there is none.
std::string Refusal(std::string_view bytes) {
  try {
    ParseSafetensors(bytes, "weights.safetensors");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kBadCheckpoint);
    const std::string message = error.what();
    EXPECT_THAT(message, StartsWith("weights.safetensors: "));
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    EXPECT_LT(message.size(), 400u) << message;
    return message;
  }
  ADD_FAILURE() << "accepted";
  return "";
}

bool operator==(const StoredTensor& left, const StoredTensor& right) {
  const auto same_bits = [](float one, float other) {
    return std::bit_cast<std::uint32_t>(one) == std::bit_cast<std::uint32_t>(other);
  };
  return left.name == right.name && left.shape == right.shape &&
         std::equal(left.values.begin(), left.values.end(), right.values.begin(), right.values.end(),
                    same_bits);
}

bool operator==(const SafetensorsContent& left, const SafetensorsContent& right) {
  if (left.metadata != right.metadata || left.tensors.size() != right.tensors.size()) return false;
  for (std::size_t i = 0; i < left.tensors.size(); ++i) {
    if (!(left.tensors[i] == right.tensors[i])) return false;
  }
  return true;
}

/// Two small tensors and some metadata.
std::string SmallFile() {
  static const std::vector<float> weight = {1.0f, -2.0f, 3.5f, 0.0f, 1e-30f, 6.0f};
  static const std::vector<float> bias = {0.25f, -0.0f};
  const std::vector<TensorRecord> tensors = {{"hidden.0.weight", {2, 3}, weight},
                                             {"hidden.0.bias", {2}, bias}};
  return SerializeSafetensors(tensors, {{"game", "cartpole"}, {"hidden", "[2]"}});
}

TEST(SafetensorsTest, WritesTheBytesWorkedOutByHand) {
  const std::vector<float> values = {1.0f, 2.0f};
  const std::string header =
      R"({"__metadata__":{"k":"v"},"b":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  ASSERT_EQ(header.size(), 79u);
  // 8 + 79 = 87 bytes are padded to 128, so the length is 120, which is the character x.
  const std::string expected = std::string("x\0\0\0\0\0\0\0", 8) + header + std::string(41, ' ') +
                               std::string("\0\0\x80\x3f\0\0\0\x40", 8);
  const std::vector<TensorRecord> tensors = {{"b", {2}, values}};
  EXPECT_EQ(SerializeSafetensors(tensors, {{"k", "v"}}), expected);
}

TEST(SafetensorsTest, ReadsTheBytesWorkedOutByHand) {
  const std::string header = R"({ "b" : {"shape":[], "data_offsets":[4,8], "dtype":"F32"},)"
                             "\n"
                             R"(  "\u0061\n":{"dtype":"F32","shape":[1,1],"data_offsets":[0,4]} })";
  const SafetensorsContent content =
      ParseSafetensors(File(header, std::string("\0\0\x80\x3f\0\0\0\x40", 8)), "f");
  EXPECT_TRUE(content.metadata.empty());
  ASSERT_EQ(content.tensors.size(), 2u);
  EXPECT_EQ(content.tensors[0].name, "a\n");
  EXPECT_EQ(content.tensors[0].shape, (std::vector<std::int64_t>{1, 1}));
  EXPECT_EQ(content.tensors[0].values, std::vector<float>{1.0f});
  EXPECT_EQ(content.tensors[1].name, "b");
  EXPECT_TRUE(content.tensors[1].shape.empty());
  EXPECT_EQ(content.tensors[1].values, std::vector<float>{2.0f});
}

TEST(SafetensorsTest, BringsBackWhatWasWritten) {
  Rng rng(1);
  for (int round = 0; round < 100; ++round) {
    std::vector<std::vector<float>> values;
    std::vector<TensorRecord> tensors;
    const std::int64_t count = rng.UniformInt(6);
    for (std::int64_t i = 0; i < count; ++i) {
      std::vector<std::int64_t> shape;
      std::int64_t size = 1;
      for (std::int64_t axis = rng.UniformInt(4); axis > 0; --axis) {
        shape.push_back(rng.UniformInt(5));
        size *= shape.back();
      }
      std::vector<float>& own = values.emplace_back();
      for (std::int64_t k = 0; k < size; ++k) {
        const auto bits = static_cast<std::uint32_t>(rng.NextBits());
        own.push_back(std::bit_cast<float>(bits));  // NaNs, too, come back bit for bit
      }
      tensors.push_back({"tensor \"" + std::to_string(i) + "\" \xc3\xa9\n", shape, {}});
    }
    for (std::size_t i = 0; i < tensors.size(); ++i) tensors[i].values = values[i];
    Metadata metadata;
    if (round % 2 == 0)
      metadata = {{"", "empty"}, {"config", "[game]\nname = \"racer\"\n"}, {"\xc3\xa9", ""}};

    const std::string bytes = SerializeSafetensors(tensors, metadata);
    std::uint64_t header_bytes = 0;
    std::memcpy(&header_bytes, bytes.data(), 8);
    EXPECT_EQ((8 + header_bytes) % 64, 0u);
    EXPECT_EQ(bytes, SerializeSafetensors(tensors, metadata));

    SafetensorsContent expected;
    expected.metadata = metadata;
    for (const TensorRecord& tensor : tensors) {
      expected.tensors.push_back({tensor.name, tensor.shape, {tensor.values.begin(), tensor.values.end()}});
    }
    const SafetensorsContent content = ParseSafetensors(bytes, "f");
    ASSERT_EQ(content.tensors.size(), expected.tensors.size());
    for (std::size_t i = 0; i < expected.tensors.size(); ++i) {
      EXPECT_TRUE(content.tensors[i] == expected.tensors[i]) << "round " << round << ", tensor " << i;
    }
    EXPECT_EQ(content.metadata, metadata);
  }
}

TEST(SafetensorsTest, NoTensorsAtAllAreAFile) {
  const SafetensorsContent content = ParseSafetensors(SerializeSafetensors({}, {}), "f");
  EXPECT_TRUE(content.tensors.empty());
  EXPECT_TRUE(content.metadata.empty());
}

TEST(SafetensorsTest, TheHeaderIsPaddedNoFurtherThanNeeded) {
  for (std::size_t size = 0; size < 130; ++size) {
    const std::string bytes = SerializeSafetensors({}, {{"k", std::string(size, 'x')}});
    EXPECT_EQ(bytes.size() % 64, 0u) << size;
    EXPECT_GT(bytes.find_last_not_of(' ') + 64, bytes.size() - 1) << size;
  }
}

TEST(SafetensorsTest, EveryCutLengthIsRefused) {
  const std::string bytes = SmallFile();
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(Refusal(std::string_view(bytes).substr(0, length)).empty()) << length;
  }
  Refusal(bytes + '\0');
  Refusal(bytes + bytes);
}

TEST(SafetensorsTest, EveryFlippedByteIsRefusedOrSeen) {
  const std::string bytes = SmallFile();
  const SafetensorsContent original = ParseSafetensors(bytes, "f");
  std::uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, bytes.data(), 8);
  int refused = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (int change = 1; change < 256; ++change) {
      std::string changed = bytes;
      changed[i] = static_cast<char>(changed[i] ^ change);
      try {
        const SafetensorsContent content = ParseSafetensors(changed, "f");
        ASSERT_FALSE(content == original) << "byte " << i << " changed by " << change << " is not seen";
        ASSERT_GE(i, 8u) << "a wrong length is accepted";
      } catch (const Error& error) {
        ASSERT_LT(i, 8 + header_bytes) << "all data bytes are good ones: " << error.what();
        ASSERT_EQ(error.code(), ExitCode::kBadCheckpoint);
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, 10'000);
}

TEST(SafetensorsTest, AHeaderLengthBeyondTheFileTakesNoMemory) {
  for (const std::uint64_t length :
       {std::uint64_t{3}, std::uint64_t{100'000'000}, std::uint64_t{100'000'001},
        std::uint64_t{std::numeric_limits<std::int64_t>::max()}, ~std::uint64_t{0}, ~std::uint64_t{0} - 7}) {
    std::string bytes(10, '{');
    std::memcpy(bytes.data(), &length, 8);
    const AllocationScope scope;
    const std::string message = Refusal(bytes);
    EXPECT_LT(scope.bytes(), 100'000);
    EXPECT_THAT(message, HasSubstr("a header of " + std::to_string(length) + " bytes"));
    EXPECT_EQ(message.find("allowed are 100000000") != std::string::npos, length > 100'000'000);
  }
}

TEST(SafetensorsTest, NamesWhatIsWrong) {
  const std::string eight(8, 'd');
  struct Case {
    const char* header;
    const char* message;
  };
  const std::vector<Case> cases = {
      {"", "doesn't start with {"},
      {" {}", "doesn't start with {"},
      {"[]", "doesn't start with {"},
      {"{", "doesn't end with }"},
      {"{}x", "doesn't end with }"},
      {"{}\n", "doesn't end with }"},
      {"{}{}", "isn't JSON"},
      {"{}", "8 bytes of data, the tensors have 0"},
      {R"({"a"})", "isn't JSON"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},})", "isn't JSON"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]} /* c */ })", "isn't JSON"},
      {R"({'a':{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", "isn't JSON"},
      {"{\"\xff\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", "isn't JSON"},
      {R"({"a":{"dtype":"F32","shape":[02],"data_offsets":[0,8]}})", "isn't JSON"},
      {R"({"a":5})", "a number stands where it doesn't belong in tensor \"a\""},
      {R"({"a":"x"})", "a text stands where"},
      {R"({"a":null})", "null stands where"},
      {R"({"a":true})", "true or false stands where"},
      {R"({"a":[]})", "a list stands where"},
      {R"({"a":{}})", "tensor \"a\" lacks one of"},
      {R"({"a":{"dtype":"F32","shape":[2]}})", "tensor \"a\" lacks one of"},
      {R"({"a":{"dtype":"F32","data_offsets":[0,8]}})", "tensor \"a\" lacks one of"},
      {R"({"a":{"shape":[2],"data_offsets":[0,8]}})", "tensor \"a\" lacks one of"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8],"extra":1}})", "the unknown key \"extra\""},
      {R"({"a":{"dtype":"F32","shape":[2],"shape":[2],"data_offsets":[0,8]}})", "has shape twice"},
      {R"({"a":{"dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8]}})", "has dtype twice"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
       "the key \"a\" comes twice"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"\u0061":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
       "the key \"a\" comes twice"},
      {R"({"__metadata__":{},"__metadata__":{}})", "the key \"__metadata__\" comes twice"},
      {R"({"__metadata__":{"k":"1","k":"2"}})", "the metadata's key \"k\" comes twice"},
      {R"({"__metadata__":{"k":1}})", "a number stands where it doesn't belong in the metadata"},
      {R"({"__metadata__":{"k":null}})", "null stands where"},
      {R"({"__metadata__":{"k":{}}})", "an object stands where"},
      {R"({"__metadata__":{"k":["v"]}})", "a list stands where"},
      {R"({"__metadata__":"text"})", "a text stands where"},
      {R"({"__metadata__":[]})", "a list stands where"},
      {R"({"a":{"dtype":"F16","shape":[4],"data_offsets":[0,8]}})", "has the dtype \"F16\", readable is"},
      {R"({"a":{"dtype":"f32","shape":[2],"data_offsets":[0,8]}})", "has the dtype \"f32\""},
      {R"({"a":{"dtype":"","shape":[2],"data_offsets":[0,8]}})", "has the dtype \"\""},
      {R"({"a":{"dtype":32,"shape":[2],"data_offsets":[0,8]}})", "a number stands where"},
      {R"({"a":{"dtype":"F32","shape":2,"data_offsets":[0,8]}})", "a number stands where"},
      {R"({"a":{"dtype":"F32","shape":"2","data_offsets":[0,8]}})", "a text stands where"},
      {R"({"a":{"dtype":"F32","shape":[[2]],"data_offsets":[0,8]}})", "a list stands where"},
      {R"({"a":{"dtype":"F32","shape":["2"],"data_offsets":[0,8]}})", "a text stands where"},
      {R"({"a":{"dtype":"F32","shape":[2.0],"data_offsets":[0,8]}})", "a number that isn't whole"},
      {R"({"a":{"dtype":"F32","shape":[2e0],"data_offsets":[0,8]}})", "a number that isn't whole"},
      {R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", "a negative number"},
      {R"({"a":{"dtype":"F32","shape":[-2,-1],"data_offsets":[0,8]}})", "a negative number"},
      {R"({"a":{"dtype":"F32","shape":[9223372036854775808],"data_offsets":[0,8]}})", "too large"},
      {R"({"a":{"dtype":"F32","shape":[18446744073709551618],"data_offsets":[0,8]}})", "too large"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0]}})", "has 1 data_offsets instead of 2"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[]}})", "has 0 data_offsets"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8,8]}})", "has 3 data_offsets"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[-0,8]}})", "a negative number"},
      // The product is 2^64 + 2, which a 64-bit number would take for 2.
      {R"({"a":{"dtype":"F32","shape":[3,6148914691236517206],"data_offsets":[0,8]}})",
       "don't fit its shape"},
      // 2^62 elements of 4 bytes would be 0 bytes.
      {R"({"a":{"dtype":"F32","shape":[4611686018427387904],"data_offsets":[0,0]}})", "don't fit its shape"},
      {R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", "don't fit its shape"},
      {R"({"a":{"dtype":"F32","shape":[0],"data_offsets":[0,8]}})", "don't fit its shape"},
      {R"({"a":{"dtype":"F32","shape":[],"data_offsets":[0,8]}})", "don't fit its shape"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", "don't fit its shape"},
      {R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,12]}})", "ends at byte 12 of 8"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})", "ends at byte 12 of 8"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", "8 bytes of data, the tensors have 4"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", "starts at byte 4 of the data, where 0"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
       "tensor \"b\" starts at byte 4 of the data, where 8"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
       "starts at byte 0 of the data, where 8"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[0],"data_offsets":[4,4]}})",
       "starts at byte"},
  };
  for (const Case& c : cases) {
    EXPECT_THAT(Refusal(File(c.header, eight)), HasSubstr(c.message)) << c.header;
  }
  // For the JSON library a byte 0 is the end of the text.
  EXPECT_THAT(Refusal(File(std::string("{}\0{}", 5), "")), HasSubstr("a byte 0 in the header"));
  // However deep, and however long a name.
  Refusal(File("{\"a\":" + std::string(1'000'000, '[') + "}", eight));
  Refusal(File("{\"a\":{\"shape\":" + std::string(1'000'000, '[') + "}", eight));
  Refusal(File("{\"" + std::string(1'000'000, 'n') + "\\n\":{}}", eight));
}

TEST(SafetensorsTest, EmptyTensorsMayStandAnywhereBetweenOthers) {
  const std::string header =
      R"({"a":{"dtype":"F32","shape":[0,5],"data_offsets":[0,0]},)"
      R"("b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
      R"("c":{"dtype":"F32","shape":[9223372036854775807,9223372036854775807,0],"data_offsets":[4,4]}})";
  const SafetensorsContent content = ParseSafetensors(File(header, "dddd"), "f");
  ASSERT_EQ(content.tensors.size(), 3u);
  EXPECT_TRUE(content.tensors[0].values.empty());
  EXPECT_EQ(content.tensors[1].values.size(), 1u);
}

TEST(SafetensorsDeathTest, AShapeThatDoesNotFitItsValuesAborts) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const std::vector<float> values = {1.0f, 2.0f};
  const auto write = [&](std::vector<TensorRecord> tensors) { SerializeSafetensors(tensors, {}); };
  EXPECT_DEATH(write({{"a", {3}, values}}), "check failed");
  EXPECT_DEATH(write({{"a", {-1, -2}, values}}), "check failed");
  EXPECT_DEATH(write({{"a", {2}, values}, {"a", {2}, values}}), "check failed");
  EXPECT_DEATH(write({{"__metadata__", {2}, values}}), "check failed");
}

TEST(SafetensorsTest, PythonsLibraryReadsWhatIsWritten) {
  if (!PythonHas("safetensors")) GTEST_SKIP() << "there is no python3 with the package safetensors";
  const TemporaryFolder folder;
  const std::vector<float> weight = {1.0f, -2.0f, 3.5f, 0.0f, 1e-30f, 6.0f};
  const std::vector<float> single = {0.25f};
  const std::vector<TensorRecord> tensors = {
      {"online.hidden.0.weight", {2, 3}, weight}, {"step", {}, single}, {"none", {0, 4}, {}}};
  WriteFileWhole(
      folder.path() / "weights.safetensors",
      SerializeSafetensors(tensors, {{"game", "racer"}, {"text", "two\nlines \"quoted\" \xc3\xa9"}}));
  const std::string output = RunPython(R"(
import array, json, struct
from safetensors import deserialize
content = open("weights.safetensors", "rb").read()
for name, tensor in sorted(deserialize(content)):
    values = struct.unpack("<%df" % (len(tensor["data"]) // 4), bytes(tensor["data"]))
    print(name, tensor["dtype"], tensor["shape"], list(values))
header = json.loads(content[8:8 + struct.unpack("<Q", content[:8])[0]])
print(header["__metadata__"] == {"game": "racer", "text": "two\nlines \"quoted\" \u00e9"})
)",
                                       folder.path());
  EXPECT_EQ(output,
            "none F32 [0, 4] []\n"
            "online.hidden.0.weight F32 [2, 3] [1.0, -2.0, 3.5, 0.0, 1.0000000031710769e-30, 6.0]\n"
            "step F32 [] [0.25]\n"
            "True\n");
}

TEST(SafetensorsTest, ReadsWhatPythonsLibraryWrites) {
  if (!PythonHas("safetensors.numpy")) {
    GTEST_SKIP() << "there is no python3 with the packages safetensors and numpy";
  }
  const TemporaryFolder folder;
  RunPython(R"(
import numpy
from safetensors.numpy import save_file
tensors = {"z": numpy.array([[1.5], [-2.5]], numpy.float32), "a": numpy.array(7.0, numpy.float32)}
save_file(tensors, "python.safetensors", {"by": "python"})
)",
            folder.path());
  const SafetensorsContent content =
      ParseSafetensors(ReadFile(folder.path() / "python.safetensors"), "python.safetensors");
  EXPECT_EQ(content.metadata, (Metadata{{"by", "python"}}));
  ASSERT_EQ(content.tensors.size(), 2u);
  EXPECT_EQ(content.tensors[0].name, "a");
  EXPECT_EQ(content.tensors[0].values, std::vector<float>{7.0f});
  EXPECT_EQ(content.tensors[1].name, "z");
  EXPECT_EQ(content.tensors[1].shape, (std::vector<std::int64_t>{2, 1}));
  EXPECT_EQ(content.tensors[1].values, (std::vector<float>{1.5f, -2.5f}));
}

}  // namespace
}  // namespace metronome
