// The recorder: order, parents, links, threads, and what of values it keeps.
#include <QtTest>
#include <atomic>
#include <cmath>
#include <set>
#include <thread>

#include "engine/debug/tape_index.h"
#include "engine/record/trace/scope.h"
#include "engine/record/trace/source_location.h"
#include "engine/record/trace/tensor_specs.h"
#include "engine/tape/variable.h"
#include "tests/engine/record/recording.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace test_ops;
using protocol::Record;
using protocol::RecordKind;

namespace {

std::uint32_t line_of_next_op = 0;
std::uint32_t capture_test_line() {
  return intern_location({"cell-7", "", line_of_next_op});
}

}  // namespace

class TestRecorder : public QObject {
  Q_OBJECT
 private slots:
  void records_come_in_order_with_what_went_in_and_out() {
    Recording recording;
    const Tensor x = vector_of({1, 2, 3});
    const Tensor squared = multiply(x, x);
    const Tensor total = sum(squared);
    QCOMPARE(recording.count(), 2u);
    const Record first = recording.at(1), second = recording.at(2);
    QCOMPARE(first.op, std::string("test_multiply"));
    QVERIFY(first.kind == RecordKind::op && first.state == RecordState::done);
    QCOMPARE(first.inputs.size(), 2u);
    QCOMPARE(first.inputs[0].id, x.id());
    QCOMPARE(first.inputs[0].producer, 0u);
    QCOMPARE(first.inputs[0].dtype, std::string("float64"));
    QCOMPARE(first.inputs[0].shape, std::vector<std::int64_t>{3});
    QCOMPARE(first.inputs[0].device, std::string("/cpu:0"));
    QCOMPARE(first.inputs[0].preview, std::string("[1. 2. 3.]"));
    QCOMPARE(first.outputs.size(), 1u);
    QCOMPARE(first.outputs[0].id, squared.id());
    QCOMPARE(first.outputs[0].preview, std::string("[1. 4. 9.]"));
    QCOMPARE(second.op, std::string("test_sum"));
    QCOMPARE(second.inputs[0].id, squared.id());
    QCOMPARE(second.inputs[0].producer, 1u);
    QCOMPARE(second.outputs[0].id, total.id());
    QVERIFY(first.duration_ns >= 0 && second.start_ns >= first.start_ns + first.duration_ns);
    QVERIFY(!debug::describe(recording.recorder, 3, true));
    QCOMPARE(recording.recorder.trace().newest_finished(), 2u);
  }

  void a_failed_op_says_why_and_is_no_result() {
    Recording recording;
    QVERIFY_THROWS_EXCEPTION(Error, failing(scalar(1), false));
    const Record record = recording.at(1);
    QVERIFY(record.state == RecordState::failed);
    QVERIFY(!record.error.empty());
    QVERIFY(record.outputs.empty());
    multiply(scalar(1), scalar(2));
    QCOMPARE(recording.at(2).parent, 0u);
  }

  void vjps_know_their_playback_their_forward_op_and_their_tape() {
    Recording recording;
    const Tensor x = vector_of({1, 2});
    Tape tape;
    tape.start();
    tape.watch(x);
    const Tensor y = sum(multiply(x, x));  // 1, 2
    gradient(tape, y, x);
    std::uint32_t playback = 0;
    std::map<std::string, Record> vjps;
    for (std::uint32_t i = 1; i <= recording.count(); ++i) {
      const Record record = recording.at(i);
      QCOMPARE(record.number, std::uint64_t{i});
      QCOMPARE(record.backward, i > 2);
      if (record.kind == RecordKind::playback) playback = i;
      if (record.kind == RecordKind::vjp) vjps[record.op] = record;
    }
    QCOMPARE(playback, 3u);
    const Record top = recording.at(playback);
    QCOMPARE(top.op, std::string("gradient"));
    QCOMPARE(top.tape, tape.id());
    QCOMPARE(top.inputs[0].id, y.id());
    QCOMPARE(top.depth, 0u);
    QCOMPARE(recording.at(1).tape, tape.id());
    QCOMPARE(vjps.size(), 2u);
    QCOMPARE(vjps["test_sum"].forward, 2u);
    QCOMPARE(vjps["test_multiply"].forward, 1u);
    QCOMPARE(vjps["test_multiply"].parent, std::uint64_t{playback});
    QCOMPARE(vjps["test_multiply"].tape, tape.id());
    QVERIFY(!vjps["test_multiply"].custom_gradient);
    int inside = 0;
    for (std::uint32_t i = 1; i <= recording.count(); ++i) {
      const Record record = recording.at(i);
      if (record.parent != vjps["test_multiply"].number) continue;
      ++inside;
      QCOMPARE(record.forward, 1u);
      QCOMPARE(record.depth, 2u);
    }
    QCOMPARE(inside, 2);
  }

  void a_custom_gradient_is_the_parent_of_the_users_ops_in_both_directions() {
    Recording recording;
    const Tensor x = vector_of({3});
    Tape tape;
    tape.start();
    tape.watch(x);
    const Tensor y = custom_square(x);
    const Tensor dx = gradient(tape, y, x);
    QCOMPARE(dx.to_vector(), std::vector<double>{6});
    const Record forward = recording.at(1);
    QVERIFY(forward.kind == RecordKind::custom && forward.custom_gradient);
    QCOMPARE(forward.op, std::string("custom_square"));
    QCOMPARE(recording.at(2).parent, 1u);
    QCOMPARE(forward.outputs[0].id, y.id());
    QCOMPARE(forward.outputs[0].producer, 2u);  // the op that made it, inside
    std::optional<Record> vjp;
    std::vector<std::string> inside;
    for (std::uint32_t i = 3; i <= recording.count(); ++i) {
      const Record record = recording.at(i);
      if (record.kind == RecordKind::vjp) vjp = record;
      if (vjp && record.parent == vjp->number) inside.push_back(record.op);
    }
    QVERIFY(vjp && vjp->custom_gradient);
    QCOMPARE(vjp->op, std::string("custom_square"));
    QCOMPARE(vjp->forward, 1u);
    QCOMPARE(inside, (std::vector<std::string>{"test_multiply", "add"}));
  }

  void a_tapes_records_hold_its_custom_ops_but_not_those_inside_built_in_vjps() {
    Recording recording;
    const Tensor x = vector_of({3});
    multiply(x, x);  // on no tape
    Tape tape;
    tape.start();
    tape.watch(x);
    const Tensor y = sum(custom_square(multiply(x, x)));
    gradient(tape, y, x);
    debug::TapeIndex index(recording.recorder);
    const auto records = index.read({tape.id(), {}, 1000, {}}).records;
    std::set<std::string> kinds;
    for (const Record& record : records) {
      kinds.insert(std::string(protocol::names(record.kind)[static_cast<std::size_t>(record.kind)]));
      if (record.parent == 0) continue;
      const Record parent = recording.at(static_cast<std::uint32_t>(record.parent));
      QVERIFY(parent.kind != RecordKind::vjp || parent.custom_gradient);
    }
    QCOMPARE(kinds.size(), 4u);
    QVERIFY(records.front().number == 2);
    QVERIFY(std::is_sorted(records.begin(), records.end(),
                           [](const Record& a, const Record& b) { return a.number < b.number; }));
    const auto newest = index.read({tape.id(), {}, 2, {}});
    QCOMPARE(newest.records.size(), 2u);
    QCOMPARE(newest.dropped, records.size() - 2);
    QCOMPARE(newest.records[1].number, records.back().number);
    const auto older = index.read({tape.id(), 2, 1000, {}});
    QCOMPARE(older.records.size(), 1u);
    QCOMPARE(index.read({987654, {}, 10, {}}).records.size(), 0u);
  }

  void records_of_several_threads_get_one_order_and_can_be_read_meanwhile() {
    constexpr int threads = 4, ops = 3000;
    Recording recording;
    std::atomic<bool> done{false};
    std::atomic<std::uint64_t> read{0};
    std::thread reader([&] {
      while (!done) {
        const auto page = debug::describe_page(recording.recorder, {1, 1000, true});
        for (const Record& record : page.records) read += !record.op.empty();
      }
    });
    std::vector<std::thread> workers;
    for (int t = 0; t < threads; ++t)
      workers.emplace_back([] {
        Tensor value = scalar(1);
        for (int i = 0; i < ops; ++i) value = add(value, scalar(1));
      });
    for (std::thread& worker : workers) worker.join();
    done = true;
    reader.join();
    QCOMPARE(recording.count(), std::uint32_t{threads * ops});
    std::map<std::uint64_t, int> of_thread;
    for (std::uint32_t i = 1; i <= recording.count(); ++i) {
      RecordView view;
      QVERIFY(recording.recorder.trace().read(i, view));
      QVERIFY(view.state == RecordState::done);
      ++of_thread[view.head.thread];
    }
    QCOMPARE(of_thread.size(), std::size_t{threads});
    for (const auto& [thread, count] : of_thread) QCOMPARE(count, ops);
  }

  void a_record_takes_less_than_160_bytes() {
    RecorderOptions options;
    Recording recording(options);
    const Tensor x = scalar(1);
    multiply(x, x);
    const std::uint64_t before = recording.recorder.trace().bytes();
    constexpr std::uint64_t count = 100000;
    for (std::uint64_t i = 0; i < count; ++i) multiply(x, x);
    const std::uint64_t bytes = recording.recorder.trace().bytes() - before;
    QVERIFY2(bytes < 160 * count && bytes > 80 * count, qPrintable(QString::number(bytes / count)));
  }

  void many_inputs_are_recorded_too() {
    Recording recording;
    const OpDef& many = op_named("test_many", [] {
      OpDef op = unary([](const OpContext& call) -> Tensors { return {call.inputs[0]}; }, nullptr);
      op.inputs[0].variadic = true;
      return op;
    }());
    std::vector<Tensor> inputs;
    for (int i = 0; i < 50; ++i) inputs.push_back(scalar(i));
    const Tensors result = run_op(many, inputs);
    once_and_twice(inputs[0]);
    const Record record = recording.at(1);
    QCOMPARE(record.inputs.size(), 50u);
    for (std::size_t i = 0; i < 50; ++i) QCOMPARE(record.inputs[i].id, inputs[i].id());
    QCOMPARE(record.outputs.at(0).id, result[0].id());
    QCOMPARE(recording.at(2).outputs.size(), 2u);
  }

  void old_records_are_forgotten_past_the_limit() {
    RecorderOptions options;
    options.record_limit = 10000;
    Recording recording(options);
    Tensor value = scalar(1);
    for (int i = 0; i < 50000; ++i) value = add(value, value);
    QCOMPARE(recording.count(), 50000u);
    const std::uint32_t oldest = recording.recorder.trace().oldest_kept();
    QVERIFY2(oldest > 10000 && oldest <= 40001, qPrintable(QString::number(oldest)));
    const Record gone = recording.at(1);
    QCOMPARE(gone.op, std::string("forgotten"));
    QCOMPARE(gone.number, 1u);
    QVERIFY(gone.error.find(std::to_string(oldest)) != std::string::npos);
    QCOMPARE(recording.at(oldest).op, std::string("add"));
    QCOMPARE(debug::describe_page(recording.recorder, {1, 5, true}).records.size(), 5u);
  }

  void nothing_is_recorded_while_the_recording_is_off() {
    Recording recording;
    recording.recorder.set_recording(false);
    QVERIFY(current_observer() == nullptr);
    const Tensor made = multiply(scalar(2), scalar(3));
    QCOMPARE(recording.count(), 0u);
    recording.recorder.set_recording(true);
    add(made, made);
    QCOMPARE(recording.count(), 1u);
    QCOMPARE(recording.at(1).inputs[0].producer, 0u);
    QCOMPARE(recording.recorder.values().held(made.id()).item(), 6.0);  // it became a leaf
  }

  void what_goes_backwards_is_of_the_scope_that_went_forwards() {
    Recording recording;
    const Tensor x = vector_of({3});
    Tape tape;
    tape.start();
    tape.watch(x);
    Tensor y;
    {
      const NameScope model("model");
      const NameScope layer("dense");
      y = multiply(x, x);
    }
    const Tensor loss = sum(y);
    {
      const NameScope around("training");
      gradient(tape, loss, x);
    }
    int of_the_layer = 0, of_none = 0;
    for (std::uint32_t i = 3; i <= recording.count(); ++i) {
      const Record record = recording.at(i);
      const std::string scope = record.kind == RecordKind::playback || record.forward == 0
                                    ? "training"
                                    : recording.at(static_cast<std::uint32_t>(record.forward)).scope;
      QCOMPARE(record.scope, scope);
      of_the_layer += record.scope == "model/dense";
      of_none += record.scope.empty();
    }
    QVERIFY(of_the_layer > 1);  // the VJP, and ops inside of it
    QVERIFY(of_none > 0);       // the sum's
  }

  void scopes_and_lines_stand_in_the_records() {
    Recording recording;
    set_capture_location(&capture_test_line);
    line_of_next_op = 12;
    {
      const NameScope outer("layer");
      const NameScope inner("dense");
      multiply(scalar(1), scalar(1));
    }
    line_of_next_op = 0;
    multiply(scalar(1), scalar(1));
    set_capture_location(nullptr);
    QCOMPARE(recording.at(1).scope, std::string("layer/dense"));
    QCOMPARE(recording.at(1).cell, std::string("cell-7"));
    QCOMPARE(recording.at(1).line, 12u);
    QCOMPARE(recording.at(2).scope, std::string());
    QCOMPARE(recording.at(2).line, 0u);
    QVERIFY_THROWS_EXCEPTION(FailedPreconditionError, pop_scope());
  }

  void series_restart_and_are_read_on_from_where_they_were() {
    SeriesStore series;
    series.restart("never seen");
    QCOMPARE(series.size(), 0u);
    for (int i = 0; i < 3; ++i) series.add("loss", i, 10 - i, 5);
    series.add("accuracy", 0, 0.5, 6);
    auto answer = series.read(0);
    QCOMPARE(answer.points.size(), 4u);
    QCOMPARE(answer.points[3].series, std::string("accuracy"));
    QCOMPARE(answer.points[2].value, 8.0);
    const std::uint64_t next = answer.next;
    series.restart("loss");
    series.add("loss", 0, 20, 7);
    answer = series.read(next);
    QCOMPARE(answer.restarted, std::vector<std::string>{"loss"});
    QCOMPARE(answer.points.size(), 1u);
    QVERIFY(series.read(answer.next).restarted.empty());
    answer = series.read(0);
    QCOMPARE(answer.points.size(), 2u);  // the old loss is void
    answer = series.read(0, 1);
    QCOMPARE(answer.points.size(), 1u);
    QCOMPARE(series.read(answer.next).points.size(), 1u);
  }

  void a_curve_that_is_drawn_again_goes_on_or_starts_over() {
    SeriesStore series;
    const auto steps = [&] {
      std::vector<double> found;
      for (const auto& point : series.read(0).points) found.push_back(point.step);
      return found;
    };
    series.reopen("never seen");
    QCOMPARE(series.size(), 0u);
    for (const double step : {0., 5., 3.}) series.add("loss", step, 1, 1);
    series.reopen("loss");
    QCOMPARE(steps(), (std::vector<double>{0, 5, 3}));
    series.add("loss", 6, 1, 1);  // behind the largest
    series.add("loss", 2, 1, 1);
    QCOMPARE(steps(), (std::vector<double>{0, 5, 3, 6, 2}));
    QVERIFY(series.read(0).restarted.empty());
    series.reopen("loss");
    series.reopen("loss", false);
    series.add("loss", 1, 1, 1);
    QCOMPARE(steps().size(), std::size_t(6));
    for (const double step : {6., std::nan("")}) {
      series.reopen("loss");
      series.add("loss", step, 1, 1);
      QCOMPARE(steps().size(), std::size_t(1));
      QCOMPARE(series.read(0).restarted, std::vector<std::string>{"loss"});
    }
  }

  void each_cell_draws_curves_of_its_own() {
    Recording recording;
    Recorder& recorder = recording.recorder;
    SeriesStore& series = recorder.series();
    const auto run = [&](const char* cell, std::uint32_t execution, double step, double value) {
      recorder.begin_cell(cell, execution);
      series.reopen("loss");
      recorder.add_scalar("loss", step, value);
      recorder.end_cell();
    };
    run("a", 1, 0, 10);
    run("b", 2, 0, 20);
    run("a", 3, 1, 11);  // goes on with its own
    auto answer = series.read(0);
    QCOMPARE(answer.points.size(), 3u);
    QVERIFY(answer.points[0].series != answer.points[1].series);
    QCOMPARE(answer.points[2].series, answer.points[0].series);
    QCOMPARE(answer.curves.size(), 2u);
    for (const protocol::CurveInfo& curve : answer.curves) {
      QCOMPARE(curve.name, std::string("loss"));
      QCOMPARE(curve.execution, curve.cell == "a" ? 3u : 2u);
      QCOMPARE(curve.x, std::string("step"));
    }
    run("b", 4, 0, 21);  // starts over: only its own are void
    answer = series.read(0);
    QCOMPARE(answer.points.size(), 3u);
    QCOMPARE(answer.restarted.size(), 1u);
    QCOMPARE(answer.points.back().value, 21.);
    // What a cell draws after its end is its own, too: the list that it ends with.
    recorder.add_scalar("losses", 0, 1, "index");
    QCOMPARE(series.info(protocol::drawn_key("losses", "b"))->x, std::string("index"));
    // Other steps are another axis: the curve begins anew.
    recorder.add_scalar("losses", -2, 7, "distance");
    QCOMPARE(series.info(protocol::drawn_key("losses", "b"))->x, std::string("distance"));
    QCOMPARE(series.read(0).points.back().value, 7.);
    QCOMPARE(series.read(0).points.size(), 4u);
    // A condition means the curve of the cell that runs, else the newest of that name.
    recorder.begin_cell("c", 5);
    QCOMPARE(series.trend("loss").newest, 11.);
  }

  void pictures_of_two_cells_are_two() {
    PictureStore store;
    const auto add = [&](double step) {
      protocol::Picture picture;
      picture.name = "digits";
      picture.step = step;
      picture.limits = {0, 1};
      picture.counts = {1};
      QVERIFY(store.add(picture));
    };
    store.begin_run("a", 1);
    add(0);
    store.begin_run("b", 2);
    add(0);
    store.restart("digits");
    add(1);
    const auto kept = store.read(0);
    QCOMPARE(kept.pictures.size(), 2u);
    QCOMPARE(kept.pictures[0].cell, std::string("a"));
    QCOMPARE(kept.pictures[0].execution, 1u);
    QCOMPARE(kept.pictures[1].step, 1.);
    QCOMPARE(kept.restarted, (std::vector<std::string>{protocol::drawn_key("digits", "b")}));
  }

  void a_record_keeps_the_execution_that_made_it() {
    CellRuns runs;
    runs.begin("a", 1, 0, 1);
    runs.end(3, 1, false);
    runs.begin("b", 4, 2, 2);  // also calls what "a" defined
    runs.end(6, 3, false);
    runs.begin("a", 7, 4, 3);
    runs.end(6, 5, false);  // no ops
    runs.begin("b", 7, 6, 4);
    QCOMPARE(runs.execution_of("a", 3), 1u);
    QCOMPARE(runs.execution_of("a", 5), 1u);
    QCOMPARE(runs.execution_of("b", 5), 2u);
    QCOMPARE(runs.execution_of("a", 7), 3u);
    QCOMPARE(runs.execution_of("b", 9), 4u);
    QCOMPARE(runs.execution_of("b", 3), 0u);
    QCOMPARE(runs.execution_of("never seen", 3), 0u);
  }

  void cells_and_the_curves_points_know_where_they_are() {
    Recording recording;
    recording.recorder.begin_cell("cell-3");
    QCOMPARE(recording.recorder.running_cell(), std::string("cell-3"));
    multiply(scalar(1), scalar(2));
    recording.recorder.add_scalar("loss", 1, 0.5);
    recording.recorder.end_cell();
    QCOMPARE(recording.recorder.running_cell(), std::string());
    QCOMPARE(recording.recorder.series().read(0).points.at(0).record, 1u);
  }
};

TAPEDECK_TEST(TestRecorder)
#include "tst_recorder.moc"
