// What is told of values that lie on a GPU: by the GPU, as the CPU tells it, and without copying them.
#include <QtTest>
#include <cmath>
#include <limits>

#include "engine/backend/devices.h"
#include "engine/debug/compare/value_difference.h"
#include "engine/debug/tile.h"
#include "engine/ops/core/ops.h"
#include "engine/ops/core/placement.h"
#include "engine/record/breakpoints/break_values.h"
#include "engine/record/health/health_gauges.h"
#include "engine/record/values/finite.h"
#include "tests/cuda/emulated.h"
#include "tests/cuda/gpus.h"
#include "tests/engine/debug/compared_runs.h"
#include "tests/engine/record/breakpoint_session.h"
#include "tests/test_program.h"

using namespace tapedeck;

namespace {

constexpr double inf_value = std::numeric_limits<double>::infinity();
constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

/// Bytes that came to the host while it lives, as emulated GPUs count them.
struct Copied {
  static std::uint64_t now() { return emulated_count("tapedeck_emulated_bytes_to_host"); }
  std::uint64_t before = now();
  std::uint64_t bytes() const { return now() - before; }
};

/// On the CPU, whatever the default device is.
Tensor on_cpu(const std::vector<double>& values, const Shape& shape, DType dtype = DType::float64) {
  const DeviceScope here(Device{});
  return ops::cast(Tensor::from_values<double>(values, shape), dtype);
}

Tensor numbers(std::int64_t count, DType dtype, double scale = 50) {
  const DeviceScope here(Device{});
  return ops::cast(ops::random_normal({count}, 0, scale, DType::float64, 11), dtype);
}

bool near(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || a == b || std::abs(a - b) <= 1e-12 * std::abs(b);
}

/// Empty where the GPU says the same.
std::string difference(const Tensor& tensor, std::uint32_t bins) {
  const Summary there = summarize(ops::copy_to(tensor, first_gpu), bins, true),
                here = summarize(tensor, bins, true);
  std::string text;
  const auto same = [&](const char* what, double a, double b, bool exact) {
    if (exact ? a == b || (std::isnan(a) && std::isnan(b)) : near(a, b)) return;
    text += std::string(what) + " " + std::to_string(a) + ", on the CPU " + std::to_string(b) + "; ";
  };
  const auto count = [&](const char* what, std::uint64_t a, std::uint64_t b) {
    same(what, static_cast<double>(a), static_cast<double>(b), true);
  };
  count("count", there.count, here.count);
  count("finite", there.finite, here.finite);
  count("zeros", there.zeros, here.zeros);
  count("subnormals", there.subnormals, here.subnormals);
  count("nan", there.nan, here.nan);
  count("positive_infinity", there.positive_infinity, here.positive_infinity);
  count("negative_infinity", there.negative_infinity, here.negative_infinity);
  same("minimum", there.minimum, here.minimum, true);
  same("maximum", there.maximum, here.maximum, true);
  same("mean", there.mean, here.mean, false);
  same("deviation", there.deviation, here.deviation, false);
  if (there.histogram != here.histogram) text += "another histogram";
  return text.empty()
             ? text
             : std::string(dtype_name(tensor.dtype())) + " " + to_string(tensor.shape()) + ": " + text;
}

protocol::GetTile request(std::vector<std::int64_t> slice, std::array<std::int64_t, 4> place,
                          std::array<std::int64_t, 2> step = {1, 1}) {
  protocol::GetTile get;
  get.slice = protocol::if_there(std::move(slice));
  get.row = place[0];
  get.column = place[1];
  get.rows = place[2];
  get.columns = place[3];
  get.row_step = step[0];
  get.column_step = step[1];
  return get;
}

std::string difference(const protocol::Tile& there, const protocol::Tile& here) {
  const auto facts = [](const protocol::Tile& tile) {
    return std::tuple(tile.shape, tile.total_rows, tile.total_columns, tile.row, tile.column, tile.rows,
                      tile.columns, tile.row_step, tile.column_step, tile.dtype, tile.exact);
  };
  if (facts(there) != facts(here)) return "other facts";
  for (std::size_t i = 0; i < here.values.size(); ++i)
    // Sums in another order: what is left of values of 50 may be small.
    if (!near(there.values[i], here.values[i]) && !(std::abs(there.values[i] - here.values[i]) <= 1e-11))
      return "cell " + std::to_string(i) + " is " + std::to_string(there.values[i]) + ", on the CPU " +
             std::to_string(here.values[i]);
  return there.values.size() == here.values.size() ? "" : "another number of cells";
}

}  // namespace

class InspectionTest : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase() {
    load_gpus();
    QVERIFY(gpu_count() > 0);
    set_capture_location(&capture_line);
  }
  void cleanupTestCase() { set_capture_location(nullptr); }

  void statistics_are_those_of_the_cpu() {
    for (const DType dtype :
         {DType::bool_, DType::int32, DType::int64, DType::float32, DType::float64, DType::int8, DType::uint8,
          DType::uint32, DType::float16, DType::bfloat16, DType::complex64, DType::uint64})
      for (const std::int64_t count : {0, 1, 7, 65536, 65537, 200000}) {
        const std::string text = difference(numbers(count, dtype, is_unsigned(dtype) ? 0.5 : 50), 33);
        QVERIFY2(text.empty(), text.c_str());
      }
  }

  void statistics_of_odd_values_are_those_of_the_cpu() {
    const double tiny = std::numeric_limits<double>::denorm_min(), huge = std::numeric_limits<double>::max();
    const std::vector<std::vector<double>> all{
        {nan_value, 1, inf_value, -inf_value, -0.0, tiny, 3, nan_value},
        {nan_value, nan_value},
        {inf_value},
        {huge, huge, -huge, huge, 1},
        {-huge, huge},
        {tiny, -tiny, 0},
        {5, 5, 5}};
    for (const std::vector<double>& values : all)
      for (const DType dtype : {DType::float64, DType::float32})
        for (const std::uint32_t bins : {0U, 1U, 4096U}) {
          const std::string text = difference(on_cpu(values, {std::ssize(values)}, dtype), bins);
          QVERIFY2(text.empty(), text.c_str());
        }
  }

  void statistics_see_views_and_bring_a_few_numbers() {
    const Tensor here = numbers(300000, DType::float32);
    const Tensor there = ops::copy_to(here, first_gpu);
    const auto part = [](const Tensor& tensor) {
      return Tensor::view(tensor.storage(), tensor.dtype(), {200, 300}, {1, 500}, 7);
    };
    const Copied copied;
    const Summary found = summarize(part(there), 16, false);
    QVERIFY2(copied.bytes() < 1000, std::to_string(copied.bytes()).c_str());
    const Summary expected = summarize(part(here), 16, false);
    QCOMPARE(found.histogram, expected.histogram);
    QCOMPARE(found.minimum, expected.minimum);
  }

  void quantities_of_conditions_are_those_of_the_cpu() {
    for (const DType dtype : {DType::float32, DType::int32, DType::bool_, DType::bfloat16})
      for (const bool odd : {false, true}) {
        Tensor here = numbers(100000, dtype);
        if (odd && is_floating(dtype)) {
          const DeviceScope cpu(Device{});
          here = ops::concat(std::array{here, ops::cast(on_cpu({inf_value, -2}, {2}), dtype)}, 0);
        }
        const Tensor there = ops::copy_to(here, first_gpu);
        const Copied copied;
        for (int measure = 0; protocol::reads_values(static_cast<protocol::Measure>(measure)); ++measure)
          for (const bool absolute : {false, true}) {
            protocol::Quantity quantity;
            quantity.measure = static_cast<protocol::Measure>(measure);
            quantity.absolute = absolute;
            const double found = BreakValues().measure(there, quantity);
            const double expected = BreakValues().measure(here, quantity);
            QVERIFY2(near(found, expected),
                     (std::string(dtype_name(dtype)) + ", measure " + std::to_string(measure) + ": " +
                      std::to_string(found) + ", on the CPU " + std::to_string(expected))
                         .c_str());
          }
        QVERIFY2(copied.bytes() < 20000, std::to_string(copied.bytes()).c_str());
        QCOMPARE(all_finite(there), !odd || !is_floating(dtype));
      }
  }

  void norms_and_updates_are_those_of_the_cpu() {
    const auto close = [](double a, double b) { return std::abs(a - b) <= 1e-5 * b; };
    for (const DType dtype : {DType::float32, DType::float64, DType::bfloat16}) {
      const Tensor before = numbers(70000, dtype);
      std::vector<double> changed = before.to_vector();
      changed[5] = inf_value;
      changed[66000] += 100;
      const Tensor now = on_cpu(changed, before.shape(), dtype);
      const Tensor before_there = ops::copy_to(before, first_gpu), now_there = ops::copy_to(now, first_gpu);
      const Copied copied;
      for (const auto& [there, here] : {std::pair(before_there, before), std::pair(now_there, now)}) {
        const NormGauge found = norm_gauge(there), expected = norm_gauge(here);
        QVERIFY(close(found.norm, expected.norm));
        QCOMPARE(found.not_finite, expected.not_finite);
      }
      QVERIFY(close(update_gauge(before_there, now_there), update_gauge(before, now)));
      QCOMPARE(update_gauge(before_there, before_there), 0.0);
      QVERIFY2(copied.bytes() < 2000, std::to_string(copied.bytes()).c_str());
    }
  }

  void a_breakpoint_stops_at_what_a_gpu_computed() {
    const Tensor start = ops::copy_to(numbers(100000, DType::float32, 1), first_gpu);
    const Copied copied;
    BreakpointSession session({when("max(abs(out)) > 1000"), when("nan(out) and op:subtract")}, [&] {
      at_line(1);
      Tensor x = ops::multiply(start, start);
      for (int i = 0; i < 3; ++i) x = ops::multiply(x, ops::multiply(start, start));
      const Tensor infinite = ops::divide(x, ops::zeros_like(x));
      ops::subtract(infinite, infinite);
    });
    const BreakpointSession::Stop first = session.stop();
    QVERIFY(first.after);
    QCOMPARE(first.op, std::string("multiply"));
    BreakpointSession::Stop last = first;
    for (BreakpointSession::Stop stop = first; !stop.op.empty(); stop = session.next()) last = stop;
    QCOMPARE(last.op, std::string("subtract"));
    QVERIFY2(last.reason.ends_with(" elements"), last.reason.c_str());
    QVERIFY2(copied.bytes() < start.bytes() / 4, std::to_string(copied.bytes()).c_str());
  }

  void tiles_are_those_of_the_cpu_and_bring_their_cells() {
    for (const DType dtype : {DType::float32, DType::float64, DType::int64, DType::bool_, DType::float16}) {
      Tensor here = numbers(40 * 90 * 110, dtype);
      {
        const DeviceScope cpu(Device{});
        here = ops::reshape(here, {40, 90, 110});
      }
      const Tensor there = ops::copy_to(here, first_gpu);
      const auto turned = [](const Tensor& tensor) {
        return Tensor::view(tensor.storage(), tensor.dtype(), {110, 90}, {1, 110}, 5 * 90 * 110);
      };
      std::vector<protocol::GetTile> requests{request({}, {0, 0, 1000, 1000}),
                                              request({3, -1, -1}, {80, 100, 50, 50}),
                                              request({-1, 4, -1}, {5, 7, 10, 9}, {3, 20}),
                                              request({-1, -1, 109}, {1, 2, 100, 100}, {40, 7}),
                                              request({7, 3, -1}, {0, 10, 1, 12}),
                                              request({7, 3, 1}, {0, 0, 1, 1}),
                                              request({-1, -1}, {0, 0, 500, 800}, {4, 1})};
      requests.back().reshape = std::vector<std::int64_t>{400, 990};
      for (const protocol::CellValue cell :
           {protocol::CellValue::extreme, protocol::CellValue::minimum, protocol::CellValue::maximum}) {
        requests.push_back(request({-1, -1, 109}, {1, 2, 100, 100}, {40, 7}));
        requests.back().cell = cell;
      }
      for (const protocol::GetTile& get : requests) {
        const Copied copied;
        const protocol::Tile found = debug::make_tile(there, get);
        QVERIFY(copied.bytes() <= 8 * found.values.size());
        const std::string text = difference(found, debug::make_tile(here, get));
        QVERIFY2(text.empty(), (std::string(dtype_name(dtype)) + ": " + text).c_str());
      }
      const std::string text =
          difference(debug::make_tile(turned(there), request({}, {1, 1, 20, 20}, {6, 6})),
                     debug::make_tile(turned(here), request({}, {1, 1, 20, 20}, {6, 6})));
      QVERIFY2(text.empty(), text.c_str());
    }
    // Where a cell has NaN or infinities.
    std::vector<double> odd(300, -1);
    odd[7] = nan_value;
    odd[120] = inf_value;
    odd[250] = -inf_value;
    const Tensor here = on_cpu(odd, {3, 100}), there = ops::copy_to(here, first_gpu);
    for (const protocol::CellValue cell : {protocol::CellValue::mean, protocol::CellValue::extreme,
                                           protocol::CellValue::minimum, protocol::CellValue::maximum}) {
      protocol::GetTile get = request({-1, -1}, {0, 0, 3, 10}, {1, 10});
      get.cell = cell;
      const protocol::Tile found = debug::make_tile(there, get);
      QVERIFY(std::isnan(found.values[0]));
      QCOMPARE(difference(found, debug::make_tile(here, get)), std::string());
    }
    const Tensor large = ops::add(ops::copy_to(Tensor::scalar(0x1p60, DType::int64), first_gpu),
                                  ops::copy_to(on_cpu({1, 2, 3}, {3}, DType::int64), first_gpu));
    QCOMPARE(debug::make_tile(large, request({-1}, {0, 1, 1, 2})).exact,
             (std::vector<std::string>{"1152921504606846978", "1152921504606846979"}));
    QVERIFY_THROWS_EXCEPTION(debug::BadRequest, debug::make_tile(large, request({3}, {0, 0, 1, 1})));
  }

  void differences_are_those_of_the_cpu_and_bring_a_few_numbers() {
    const DeviceScope cpu(Device{});
    for (const DType dtype : {DType::float32, DType::float64, DType::int32, DType::int64, DType::bool_,
                              DType::bfloat16, DType::uint8}) {
      const Tensor a = numbers(150000, dtype);
      std::vector<double> changed = a.to_vector();
      for (const std::size_t place : {3, 70000, 70001, 149999}) changed[place] += 1;
      if (is_floating(dtype)) {
        changed[9] = nan_value;
        changed[100000] *= 1 + 0x1p-7;
      }
      const Tensor b = on_cpu(changed, a.shape(), dtype);
      for (const debug::Tolerance tolerance :
           {debug::Tolerance{}, debug::Tolerance{1e-3, 0}, debug::Tolerance{0, 1.5}, debug::Tolerance{1, 1}})
        for (const Tensor& other : {a, b}) {
          const Tensor there = ops::copy_to(a, first_gpu), other_there = ops::copy_to(other, first_gpu);
          const Copied copied;
          const debug::ValueDifference found = debug::compare_values(there, other_there, tolerance);
          QVERIFY2(copied.bytes() < 1000, std::to_string(copied.bytes()).c_str());
          const debug::ValueDifference expected = debug::compare_values(a, other, tolerance);
          QCOMPARE(found.count, expected.count);
          QCOMPARE(found.differing, expected.differing);
          QCOMPARE(found.place, expected.place);
          QCOMPARE(found.max_absolute, expected.max_absolute);
          QCOMPARE(found.max_relative, expected.max_relative);
        }
    }
    const auto both = [](std::vector<double> left, std::vector<double> right) {
      const Tensor l = on_cpu(left, {std::ssize(left)}), r = on_cpu(right, {std::ssize(right)});
      return std::pair(
          debug::compare_values(ops::copy_to(l, first_gpu), ops::copy_to(r, first_gpu), {1e-9, 0}),
          debug::compare_values(l, r, {1e-9, 0}));
    };
    for (const auto& [found, expected] :
         {both({nan_value, inf_value, 1, -1e308}, {nan_value, inf_value, 1, 1e308}),
          both({inf_value, 2}, {-inf_value, 2}), both({nan_value, 5}, {4, 6}), both({}, {}),
          both({0, 1}, {-0.0, 1})}) {
      QCOMPARE(found.differing, expected.differing);
      QCOMPARE(found.place, expected.place);
      QCOMPARE(found.max_absolute, expected.max_absolute);
      QCOMPARE(found.max_relative, expected.max_relative);
    }
    const auto whole = [](std::int64_t value) {
      const std::int64_t values[] = {value};
      return Tensor::from_values<std::int64_t>(values, {1});
    };
    const debug::ValueDifference last_digit = debug::compare_values(
        ops::copy_to(whole(INT64_MAX), first_gpu), ops::copy_to(whole(INT64_MAX - 1), first_gpu), {});
    QCOMPARE(last_digit.max_absolute, 1.0);
    QCOMPARE(debug::compare_values(ops::copy_to(whole(INT64_MIN), first_gpu),
                                   ops::copy_to(whole(INT64_MAX), first_gpu), {})
                 .max_absolute,
             0x1p64);
  }

  void runs_on_a_gpu_are_compared_there() {
    compared::Runs runs;
    const auto program = [](double shift) {
      return [shift] {
        const Tensor x = ops::fill({400, 250}, ops::copy_to(Tensor::scalar(2.0), first_gpu));
        const Tensor y = ops::multiply(x, x);
        const Tensor first = ops::one_hot(ops::copy_to(on_cpu({777}, {1}, DType::int64), first_gpu), 100000);
        ops::add(y, ops::reshape(ops::multiply(first, ops::copy_to(Tensor::scalar(shift), first_gpu)),
                                 {400, 250}));
      };
    };
    const protocol::ComparedSide left = runs.run(program(0)), right = runs.run(program(3));
    const std::uint64_t a = runs.at(static_cast<std::uint32_t>(*left.last)).outputs[0].id,
                        b = runs.at(static_cast<std::uint32_t>(*right.last)).outputs[0].id;
    QCOMPARE(runs.at(static_cast<std::uint32_t>(*left.last)).outputs[0].device, std::string("/gpu:0"));
    const Copied copied;
    const protocol::Compared compared = runs.compare(left, right);
    const protocol::FirstDifference found = runs.first(compared);
    QVERIFY2(found.kind != protocol::DifferenceKind::none, found.sentence.c_str());
    QVERIFY(found.complete);
    const auto same = runs.compare(left, left);
    QCOMPARE(runs.first(same).kind, protocol::DifferenceKind::none);

    const QuietScope quiet;
    const DeviceScope answers(Device{});
    protocol::GetComparisonTile get;
    get.comparison = compared.comparison;
    get.part = protocol::ComparedPart::difference;
    get.left = a;
    get.right = b;
    get.tile = request({}, {3, 20, 2, 10});
    const Tensor difference = runs.comparisons.value(get, runs.original, runs.cancel);
    QCOMPARE(difference.device(), first_gpu);
    const protocol::Tile tile = debug::make_tile(difference, get.tile);
    std::vector<double> expected(20);
    expected[7] = 3;
    QCOMPARE(tile.values, expected);
    QVERIFY2(copied.bytes() < 20000, std::to_string(copied.bytes()).c_str());
  }
};

TAPEDECK_TEST(InspectionTest)
#include "tst_inspection.moc"
