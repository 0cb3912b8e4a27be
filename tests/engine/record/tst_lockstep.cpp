// Observers in front of another, floating point in one dtype, and what lockstep says of two tensors.
#include <QtTest>
#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "engine/ops/core/floating.h"
#include "engine/ops/core/front_observer.h"
#include "engine/ops/random/random_state.h"
#include "engine/record/lockstep/lockstep.h"
#include "engine/record/recorder.h"
#include "engine/tapedeck.h"
#include "tests/engine/event_log.h"
#include "tests/engine/ops/op_call.h"
#include "tests/test_program.h"

using namespace tapedeck;

namespace {

class Front final : public FrontObserver {
 public:
  std::vector<std::string> lines;
  bool refuses_begin = false, refuses_end = false;
  explicit Front(std::string name) : name_(std::move(name)) {}

 protected:
  void begun(const Event& event, std::uint64_t record) override {
    lines.push_back(name_ + " begin " + std::to_string(record) + " " + std::string(event.name));
    if (refuses_begin) fail<FailedPreconditionError>("refused");
  }
  void ended(const Event& event, std::uint64_t record, std::span<const Tensor> outputs,
             const char* error) override {
    lines.push_back(name_ + " end " + std::to_string(record) + " " + std::string(event.name) + " " +
                    std::to_string(outputs.size()) + (error ? error : ""));
    if (refuses_end) fail<FailedPreconditionError>("refused");
  }

 private:
  std::string name_;
};

using Lines = std::vector<std::string>;

Tensor floats(std::vector<float> values) {
  return Tensor::from_values<float>(values, Shape{static_cast<std::int64_t>(values.size())});
}
Tensor doubles(std::vector<double> values) {
  return Tensor::from_values<double>(values, Shape{static_cast<std::int64_t>(values.size())});
}

}  // namespace

class TestLockstep : public QObject {
  Q_OBJECT

 private slots:
  void all_in_front_and_the_one_behind_see_an_op() {
    Front first("first"), second("second");
    const Tensor x = floats({1});
    {
      EventLog log;
      add_front_observer(second);
      add_front_observer(first);
      ops::exp(x);
      QCOMPARE(log.lines, (Lines{"begin 1 op exp", "end 1"}));
      remove_front_observer(second);
      ops::exp(x);
      QCOMPARE(log.lines.size(), 4u);
    }
    ops::exp(x);  // nobody is behind
    remove_front_observer(first);
    ops::exp(x);
    QCOMPARE(first.lines, (Lines{"first begin 1 exp", "first end 1 exp 1", "first begin 2 exp",
                                 "first end 2 exp 1", "first begin 0 exp", "first end 0 exp 1"}));
    QCOMPARE(second.lines, (Lines{"second begin 1 exp", "second end 1 exp 1"}));
    QVERIFY(current_observer() == nullptr);
  }

  void the_one_behind_hears_of_what_lets_memory_go() {
    struct Listener final : EventLog {
      void variable_gone(std::uint64_t) override { lines.push_back("variable gone"); }
      void taped(std::uint64_t, std::uint64_t) override { lines.push_back("taped"); }
      void tape_used_up(std::uint64_t) override { lines.push_back("tape used up"); }
      void tape_emptied(std::uint64_t) override { lines.push_back("tape emptied"); }
    } log;
    Front front("front");
    add_front_observer(front);
    {
      const Variable w(floats({1, 2}), "w");
      Tape outer(true), inner;
      outer.start();
      inner.start();
      const Tensor y = ops::square(w.read());
      inner.stop();
      outer.stop();
      inner.gradient(std::span(&y, 1), std::span(&w, 1));
    }
    remove_front_observer(front);
    for (const char* told : {"taped", "tape used up", "tape emptied", "variable gone"})
      QVERIFY2(std::ranges::find(log.lines, told) != log.lines.end(), told);
  }

  void what_one_in_front_throws_ends_the_op_behind() {
    Front front("front");
    EventLog log;
    add_front_observer(front);
    front.refuses_begin = true;
    QVERIFY_THROWS_EXCEPTION(FailedPreconditionError, ops::exp(floats({1})));
    QCOMPARE(log.lines, (Lines{"begin 1 op exp", "end 1 failed: refused"}));
    front.refuses_begin = false;
    front.refuses_end = true;
    QVERIFY_THROWS_EXCEPTION(FailedPreconditionError, ops::exp(floats({1})));
    QCOMPARE(log.lines.back(), "end 2");
    front.refuses_end = false;
    ops::exp(floats({1}));
    QCOMPARE(front.lines.back(), "front end 3 exp 1");
    remove_front_observer(front);
    remove_front_observer(front);  // does nothing
    ops::exp(floats({1}));
    QCOMPARE(log.lines.back(), "end 4");
  }

  void the_recorder_behind_hears_when_memory_goes() {
    Front front("front");
    Recorder recorder;
    recorder.set_recording(true);
    add_front_observer(front);
    {
      const Variable variable(floats({1, 2}), "weight");
      const Tensor x = floats({3});
      Tape outer, inner;
      outer.start();
      outer.watch(x);
      inner.start();
      inner.watch(x);
      const Tensor y = ops::square(x);
      inner.stop();
      outer.stop();
      inner.gradient(std::array{y}, std::array{x});
    }
    remove_front_observer(front);
    recorder.set_recording(false);
    std::set<MemoryEventKind> heard;
    std::uint64_t position = 0;
    for (const MemoryEvent& event : recorder.memory().read(position)) heard.insert(event.kind);
    for (const MemoryEventKind kind : {MemoryEventKind::variable_gone, MemoryEventKind::taped,
                                       MemoryEventKind::tape_used_up, MemoryEventKind::tape_emptied})
      QVERIFY2(heard.contains(kind), std::to_string(static_cast<int>(kind)).c_str());
  }

  void a_floating_scope_computes_in_its_dtype_and_gradients_go_through() {
    Front front("front");
    const Tensor x = floats({0.1f, 2});
    add_front_observer(front);
    Tensor y, gradient;
    {
      const FloatingScope scope(DType::float64);
      Tape tape;
      tape.start();
      tape.watch(x);
      y = ops::multiply(ops::exp(x), x);
      QCOMPARE(front.lines, (Lines{"front begin 0 exp", "front end 0 exp 1", "front begin 0 multiply",
                                   "front end 0 multiply 1"}));  // conversions are not seen
      gradient = tape.gradient(std::array{y}, std::array{x})[0];
    }
    remove_front_observer(front);
    QCOMPARE(y.dtype(), DType::float64);
    QCOMPARE(gradient.dtype(), DType::float64);
    const double value = static_cast<double>(0.1f);
    QCOMPARE(y.to_vector()[0], value * std::exp(value));
    QVERIFY(std::abs(gradient.to_vector()[0] - (1 + value) * std::exp(value)) < 1e-15);
    QCOMPARE(ops::exp(x).dtype(), DType::float32);
  }

  void ops_that_read_bits_or_draw_are_as_in_every_dtype() {
    Front front("front");
    const Tensor x = floats({1.5f, 2});
    add_front_observer(front);
    Tensor bits, drawn;
    {
      const FloatingScope scope(DType::float64);
      bits = testing::called("bitcast", {x}, {{"type", DType::int32}});
      set_random_seed(1);
      drawn = ops::random_normal({100});
    }
    remove_front_observer(front);
    QCOMPARE(bits.to_vector(), testing::called("bitcast", {x}, {{"type", DType::int32}}).to_vector());
    QCOMPARE(drawn.dtype(), DType::float64);
    set_random_seed(1);
    QCOMPARE(drawn.to_vector(), ops::random_normal({100}).to_vector());
  }

  void values_agree_within_the_tolerance() {
    const Tolerance exact{}, loose{1e-3, 0, 0}, share{0, 0, 1e-6};
    const float nan = std::nanf(""), infinity = INFINITY;
    QVERIFY(
        compare_values(floats({1, nan, infinity, -0.f}), floats({1, nan, infinity, 0.f}), exact).agrees());
    const TensorDifference found = compare_values(floats({1, 2, 3}), floats({1, 2.5, 3.1f}), loose);
    QCOMPARE(found.wrong, 2);
    QCOMPARE(found.index, 1);
    QCOMPARE(found.absolute, 0.5);
    QCOMPARE(found.relative, 0.2);
    QCOMPARE(compare_values(floats({1}), floats({nan}), loose).absolute, double(INFINITY));
    QCOMPARE(compare_values(floats({infinity}), doubles({1e300}), loose).wrong, 1);
    // Small ones beside a large one.
    QVERIFY(compare_values(floats({1000, 0}), floats({1000, 1e-4f}), share).agrees());
    QVERIFY(!compare_values(floats({1, 0}), floats({1, 1e-4f}), share).agrees());
    const auto whole = [](std::int64_t value) {
      return Tensor::from_values<std::int64_t>(std::array{value}, Shape{1});
    };
    QCOMPARE(compare_values(whole((1LL << 60) + 1), whole(1LL << 60), loose).absolute, 1.);
  }

  void a_digest_finds_what_differs() {
    std::vector<float> values(1000);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<float>(i));
    const Tensor first = floats(values);
    const Digest digest = digest_of(first);
    QVERIFY(digest.bytes() < 1000);
    const Tolerance exact{}, loose{1e-3, 0, 1e-5};
    QVERIFY(compare_values(digest, first, exact).agrees());
    values[777] += 1e-7f;
    QVERIFY(!compare_values(digest, floats(values), exact).agrees());
    QVERIFY(compare_values(digest, floats(values), loose).agrees());
    values[777] += 100;
    QVERIFY(!compare_values(digest, floats(values), loose).agrees());
    values[777] = std::nanf("");
    QVERIFY(!compare_values(digest, floats(values), loose).agrees());
  }
};

TAPEDECK_TEST(TestLockstep)
#include "tst_lockstep.moc"
