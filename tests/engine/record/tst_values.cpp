// What the recorder holds of values, within its budget, and their statistics.
#include <QtTest>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "engine/cpu/dispatch.h"
#include "engine/tape/variable.h"
#include "tests/engine/record/recording.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace test_ops;
using protocol::Record;

namespace {

RecorderOptions small_budget(std::uint64_t budget, std::uint64_t window) {
  RecorderOptions options;
  options.keeping.budget_bytes = budget;
  options.keeping.window_bytes = window;
  options.keeping.checkpoint_ns = std::numeric_limits<std::uint64_t>::max();  // however slow the machine is
  return options;
}

}  // namespace

class TestValues : public QObject {
  Q_OBJECT
 private slots:
  void leaves_are_kept_with_the_names_of_variables() {
    Recording recording;
    const Variable weights(ramp(100), "weights");
    const Tensor value = weights.read();
    sum(value);
    const Record record = recording.at(1);
    QCOMPARE(record.inputs[0].name, std::string("weights:0"));
    QCOMPARE(record.inputs[0].producer, 0u);
    const Values& values = recording.recorder.values();
    QCOMPARE(values.held(value.id()).storage().get(), value.storage().get());
    QCOMPARE(values.held(value.id()).id(), value.id());
    const Tensor constant = scalar(0.25);
    multiply(constant, constant);
    QCOMPARE(values.held(constant.id()).item(), 0.25);
    QVERIFY(!values.held(987654321));
  }

  void leaves_of_no_elements_and_of_all_dtypes_come_back() {
    Recording recording;
    Values& values = recording.recorder.values();
    for (const DType dtype : {DType::bool_, DType::int32, DType::int64, DType::float32, DType::float64}) {
      const Tensor empty = Tensor::allocate(dtype, {0, 3});
      const Tensor two = vector_of({0, 1}, dtype);
      values.add_leaf(empty, 0);
      values.add_leaf(two, 0);
      QVERIFY(values.held(empty.id()).shape() == Shape({0, 3}));
      QVERIFY(values.held(two.id()).dtype() == dtype);
      QCOMPARE(values.held(two.id()).to_vector(), (std::vector<double>{0, 1}));
    }
  }

  void borrowed_memory_is_copied() {
    Recording recording;
    std::vector<double> owners(100, 1.0);
    const Tensor borrowed = Tensor::view(StoragePointer::borrow(
                                             owners.data(), 800, [](void*) {}, nullptr),
                                         DType::float64, {100}, {1}, 0);
    sum(borrowed);
    owners[0] = 5;
    QCOMPARE(recording.recorder.values().held(borrowed.id()).to_vector()[0], 1.0);
  }

  void the_budget_drops_the_oldest_leaves_and_keeps_their_statistics() {
    Recording recording(small_budget(100'000, 1000));
    Values& values = recording.recorder.values();
    std::vector<std::uint64_t> ids;
    for (int i = 0; i < 30; ++i) {
      const Tensor leaf = ramp(1000);  // 8000 bytes
      ids.push_back(leaf.id());
      values.add_leaf(leaf, 0);
    }
    QVERIFY(values.held_bytes() <= 100'000);
    QCOMPARE(values.leaves_dropped(), 18u);
    QVERIFY(!values.held(ids[0]) && !values.held(ids[17]));
    QVERIFY(values.held(ids[18]) && values.held(ids[29]));
    const auto statistics = values.statistics_of_dropped(ids[0]);
    QVERIFY(statistics);
    QCOMPARE(statistics->mean, 500.0);
    QCOMPARE(statistics->maximum, 999.5);
    QVERIFY(!values.statistics_of_dropped(ids[29]));
    values.set_budget(20'000);
    QVERIFY(values.held_bytes() <= 20'000);
    QVERIFY(values.held(ids[29]) && !values.held(ids[20]));
  }

  void a_leaf_that_is_larger_than_the_budget_is_not_held() {
    Recording recording(small_budget(1000, 1000));
    const Tensor huge = ramp(1000);
    sum(huge);
    QVERIFY(!recording.recorder.values().held(huge.id()));
    QCOMPARE(recording.recorder.values().leaves_dropped(), 1u);
    QCOMPARE(recording.at(1).inputs[0].shape, std::vector<std::int64_t>{1000});
  }

  void the_window_is_bounded_and_goes_before_leaves() {
    Recording recording(small_budget(64'000, 24'000));
    Values& values = recording.recorder.values();
    const Tensor leaf = ramp(1000);
    std::vector<std::uint64_t> ids;
    for (int i = 0; i < 20; ++i) ids.push_back(multiply(leaf, leaf).id());
    QVERIFY(values.held(ids[19]) && values.held(ids[18]) && !values.held(ids[10]));
    QVERIFY2(values.held_bytes() <= 24'000 + 8'000, qPrintable(QString::number(values.held_bytes())));
    QVERIFY(values.held(leaf.id()));
    const std::uint64_t big = multiply(ramp(5000), ramp(5000)).id();
    QVERIFY(values.held(big));  // larger than the window, but the newest
    QCOMPARE(values.leaves_dropped(), 3u);
  }

  void small_results_stay_after_the_window_has_moved_on() {
    Recording recording(small_budget(64'000, 8'000));
    const std::uint64_t small = multiply(scalar(3), scalar(5)).id();
    const Tensor leaf = ramp(1000);
    for (int i = 0; i < 100; ++i) multiply(leaf, leaf);
    QCOMPARE(recording.recorder.values().held(small).item(), 15.0);
  }

  void checkpoints_are_thinned_out_before_leaves_go() {
    RecorderOptions options = small_budget(64'000, 8'000);
    options.keeping.checkpoint_ns = 1;
    options.keeping.checkpoint_ns_per_byte = 0;
    Recording recording(options);
    Values& values = recording.recorder.values();
    const Tensor leaf = ramp(1000);
    Tensor value = leaf;
    for (int i = 0; i < 500; ++i) value = multiply(value, leaf);
    QVERIFY2(values.held_bytes() <= 64'000, qPrintable(QString::number(values.held_bytes())));
    QVERIFY(values.checkpoint_count() >= 1 && values.checkpoint_count() <= 4);  // half of the budget
    QCOMPARE(values.leaves_dropped(), 0u);
    QVERIFY(values.held(leaf.id()));
    for (int i = 0; i < 6; ++i) values.add_leaf(ramp(1000), 0);
    QCOMPARE(values.leaves_dropped(), 0u);
    QVERIFY(values.held_bytes() <= 64'000);
  }

  void keeping_everything_keeps_every_result() {
    Recording recording;
    recording.recorder.values().set_keep_everything(true);
    const Tensor leaf = ramp(100);
    std::vector<std::uint64_t> ids;
    for (int i = 0; i < 5000; ++i) ids.push_back(multiply(leaf, leaf).id());
    for (const std::uint64_t id : ids) QVERIFY(recording.recorder.values().held(id));
    recording.recorder.values().set_keep_everything(false);
    QVERIFY(!recording.recorder.values().held(ids[0]));
    QVERIFY(recording.recorder.values().held_bytes() <= 2000);
  }

  void pinned_values_outlive_window_and_budget() {
    Recording recording(small_budget(64'000, 8'000));
    Values& values = recording.recorder.values();
    Tensor leaf = ramp(1000);
    const std::uint64_t leaf_id = leaf.id();
    const Tensor pinned = multiply(leaf, leaf);
    QVERIFY(values.pin(pinned.id(), pinned));
    QVERIFY(values.pin(leaf_id, leaf));
    leaf = {};  // what the program has too would be spared
    for (int i = 0; i < 20; ++i) values.add_leaf(ramp(1000), 0);
    QVERIFY(values.held(pinned.id()) && values.held(leaf_id));
    const Tensor huge = ramp(100'000);
    QVERIFY(!values.pin(huge.id(), huge));
    const std::uint64_t dropped = values.leaves_dropped();
    values.unpin(leaf_id, recording.count());
    QVERIFY(!values.held(leaf_id));
    QCOMPARE(values.leaves_dropped(), dropped + 1);
    QVERIFY(values.statistics_of_dropped(leaf_id));
  }

  void a_small_leaf_that_was_pinned_stays() {
    Recording recording;
    Values& values = recording.recorder.values();
    const Tensor small = vector_of({1, 2, 3});
    multiply(small, small);
    QVERIFY(values.held(small.id()));
    QVERIFY(values.pin(small.id(), small));
    values.unpin(small.id(), recording.count());
    QVERIFY(values.held(small.id()));
    QCOMPARE(values.leaves_dropped(), 0u);
    QVERIFY(!values.statistics_of_dropped(small.id()));
  }

  void statistics_have_the_same_bits_in_every_instruction_set() {
    std::vector<double> numbers(200'003);
    for (std::size_t i = 0; i < numbers.size(); ++i)
      numbers[i] = std::sin(static_cast<double>(i) * 0.7) * static_cast<double>(i % 1000);
    const Tensor doubles = Tensor::from_values<double>(numbers, {static_cast<std::int64_t>(numbers.size())});
    std::optional<Summary> first;
    for (int set = 0; set <= static_cast<int>(cpu::best_instruction_set()); ++set) {
      cpu::use_instruction_set(static_cast<cpu::InstructionSet>(set));
      const Summary summary = summarize(doubles, 64, true);
      if (!first) first = summary;
      QCOMPARE(summary.mean, first->mean);
      QCOMPARE(summary.deviation, first->deviation);
      QCOMPARE(summary.minimum, *std::min_element(numbers.begin(), numbers.end()));
      QCOMPARE(summary.maximum, *std::max_element(numbers.begin(), numbers.end()));
      QVERIFY(summary.zeros == first->zeros && summary.histogram == first->histogram);
      QCOMPARE(std::accumulate(summary.histogram.begin(), summary.histogram.end(), std::uint64_t{0}),
               std::uint64_t{numbers.size()});
    }
    cpu::use_instruction_set(cpu::best_instruction_set());
  }

  void whole_numbers_are_counted_as_doubles_in_every_instruction_set() {
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    // Each in every lane of a block; all but those beyond 2⁵³ are doubles as they are.
    for (const std::int64_t one :
         {std::int64_t{0}, std::int64_t{-1}, std::int64_t{0x1'0000'0000}, std::int64_t{-0xffff'ffff},
          (std::int64_t{1} << 53) - 1, -(std::int64_t{1} << 52) - 7, most, -most - 1, most - 511}) {
      const Tensor same = Tensor::from_values<std::int64_t>(std::vector<std::int64_t>(16, one), {16});
      for (int set = 0; set <= static_cast<int>(cpu::best_instruction_set()); ++set) {
        cpu::use_instruction_set(static_cast<cpu::InstructionSet>(set));
        const Summary summary = summarize(same, 2, true);
        QCOMPARE(summary.minimum, static_cast<double>(one));
        QCOMPARE(summary.maximum, static_cast<double>(one));
        QCOMPARE(summary.mean, static_cast<double>(one));
        QCOMPARE(summary.zeros, one == 0 ? 16u : 0u);
      }
    }
    cpu::use_instruction_set(cpu::best_instruction_set());
  }

  void statistics_count_what_is_not_finite() {
    constexpr double inf = std::numeric_limits<double>::infinity();
    const Summary summary = summarize(vector_of({std::nan(""), inf, inf, -inf, 0, -0.0, 4, -2}), 3, true);
    QCOMPARE(summary.count, 8u);
    QCOMPARE(summary.finite, 4u);
    QCOMPARE(summary.zeros, 2u);
    QCOMPARE(summary.nan, 1u);
    QCOMPARE(summary.positive_infinity, 2u);
    QCOMPARE(summary.negative_infinity, 1u);
    QCOMPARE(summary.minimum, -2.0);
    QCOMPARE(summary.maximum, 4.0);
    QCOMPARE(summary.mean, 0.5);
    QCOMPARE(summary.deviation, std::sqrt(4.75));
    QCOMPARE(summary.histogram, (std::vector<std::uint64_t>{1, 2, 1}));
    const Summary none = summarize(vector_of({}), 4, true);
    QVERIFY(none.count == 0 && std::isnan(none.mean) && std::isnan(none.minimum));
    QCOMPARE(none.histogram, std::vector<std::uint64_t>(4));
    const double most = std::numeric_limits<double>::max();
    const Summary wide = summarize(vector_of({-most, most, most, 0}), 2, true);
    QCOMPARE(wide.histogram, (std::vector<std::uint64_t>{1, 3}));
    QCOMPARE(wide.mean, most / 4);
    const Summary all_same = summarize(vector_of({7, 7}), 3, true);
    QCOMPARE(all_same.histogram, (std::vector<std::uint64_t>{2, 0, 0}));
  }

  void statistics_count_subnormal_numbers_of_the_dtype() {
    const std::vector<double> values = {1e-310, -1e-310, 1e-40, -1e-40, 0.0, -0.0, 1e-300, 1, -2, 3, 1e-39};
    const auto count = static_cast<std::int64_t>(values.size());
    const Tensor doubles = Tensor::from_values<double>(values, {count});
    const std::vector<float> narrow(values.begin(), values.end());
    const Tensor floats = Tensor::from_values<float>(narrow, {count});
    for (const cpu::InstructionSet set : {cpu::InstructionSet::baseline, cpu::best_instruction_set()}) {
      cpu::use_instruction_set(set);
      QCOMPARE(summarize(doubles, 4, true).subnormals, 2u);
      QCOMPARE(summarize(floats, 4, true).subnormals, 3u);  // 1e-310 and 1e-300 are 0 there
      QCOMPARE(summarize(floats, 4, true).zeros, 5u);
    }
    std::vector<double> with_nan = values;
    with_nan.push_back(std::nan(""));
    const Tensor odd = Tensor::from_values<double>(with_nan, {count + 1});
    QCOMPARE(summarize(odd, 4, true).subnormals, 2u);
    QCOMPARE(summarize(Tensor::from_values<std::int32_t>(std::vector<std::int32_t>{0, 1, -1}, {3}), 4, true)
                 .subnormals,
             0u);
  }

  void statistics_of_many_blocks_are_those_of_the_whole() {
    const std::int64_t count = 1'000'001;
    const Summary threaded = summarize(ramp(count), 10, true);
    const Summary single = summarize(ramp(count), 10, false);
    const auto n = static_cast<double>(count);
    QCOMPARE(threaded.mean, n / 2);
    QCOMPARE(threaded.deviation, std::sqrt((n * n - 1) / 12));
    QCOMPARE(threaded.mean, single.mean);
    QVERIFY(threaded.deviation == single.deviation);
    QCOMPARE(threaded.histogram, single.histogram);
    CancelFlag cancel{true};
    QVERIFY_THROWS_EXCEPTION(Cancelled, summarize(ramp(count), 10, true, &cancel));
  }
};

TAPEDECK_TEST(TestValues)
#include "tst_values.moc"
