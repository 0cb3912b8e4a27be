// What kernels find wrong with their arguments is told when the host reads from the device the next time.
#include <numeric>

#include "tests/cuda/gpu_values.h"
#include "tests/test_program.h"

using namespace tapedeck;

namespace {

using Numbers = std::vector<std::int64_t>;

bool* flags_in(const GpuValues<std::uint8_t>& values) {
  return reinterpret_cast<bool*>(values.data());
}

/// The text of the error of class E that the next read throws; empty where it throws none.
template <class E>
QString late_error() {
  const GpuValues<int> anything(1);
  try {
    anything.read();
  } catch (const E& error) {
    return error.what();
  }
  return {};
}

}  // namespace

class LateErrorsTest : public QObject {
  Q_OBJECT
 private slots:
  void initTestCase() { load_gpus(); }

  void an_index_outside_is_told_by_the_next_read_once() {
    Numbers indices(5000, 3);
    indices[700] = 5;
    indices[4000] = -3;
    const GpuValues<std::int64_t> in(indices), out(5000);
    QVERIFY(!OnGpu()->check_indices(DType::int64, in.data(), 5000, 0, 5, out.data(), "gather: indices"));
    QCOMPARE(late_error<OutOfRangeError>(), "gather: indices[700] is 5; must be in [0, 5)");
    QCOMPARE(late_error<OutOfRangeError>(), QString());
    indices[700] = indices[4000] = 0;
    QCOMPARE(out.read(), indices);
  }

  void coordinates_outside_are_told_by_the_next_read_and_0_stands_there() {
    std::vector<std::int32_t> coordinates(2000, 1);
    coordinates[2 * 300 + 1] = 7;
    coordinates[2 * 900] = -1;
    const GpuValues<std::int32_t> in(coordinates);
    const GpuValues<std::int64_t> out(1000);
    OnGpu()->slice_numbers(DType::int32, in.data(), 1000, {2, 3}, 1000, out.data(), "gather_nd: indices");
    QCOMPARE(late_error<OutOfRangeError>(), "gather_nd: indices[300] holds 7, outside of shape (2, 3)");
    const Numbers numbers = out.read();
    QCOMPARE(numbers[300], 0);
    QCOMPARE(numbers[900], 0);
    QCOMPARE(numbers[901], 4);
  }

  void indices_into_nothing_are_told_at_once() {
    const GpuValues<std::int32_t> in(std::vector<std::int32_t>{-4, 1});
    const GpuValues<std::int64_t> out(2);
    const auto bad = OnGpu()->check_indices(DType::int32, in.data(), 2, 0, 0, out.data(), "gather: indices");
    QVERIFY(bad);
    QCOMPARE(bad->place, 0);
    QCOMPARE(bad->value, -4);
  }

  void coordinates_in_nothing_are_told_at_once() {
    const GpuValues<std::int32_t> in(std::vector<std::int32_t>{4, 1});
    const GpuValues<std::int64_t> out(1);
    try {
      OnGpu()->slice_numbers(DType::int32, in.data(), 1, {0, 3}, 1, out.data(), "gather_nd: indices");
      QFAIL("nothing was thrown");
    } catch (const OutOfRangeError& error) {
      QCOMPARE(QString(error.what()), "gather_nd: indices[0] is (4, 1), outside of shape (0, 3)");
    }
  }

  void a_number_that_stands_twice_is_told_by_the_next_read() {
    Numbers x(3000);
    std::iota(x.begin(), x.end(), std::int64_t{0});
    x[2500] = 17;
    x[1000] = 42;
    const GpuValues<std::int64_t> in(x), out(3000);
    OnGpu()->invert_permutation(in.data(), 3000, out.data(), "invert_permutation: x holds a number twice");
    QCOMPARE(late_error<InvalidArgumentError>(), "invert_permutation: x holds a number twice: 42, at 1000");
  }

  void of_several_errors_the_first_one_is_told() {
    std::vector<std::uint8_t> flags(10000);
    const GpuValues<std::uint8_t> none(flags);
    flags[9999] = 1;
    const GpuValues<std::uint8_t> one(flags);
    QVERIFY(!OnGpu()->any(flags_in(none), 10000, "nobody is told"));
    QCOMPARE(late_error<InvalidArgumentError>(), QString());
    QVERIFY(!OnGpu()->any(flags_in(one), 10000, "divide: y holds a 0"));
    OnGpu()->any(flags_in(one), 10000, "a later one");
    QCOMPARE(late_error<InvalidArgumentError>(), "divide: y holds a 0");
    QCOMPARE(late_error<InvalidArgumentError>(), QString());
  }

  void texts_that_are_used_no_more_are_forgotten() {
    const GpuValues<std::uint8_t> none(std::vector<std::uint8_t>{0}), one(std::vector<std::uint8_t>{1});
    for (int step = 0; step < 9000; ++step) OnGpu()->any(flags_in(none), 1, "step " + std::to_string(step));
    OnGpu()->any(flags_in(one), 1, "step 9000");
    QCOMPARE(late_error<InvalidArgumentError>(), "step 9000");
  }
};

TAPEDECK_TEST(LateErrorsTest)
#include "tst_late_errors.moc"
