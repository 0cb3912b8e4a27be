// Elements of data sets as a cache in a file has them.
#include <QtTest>
#include <bit>
#include <cstring>

#include "engine/data/data_error.h"
#include "engine/data/element_bytes.h"
#include "engine/ops/core/ops.h"
#include "engine/tensor/strings.h"
#include "tests/engine/expect_error.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::data;

namespace {

Element one_of_each() {
  Element element;
  for (std::size_t i = 0; i < dtype_count; ++i) {
    const auto dtype = static_cast<DType>(i);
    const bool text = dtype == DType::string;
    element.emplace_back(text ? string_tensor({2, 1}, std::vector<std::string>{"a", ""})
                              : ops::cast(ops::range(0, 6, 1, DType::float64), dtype));
  }
  return element;
}

std::string header(DType dtype, std::initializer_list<std::int64_t> extents) {
  std::string bytes{static_cast<char>(dtype), static_cast<char>(extents.size())};
  for (const std::int64_t extent : extents)
    bytes.append(reinterpret_cast<const char*>(&extent), sizeof extent);
  return bytes;
}

}  // namespace

class TestElementBytes : public QObject {
  Q_OBJECT

 private slots:
  void an_element_is_read_as_it_was_written() {
    const std::string bytes = bytes_of_element(one_of_each());
    const Element back = element_from_bytes(bytes, "cache");
    QCOMPARE(back.size(), std::size_t{dtype_count});
    for (std::size_t i = 0; i < dtype_count; ++i) QVERIFY(back[i].tensor.dtype() == static_cast<DType>(i));
    QVERIFY(bytes_of_element(back) == bytes);
  }

  void bytes_that_end_too_early_are_refused() {
    const std::string bytes = bytes_of_element({one_of_each()[0]});
    for (std::size_t size = 1; size < bytes.size(); ++size)
      EXPECT_ERROR(DataLossError, element_from_bytes(bytes.substr(0, size), "cache"),
                   "cache: does not hold an element of a data set");
  }

  void what_no_tensor_has_is_refused() {
    const std::string cases[] = {
        header(DType::bool_, {2}) + std::string("\1\2", 2),       // neither true nor false
        header(DType::int8, {-1}),                                // a negative extent
        header(DType::int8, {1LL << 62, 4}),                      // more elements than can be counted
        header(DType::float64, {0, 1LL << 62, 1LL << 62}),        // the same, but for an extent of 0
        header(DType::float64, {1LL << 61}),                      // more bytes than can be counted
        header(DType::string, {1LL << 40}) + std::string(64, 0),  // more strings than there are bytes
        std::string{static_cast<char>(dtype_count), 0, 1},        // no dtype
        std::string{static_cast<char>(DType::int8), static_cast<char>(max_rank + 1)} + std::string(1000, 1)};
    for (const std::string& bytes : cases)
      EXPECT_ERROR(DataLossError, element_from_bytes(bytes, "cache"),
                   "cache: does not hold an element of a data set");
  }
};

TAPEDECK_TEST(TestElementBytes)
#include "tst_element_bytes.moc"
