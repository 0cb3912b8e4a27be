// Step by step through playbacks: the sums of gradients, and where a source's gradient is complete, are stops
// of their own, in the order in which they happen, and stepping changes no result.
#include <QtTest>
#include <atomic>
#include <functional>
#include <map>

#include "engine/debug/describe.h"
#include "engine/ops/core/ops.h"
#include "engine/record/trace/source_location.h"
#include "engine/tape/variable.h"
#include "engine/tensor/interrupt.h"
#include "tests/engine/record/breakpoint_session.h"
#include "tests/engine/record/gated_program.h"
#include "tests/engine/tape/tape_helpers.h"
#include "tests/test_program.h"

using namespace tapedeck;

namespace {

thread_local std::uint32_t line_of_gradients = 0;
std::atomic<bool> gradients_interrupted{false};

using Stops = std::vector<std::string>;
using Results = std::vector<std::vector<double>>;
/// Gives back what its gradients are, an empty list for None.
using GradientProgram = std::function<Results()>;

Results values_of_all(const Tensors& tensors) {
  Results results;
  for (const Tensor& tensor : tensors) results.push_back(tensor ? tensor.to_vector() : std::vector<double>());
  return results;
}

/// From stop to stop, as by F10.
struct GradientStepper : GatedProgram {
  explicit GradientStepper(const GradientProgram& program)
      : GatedProgram([this, program] { results = program(); }) {
    gate().command(GateCommand::step_op);
    start();
  }
  ~GradientStepper() { let_it_end(); }

  /// The next one; state `open` where the program ended.
  GateStatus next() {
    const auto stopped = [this] {
      const GateStatus status = gate().status();
      return status.state == GateState::stopped && status.stop != last_;
    };
    if (!wait_for([&] { return stopped() || finished; }) || !stopped()) return {};
    const GateStatus status = gate().status();
    last_ = status.stop;
    return status;
  }
  GateStatus step(GateCommand command = GateCommand::step_op) {
    gate().command(command);
    return next();
  }

  std::string value_of(std::uint64_t tensor) const {
    return debug::tensor_info(recorder, tensor, true).preview;
  }
  /// "∂ test_multiply", "4.0 + 1.0", "w complete: 9.0, 1 of 2, after add"; else the op.
  std::string text(const GateStatus& status) const {
    const protocol::Record record = at(status.stopped_before);
    if (const GradientStop& made = status.gradient; made.source != 0) {
      const std::string name = names.contains(made.source)
                                   ? names.at(made.source)
                                   : debug::tensor_info(recorder, made.source, false).name;
      return name + " complete: " + (made.rows ? "rows " : "") + value_of(made.gradient) + ", " +
             std::to_string(made.place + 1) + " of " + std::to_string(made.places) + ", after " + record.op;
    }
    if (record.kind == protocol::RecordKind::vjp) return "∂ " + record.op;
    if (record.sums_gradients) return record.inputs.at(0).preview + " + " + record.inputs.at(1).preview;
    return record.op;
  }
  /// All that are in a playback.
  Stops all() {
    Stops stops;
    for (GateStatus status = next(); status.state == GateState::stopped; status = step())
      if (at(status.stopped_before).backward) stops.push_back(text(status));
    join();
    return stops;
  }

  Results results;
  static inline std::map<std::uint64_t, std::string> names;  ///< of sources that are no variables

 private:
  std::uint64_t last_ = 0;
};

Tensor named_source(Tape& tape, const std::string& name, double value) {
  const Tensor x = test_ops::watched(tape, value);
  GradientStepper::names[x.id()] = name;
  return x;
}

/// x·x + x at 4.
Results square_and_itself() {
  Tape tape;
  tape.start();
  const Tensor x = named_source(tape, "x", 4);
  const Tensor y = test_ops::add(test_ops::multiply(x, x), x);
  return values_of_all(tape.gradient(std::array{y}, std::array{x}));
}

/// x³ at 4: two parts of one VJP, and one of another.
Results three_parts() {
  Tape tape;
  tape.start();
  const Tensor x = named_source(tape, "x", 4);
  return values_of_all(tape.gradient(std::array{test_ops::cube(x)}, std::array{x}));
}

/// Of three sources one has no gradient.
Results several_sources() {
  Tape tape;
  tape.start();
  const Tensor a = named_source(tape, "a", 2), b = named_source(tape, "b", 5), u = named_source(tape, "u", 1);
  return values_of_all(tape.gradient(std::array{test_ops::multiply(a, b)}, std::array{u, b, a}));
}

/// The last op that reads x gives it no gradient (None).
Results none_at_the_end() {
  Tape tape;
  tape.start();
  const Tensor x = named_source(tape, "x", 3), s = named_source(tape, "s", 2);
  const Tensor l = test_ops::spread(s, x);
  const Tensor y = test_ops::multiply(test_ops::multiply(x, x), l);
  return values_of_all(tape.gradient(std::array{y}, std::array{x, s}));
}

Results twice_by_a_persistent_tape() {
  Tape tape(true);
  tape.start();
  const Tensor x = named_source(tape, "x", 3);
  const Tensor y = test_ops::multiply(x, x);
  Results all = values_of_all(tape.gradient(std::array{y}, std::array{x}));
  for (const auto& one : values_of_all(tape.gradient(std::array{y}, std::array{x}))) all.push_back(one);
  return all;
}

/// (x³)″ at 2.
Results second_order() {
  Tape outer;
  outer.start();
  const Tensor x = named_source(outer, "x", 2);
  Tensor slope;
  {
    Tape inner;
    inner.start();
    inner.watch(x);
    slope = ::gradient(inner, test_ops::cube(x), x);
  }
  return values_of_all(outer.gradient(std::array{slope}, std::array{x}));
}

/// A source that is a target, and one that an op made.
Results targets_and_inner_sources() {
  Tape tape;
  tape.start();
  const Tensor x = named_source(tape, "x", 3);
  const Tensor y = test_ops::multiply(x, x);
  GradientStepper::names[y.id()] = "y";
  const Tensor z = test_ops::exponential(test_ops::multiply(y, test_ops::scalar(0.5)));
  return values_of_all(tape.gradient(std::array{y, z}, std::array{y, x}));
}

/// A variable that was assigned to between its two uses.
Results variable_with_two_values() {
  const Variable w(test_ops::scalar(3), "w");
  Tape tape;
  tape.start();
  const Tensor first = test_ops::multiply(w.read(), w.read());
  Variable(w).assign(test_ops::scalar(5));
  const Tensor y = test_ops::add(first, w.read());
  const std::array sources{Tape::Source{{}, w}};
  return values_of_all(
      tape.gradient(std::array{y}, std::span<const Tape::Source>(sources), {}, Unconnected::none));
}

/// Only rows of it are gathered, twice.
Results rows_of_a_variable() {
  const Variable table(Tensor::from_values<double>(std::array{1., 2., 3., 4., 5., 6.}, {3, 2}), "table");
  Tape tape;
  tape.start();
  const Tensor some = ops::gather(table.read(), test_ops::vector_of({2, 0}, DType::int64));
  const Tensor one = ops::gather(table.read(), test_ops::vector_of({2}, DType::int64));
  const Tensor y = test_ops::add(test_ops::sum(some), test_ops::sum(one));
  const std::array sources{Tape::Source{{}, table}};
  std::vector<Tape::RowGradient> rows;
  tape.gradient(std::array{y}, std::span<const Tape::Source>(sources), {}, Unconnected::none, rows);
  return values_of_all({rows.at(0).values, rows.at(0).indices});
}

}  // namespace

class TestGradientStops : public QObject {
  Q_OBJECT
 private slots:
  void initTestCase() {
    set_capture_location([] { return line_of_gradients; });
  }
  void cleanupTestCase() { set_capture_location(nullptr); }
  void cleanup() {
    set_host_hooks({});
    gradients_interrupted = false;
  }

  void sums_and_complete_gradients_come_in_order() {
    QCOMPARE(
        GradientStepper(square_and_itself).all(),
        (Stops{"∂ add", "∂ test_multiply", "1.0 + 4.0", "5.0 + 4.0", "x complete: 9.0, 1 of 1, after add"}));
    QCOMPARE(GradientStepper(three_parts).all(),
             (Stops{"∂ test_multiply", "∂ test_multiply", "16.0 + 16.0", "32.0 + 16.0",
                    "x complete: 48.0, 1 of 1, after add"}));
  }

  void each_source_is_told_when_it_is_complete_and_one_without_a_gradient_never() {
    QCOMPARE(GradientStepper(several_sources).all(),
             (Stops{"∂ test_multiply", "a complete: 5.0, 3 of 3, after test_multiply",
                    "b complete: 2.0, 2 of 3, after test_multiply"}));
  }

  void where_the_last_reader_gives_none_what_came_before_is_complete() {
    QCOMPARE(GradientStepper(none_at_the_end).all(),
             (Stops{"∂ test_multiply", "∂ test_multiply", "6.0 + 6.0", "∂ test_spread",
                    "s complete: 9.0, 2 of 2, after test_spread", "x complete: 12.0, 1 of 2, after add"}));
  }

  void a_persistent_tape_stops_in_each_playback_alike() {
    const Stops once{"∂ test_multiply", "3.0 + 3.0", "x complete: 6.0, 1 of 1, after add"};
    Stops twice = once;
    twice.insert(twice.end(), once.begin(), once.end());
    QCOMPARE(GradientStepper(twice_by_a_persistent_tape).all(), twice);
  }

  void the_playback_of_a_playback_stops_too() {
    const Stops stops = GradientStepper(second_order).all();
    QCOMPARE(stops.at(4), std::string("x complete: 12.0, 1 of 1, after add"));  // 3x² of the inner tape
    QVERIFY2(stops.back().starts_with("x complete: 12.0, 1 of 1, "), stops.back().c_str());  // 6x
    QVERIFY(std::ranges::count_if(stops, [](const std::string& one) {
              return one.find("complete") != std::string::npos;
            }) == 2);
  }

  void targets_and_values_of_ops_may_be_sources() {
    const Stops stops = GradientStepper(targets_and_inner_sources).all();
    // 1 + e^(9/2)/2, and six times that.
    std::vector<std::string> complete;
    for (const std::string& stop : stops)
      if (const auto at = stop.find(" complete"); at != std::string::npos)
        complete.push_back(stop.substr(0, at));
    QCOMPARE(complete, (Stops{"y", "x"}));
  }

  void what_is_put_together_at_the_end_is_complete_then() {
    const Stops two = GradientStepper(variable_with_two_values).all();
    QCOMPARE(two.size(), std::size_t{5});
    QCOMPARE(two[3], std::string("6.0 + 1.0"));  // of both values
    QVERIFY2(two[4].starts_with("w") && two[4].ends_with(" complete: 7.0, 1 of 1, after add"),
             two[4].c_str());
    const Stops rows = GradientStepper(rows_of_a_variable).all();
    QVERIFY2(rows.back().find(" complete: rows ") != std::string::npos, rows.back().c_str());
    QCOMPARE(std::ranges::count_if(rows,
                                   [](const auto& one) { return one.find("complete") != std::string::npos; }),
             1);
  }

  void stepping_changes_no_result_and_records_nothing_more_data() {
    QTest::addColumn<int>("which");
    for (int i = 0; i < static_cast<int>(programs().size()); ++i) QTest::addRow("%d", i) << i;
  }
  void stepping_changes_no_result_and_records_nothing_more() {
    QFETCH(int, which);
    const GradientProgram program = programs()[static_cast<std::size_t>(which)];
    test_ops::register_core_ops();
    const Results alone = program();
    std::uint32_t records = 0;
    {
      Recording recording;
      QVERIFY(program() == alone);
      records = recording.count();
    }
    GradientStepper stepped(program);
    stepped.all();
    QVERIFY(stepped.results == alone);
    QCOMPARE(stepped.count(), records);
  }

  void a_line_step_and_a_step_out_pass_them() {
    const GradientProgram program = [] {
      line_of_gradients = intern_location({"cell", "", 1});
      Tape tape;
      tape.start();
      const Tensor x = named_source(tape, "x", 4);
      const Tensor y = test_ops::multiply(x, x);
      line_of_gradients = intern_location({"cell", "", 2});
      Results results = values_of_all(tape.gradient(std::array{y}, std::array{x}));
      line_of_gradients = intern_location({"cell", "", 3});
      test_ops::exponential(x);
      line_of_gradients = 0;
      return results;
    };
    for (const GateCommand command : {GateCommand::step_line, GateCommand::step_out})
      for (const int steps_before : {0, 1, 2}) {  // at the VJP, at the sum, where it is complete
        GradientStepper stepped(program);
        stepped.next();
        GateStatus status = stepped.step();
        for (int i = 0; i < steps_before; ++i) status = stepped.step();
        QVERIFY(stepped.at(status.stopped_before).backward);
        QCOMPARE(status.gradient.source != 0, steps_before == 2);
        QCOMPARE(stepped.text(stepped.step(command)), std::string("test_exp"));
      }
  }

  void each_is_a_stop_of_its_own_number_with_the_record_that_made_it() {
    GradientStepper stepped(several_sources);
    std::vector<GateStatus> complete;
    for (GateStatus status = stepped.next(); status.state == GateState::stopped; status = stepped.step())
      if (status.gradient.source != 0) {
        complete.push_back(status);
        const protocol::Status told = debug::describe_status(stepped.recorder);
        QVERIFY(told.complete_gradient && told.stopped_after);
        QCOMPARE(protocol::stop_id(told), std::optional(status.stop));
        QCOMPARE(told.complete_gradient->gradient.id, status.gradient.gradient);
        QVERIFY(stepped.at(status.stopped_before).state == protocol::RecordState::done);
      }
    QCOMPARE(complete.size(), std::size_t{2});
    QCOMPARE(complete[0].stopped_before, complete[1].stopped_before);  // both by one VJP
    QVERIFY(complete[0].stop != complete[1].stop && complete[0].stop > stepped.count());
    QVERIFY(!debug::describe_status(stepped.recorder).complete_gradient);
  }

  void an_interrupt_there_leaves_the_playback() {
    set_host_hooks({.release = nullptr, .reacquire = nullptr, .interrupted = [] {
                      return gradients_interrupted.load();
                    }});
    GradientStepper stepped(square_and_itself);
    GateStatus status = stepped.next();
    while (status.gradient.source == 0) status = stepped.step();
    const auto playback = static_cast<std::uint32_t>(stepped.at(status.stopped_before).parent);
    gradients_interrupted = true;
    QVERIFY(wait_for([&] { return stepped.finished.load(); }));
    QVERIFY(stepped.interrupted);
    QCOMPARE(stepped.at(playback).error, std::string("interrupted"));
    QVERIFY(stepped.at(status.stopped_before).state == protocol::RecordState::done);
  }

  void breakpoints_see_sums_as_ops() {
    protocol::Breakpoint sum;
    sum.id = 1;
    sum.kind = protocol::BreakpointKind::op;
    sum.target = "add";
    sum.condition = "is:backward max(out) > 8";
    BreakpointSession session({sum}, [] { square_and_itself(); });
    const BreakpointSession::Stop stop = session.stop();
    QVERIFY(stop.after && stop.record.sums_gradients);
    QCOMPARE(stop.record.outputs.at(0).preview, std::string("9.0"));
    QVERIFY(session.next().op.empty());  // where it is complete no breakpoint stops again
  }

 private:
  static const std::vector<GradientProgram>& programs() {
    static const std::vector<GradientProgram> all{
        square_and_itself,          three_parts,  several_sources,           none_at_the_end,
        twice_by_a_persistent_tape, second_order, targets_and_inner_sources, variable_with_two_values,
        rows_of_a_variable};
    return all;
  }
};

TAPEDECK_TEST(TestGradientStops)
#include "tst_gradient_stops.moc"
