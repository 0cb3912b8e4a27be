// Optimisers' steps on a GPU, which are the CPU's to the bit.
#include <array>

#include "compared.h"
#include "engine/cpu/kernels.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::cuda;
using kernels::Update;
using kernels::UpdateArrays;

namespace {

/// Of all rules: rates, decays and the like, whose places differ; adagrad_da's fourth is a step.
constexpr std::array<double, 8> numbers{0.01, 0.9, 0.95, 0.3, 0.002, 0.01, 0.5, 0.25};

/// Ftrl's power goes by each library's own pow.
bool is_exact(Update rule) {
  return rule != Update::ftrl;
}

template <class T>
struct Targets {
  std::vector<std::vector<T>> values;  ///< the value, and slots that are not negative, as accumulators are

  explicit Targets(std::int64_t count) {
    for (std::size_t k = 0; k < kernels::most_targets; ++k) {
      values.push_back(normal_numbers<T>(count, static_cast<unsigned>(k)));
      if (k > 0)
        for (T& value : values.back()) value = std::fabs(value);
    }
  }
};

template <class T>
void compare_update(DType dtype, Update rule, std::int64_t count, bool in_place) {
  const std::string where = "rule " + std::to_string(static_cast<int>(rule)) + " of " + std::to_string(count);
  const Targets<T> before(count);
  auto gradient = normal_numbers<T>(count, 9);
  if (count > 2) gradient[1] = T(0);
  if (count > 3) gradient[2] = std::numeric_limits<T>::quiet_NaN();
  std::vector<std::vector<T>> expected = before.values;
  UpdateArrays arrays, there;
  std::vector<std::unique_ptr<GpuValues<T>>> from, to;
  // Of odd numbers each begins elsewhere.
  const std::size_t apart = count % 2 == 0 ? 0 : 1;
  const GpuValues<T> gradient_there(gradient, apart);
  for (std::size_t k = 0; k < kernels::most_targets; ++k) {
    from.push_back(std::make_unique<GpuValues<T>>(before.values[k], k * apart));
    to.push_back(std::make_unique<GpuValues<T>>(before.values[k], k * apart));
    arrays.from[k] = in_place ? expected[k].data() : before.values[k].data();
    arrays.to[k] = expected[k].data();
    there.from[k] = (in_place ? to : from)[k]->data();
    there.to[k] = to[k]->data();
  }
  arrays.targets = there.targets = kernels::most_targets;
  arrays.in_place = there.in_place = in_place;
  arrays.gradient = gradient.data();
  there.gradient = gradient_there.data();
  cpu::update(rule, dtype, arrays, numbers.data(), count);
  gpu().update(rule, dtype, there, numbers.data(), count);
  for (std::size_t k = 0; k < kernels::most_targets; ++k)
    SAME(is_exact(rule) ? unequal(expected[k], to[k]->read()) : far(expected[k], to[k]->read(), sum_bound<T>),
         where + ", target " + std::to_string(k));
}

template <class T>
void compare_rows(DType dtype, Update rule, std::int64_t width, std::size_t apart) {
  constexpr std::int64_t all = 9;
  const std::vector<std::int64_t> rows{7, 0, 3, 8};
  const Targets<T> before(all * width);
  const auto gradient = normal_numbers<T>(static_cast<std::int64_t>(rows.size()) * width, 9);
  std::vector<std::vector<T>> expected = before.values;
  UpdateArrays arrays, there;
  std::vector<std::unique_ptr<GpuValues<T>>> to;
  const GpuValues<T> gradient_there(gradient);
  const GpuValues<std::int64_t> rows_there(rows);
  for (std::size_t k = 0; k < kernels::most_targets; ++k) {
    to.push_back(std::make_unique<GpuValues<T>>(before.values[k], k * apart));
    arrays.from[k] = arrays.to[k] = expected[k].data();
    there.from[k] = there.to[k] = to[k]->data();
  }
  arrays.targets = there.targets = kernels::most_targets;
  arrays.in_place = there.in_place = true;
  arrays.gradient = gradient.data();
  there.gradient = gradient_there.data();
  const auto count = static_cast<std::int64_t>(rows.size());
  cpu::update_rows(rule, dtype, arrays, numbers.data(), rows.data(), count, width);
  gpu().update_rows(rule, dtype, there, numbers.data(), rows_there.data(), count, width);
  for (std::size_t k = 0; k < kernels::most_targets; ++k)
    SAME(is_exact(rule) ? unequal(expected[k], to[k]->read()) : far(expected[k], to[k]->read(), sum_bound<T>),
         "rows of " + std::to_string(width) + ", rule " + std::to_string(static_cast<int>(rule)) +
             ", target " + std::to_string(k));
}

}  // namespace

class TestUpdate : public QObject {
  Q_OBJECT
 private slots:
  void initTestCase() { load_gpus(); }
  void stepsAgreeToTheBit() {
    for (int rule = 0; rule < kernels::update_count; ++rule)
      for (const std::int64_t count : {0, 1, 7, 1000, 1001})
        for (const bool in_place : {false, true}) {
          compare_update<float>(DType::float32, static_cast<Update>(rule), count, in_place);
          compare_update<double>(DType::float64, static_cast<Update>(rule), count, in_place);
          if (QTest::currentTestFailed()) return;
        }
  }

  void stepsOfRowsAgreeToTheBit() {
    for (int rule = 0; rule < kernels::update_count; ++rule) {
      for (const auto& [width, apart] : {std::pair{5, 0}, {8, 0}, {8, 1}}) {
        const auto elements = static_cast<std::size_t>(apart);
        compare_rows<float>(DType::float32, static_cast<Update>(rule), width, elements);
        compare_rows<double>(DType::float64, static_cast<Update>(rule), width, elements);
      }
      if (QTest::currentTestFailed()) return;
    }
  }

  void otherDTypesAreRefused() {
    QVERIFY_THROWS_EXCEPTION(NoKernel, gpu().update(Update::adam, DType::int32, {}, numbers.data(), 1));
  }
};

TAPEDECK_TEST(TestUpdate)
#include "tst_update.moc"
