// Files of tensors: written whole, read without trusting a number.
#include <sys/resource.h>
#include <unistd.h>

#include <QTemporaryDir>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "engine/data/data_error.h"
#include "engine/data/safetensors.h"
#include "tests/campaign.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::data;

namespace {

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

Tensor floats(std::vector<float> values, const Shape& shape) {
  return Tensor::from_values<float>(values, shape);
}

/// A change that breaks a file, or does not.
std::string damaged(const std::string& whole, std::mt19937& random) {
  std::string bytes = whole;
  const auto below = [&](std::size_t end) {
    return std::uniform_int_distribution<std::size_t>(0, end - 1)(random);
  };
  std::uint64_t header = 0;
  std::memcpy(&header, bytes.data(), 8);
  switch (below(6)) {
    case 0:
      bytes.resize(below(bytes.size()));
      break;
    case 1:
      bytes[below(8)] = static_cast<char>(below(256));
      break;
    case 2:
      bytes.insert(below(bytes.size()), below(20) + 1, static_cast<char>(below(256)));
      break;
    case 3: {
      static const char* numbers[] = {
          "-1", "18446744073709551615", "9223372036854775807", "4294967296", "0", "[", "{", "\"", "1e9"};
      std::size_t place = 8 + below(header);
      while (place < 8 + header && !std::isdigit(static_cast<unsigned char>(bytes[place]))) ++place;
      bytes.replace(place, 1, numbers[below(std::size(numbers))]);
      if (below(2)) {  // with a length that fits again
        const std::uint64_t length = header + bytes.size() - whole.size();
        std::memcpy(bytes.data(), &length, 8);
      }
      break;
    }
    default:
      for (std::size_t i = 0; i <= below(4); ++i)
        bytes[8 + below(bytes.size() - 8)] = static_cast<char>(below(256));
  }
  return bytes;
}

}  // namespace

class TestSafetensors : public QObject {
  Q_OBJECT

  QTemporaryDir folder_;
  std::string path(const char* name) const { return folder_.filePath(name).toStdString(); }

  void refuse(const std::string& header, std::uint64_t size, const std::string& words) const {
    EXPECT_ERROR(DataLossError, parse_safetensors_header(header, size, "file"), words);
  }

 private slots:
  void what_is_written_is_read() {
    const Tensor matrix = floats({1, 2, 3, 4, 5, 6}, {2, 3});
    const Tensor columns = Tensor::view(matrix.storage(), DType::float32, {3, 2}, {1, 3}, 0);
    const std::vector<NamedTensor> tensors = {
        {"columns", columns},
        {"flag", Tensor::from_values<bool>(std::array<bool, 1>{true}, {})},
        {"none", Tensor::allocate(DType::float64, {0, 4})}};
    write_safetensors(path("a"), tensors, {{"key", "välue\n"}});
    const SafetensorsFile file(path("a"));
    QCOMPARE(file.metadata().at("key"), std::string("välue\n"));
    QCOMPARE(file.tensors().size(), 3u);
    QCOMPARE(file.read("columns").to_vector(), (std::vector<double>{1, 4, 2, 5, 3, 6}));
    QCOMPARE(file.read("flag").item(), 1.);
    QVERIFY(file.read("none").shape() == Shape({0, 4}));
    // A mapped file has each tensor at a place that its dtype may stand at.
    const std::string bytes = bytes_of(path("a"));
    std::uint64_t length = 0;
    std::memcpy(&length, bytes.data(), 8);
    QCOMPARE(length % 8, 0u);
    for (const StoredTensor& each : file.tensors())
      QCOMPARE(each.begin % item_size(*dtype_of_safetensors_name(each.dtype)), 0u);
    EXPECT_ERROR(NotFoundError, file.read("other"), "has no tensor \"other\"");
  }

  void every_dtype_has_a_name_in_the_format_and_back() {
    for (std::size_t i = 0; i < dtype_count; ++i) {
      const auto dtype = static_cast<DType>(i);
      const auto name = safetensors_name(dtype);
      if (name) QVERIFY(dtype_of_safetensors_name(*name) == dtype);
    }
    QVERIFY(safetensors_name(DType::bfloat16) == "BF16");
    QVERIFY(!dtype_of_safetensors_name("F8_E4M3"));
    QVERIFY(!dtype_of_safetensors_name(""));
  }

  void what_no_tensor_can_be_is_refused_by_name() {
    const std::string header =
        R"({"a": {"dtype": "F32", "shape": [0, 4611686018427387904, 4], "data_offsets": [0, 0]}})";
    const std::uint64_t length = header.size();
    std::ofstream(path("empty"), std::ios::binary)
        .write(reinterpret_cast<const char*>(&length), 8)
        .write(header.data(), static_cast<std::streamsize>(length));
    const SafetensorsFile file(path("empty"));
    EXPECT_ERROR(ResourceExhaustedError, file.read("a"),
                 path("empty") + ": tensor \"a\": a tensor of shape (0, 4611686018427387904, 4) is empty");
  }

  void headers_that_lie_are_refused() {
    const auto tensor = [](const std::string& inside) {
      return "{\"w\":{\"dtype\":\"F32\"," + inside + "}}";
    };
    refuse(tensor(R"("shape":[2],"data_offsets":[0,8])"), 4, "end at 8, but the file has only 4");
    refuse(tensor(R"("shape":[3],"data_offsets":[0,8])"), 8, "needs 12 bytes; it has 8");
    refuse(tensor(R"("shape":[4294967296,4294967296],"data_offsets":[0,0])"), 0,
           "no whole number of bytes that 64 bits hold");
    refuse(tensor(R"("shape":[9223372036854775808],"data_offsets":[0,0])"), 0, "holds 9223372036854775808");
    refuse(tensor(R"("shape":[],"data_offsets":[4,0])"), 8, "end at 0, before they begin at 4");
    refuse(tensor(R"("shape":[],"data_offsets":[4,8])"), 8, "those before it end at 0");
    refuse(tensor(R"("shape":[],"data_offsets":[0,4])"), 8, "end at 4; the file has 8");
    refuse("{\"w\":" + std::string(1 << 20, '{'), 0, "is not JSON");
    refuse("{\"w\":" + std::string(1 << 20, '['), 0, "must be an object");
    refuse(R"({"a":{"dtype":"F32","shape":[0,99999999999],"data_offsets":[0,1]}})", 1,
           "needs 0 bytes; it has 1");
  }

  void an_empty_shape_product_needs_no_bytes_however_large_its_other_extents_are() {
    const auto header = parse_safetensors_header(
        R"({"a":{"dtype":"F32","shape":[9223372036854775807,0,9223372036854775807],"data_offsets":[0,0]}})",
        0, "f");
    QCOMPARE(header.tensors.size(), 1u);
  }

  void damaged_files_are_refused_or_read() {
    const std::vector<NamedTensor> tensors = {
        {"kernel", floats({1, 2, 3, 4, 5, 6}, {2, 3})},
        {"bias", floats({7, 8, 9}, {3})},
        {"flags", Tensor::from_values<bool>(std::array<bool, 5>{true, false, true, true, false}, {5})}};
    write_safetensors(path("whole"), tensors, {{"key", "value"}});
    const std::string whole = bytes_of(path("whole"));
    const Campaign files{"safetensors_damage", "damaged files", 2'000, 5'000,
                         "further random damage of the same kinds"};
    auto random = files.random();
    std::uint64_t read = 0, refused = 0;
    for (std::uint64_t i = 0; i < files.count(); ++i) {
      const std::string changed = damaged(whole, random);
      write_bytes(path("damaged"), changed);
      const std::uint64_t before = pool_statistics().peak_bytes_in_use;
      try {
        const SafetensorsFile file(path("damaged"));
        for (const StoredTensor& each : file.tensors()) {
          const Tensor tensor = file.read(each.name);
          QVERIFY(tensor.bytes() <= changed.size());
        }
        ++read;
      } catch (const DataLossError&) {
        ++refused;
      } catch (const UnimplementedError&) {
        ++refused;
      }
      QVERIFY(pool_statistics().peak_bytes_in_use - before < 4096);
    }
    QVERIFY2(read > files.count() / 100 && refused > files.count() / 2,
             qPrintable(QString("%1 read, %2 refused").arg(read).arg(refused)));
  }

  void a_file_that_shrinks_while_it_is_open_is_an_error_and_no_signal() {
    write_safetensors(path("shrinks"),
                      std::vector<NamedTensor>{{"w", floats(std::vector<float>(100000, 1.F), {100000})}}, {});
    const SafetensorsFile file(path("shrinks"));
    QCOMPARE(::truncate(path("shrinks").c_str(), 5000), 0);
    EXPECT_ERROR(DataLossError, file.read("w"), "became shorter while it was read");
  }

  void what_is_not_committed_leaves_nothing() {
    {
      WholeFile file(path("never"));
      file.write("some bytes");
    }
    QVERIFY(!std::ifstream(path("never")).good());
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path().toStdString()))
      QVERIFY2(entry.path().extension() != ".writing", entry.path().c_str());
  }

  void what_was_there_stays_until_the_new_file_is_whole() {
    write_bytes(path("place"), "before");
    {
      WholeFile file(path("place"));
      file.write(std::string(3 << 20, 'x'));
      QCOMPARE(bytes_of(path("place")), std::string("before"));
      file.commit();
    }
    QCOMPARE(bytes_of(path("place")).size(), std::size_t{3 << 20});
  }

  void names_that_the_format_cannot_have_are_refused_before_anything_is_written() {
    const Tensor one = floats({1}, {});
    const auto write = [&](std::vector<NamedTensor> tensors, Metadata metadata = {}) {
      write_safetensors(path("bad"), tensors, metadata);
    };
    EXPECT_ERROR(InvalidArgumentError, (write({{"a", one}, {"a", one}}), 0), "the name occurs twice");
    EXPECT_ERROR(InvalidArgumentError, (write({{"__metadata__", one}}), 0), "the format reserves that name");
    EXPECT_ERROR(InvalidArgumentError, (write({{"\xff", one}}), 0), "is not UTF-8");
    EXPECT_ERROR(InvalidArgumentError, (write({{"a", Tensor()}}), 0), "it is undefined");
    EXPECT_ERROR(InvalidArgumentError, (write({}, {{"k", std::string(most_header_bytes, 'x')}}), 0),
                 "the format allows 100000000");
    QVERIFY(!std::ifstream(path("bad")).good());
  }
};

TAPEDECK_TEST(TestSafetensors)
#include "tst_safetensors.moc"
