// What the recorder keeps besides values stays within bounds, however long a session runs: names, what is
// known of tensors, copies of small values, texts of errors, curves; and what happens when numbers are used
// up.
#include <QtTest>
#include <thread>

#include "engine/record/replay/replay.h"
#include "engine/record/trace/interner.h"
#include "engine/record/trace/series.h"
#include "engine/tape/variable.h"
#include "tests/engine/debug/served.h"
#include "tests/engine/record/recording.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace test_ops;

namespace {

RecorderOptions few_records() {
  RecorderOptions options;
  options.record_limit = 1;  // one chunk: the least that it keeps
  return options;
}

}  // namespace

class TestRecorderBounds : public QObject {
  Q_OBJECT
 private slots:
  void names_tensors_and_small_leaves_go_with_the_records_that_use_them() {
    Recording recording(few_records());
    Recorder& recorder = recording.recorder;
    const Tensor kept = scalar(2);
    recorder.leaf(kept, "kept");
    const auto run = [&](int ops) {
      for (int i = 0; i < ops; ++i) {
        const Tensor factor = scalar(i);
        recorder.leaf(factor, i % 2 == 0 ? "factor" : "");
        multiply(kept, factor);
      }
    };
    run(100'000);
    const std::uint64_t after_some = recorder.bookkeeping_bytes();
    run(400'000);
    const std::uint64_t after_more = recorder.bookkeeping_bytes();
    QVERIFY2(after_more < after_some + (std::uint64_t{4} << 20),
             qPrintable(QString("%1, then %2 bytes").arg(after_some).arg(after_more)));
    // What is still used is known by name and value.
    QCOMPARE(name_of(recorder.values().name(kept.id())), std::string("kept"));
    QCOMPARE(recorder.values().held(kept.id()).item(), 2.0);
    const protocol::Record last = recording.at(recording.count());
    QCOMPARE(last.inputs.at(0).name, std::string("kept"));
    QCOMPARE(last.inputs.at(1).preview, std::string("399999.0"));
    // The oldest record that is kept has all of its values.
    const protocol::Record oldest = recording.at(recorder.trace().oldest_kept() + 1);
    QCOMPARE(oldest.inputs.at(0).preview, std::string("2.0"));
    QVERIFY(!oldest.inputs.at(1).preview.empty());
  }

  void what_was_forgotten_and_is_used_again_is_known_again() {
    Recording recording(few_records());
    Recorder& recorder = recording.recorder;
    const Tensor small = scalar(5), large = ramp(1000);
    const Tensor made = multiply(large, large), pinned = multiply(large, made);
    QVERIFY(recorder.values().pin(pinned.id(), pinned));
    multiply(small, small);
    multiply(pinned, pinned);
    for (int i = 0; i < 150'000; ++i) multiply(scalar(1), scalar(2));
    // The program still has them; the record that made one of them is gone.
    QVERIFY(recorder.trace().tensors().get(made.id()).producer() < recorder.trace().oldest_kept());
    QCOMPARE(recorder.values().held(pinned.id()).data<double>()[0], 0.125);
    multiply(small, small);
    multiply(made, large);
    QCOMPARE(recorder.values().held(small.id()).item(), 5.0);
    QCOMPARE(recorder.values().held(made.id()).data<double>()[0], 0.25);
    QVERIFY(recorder.trace().tensors().get(made.id()).is_leaf());
  }

  void what_is_no_longer_pinned_is_forgotten_with_its_records() {
    Recording recording(few_records());
    Recorder& recorder = recording.recorder;
    std::uint64_t id = 0;
    {
      const Tensor once_pinned = multiply(ramp(1000), ramp(1000));
      id = once_pinned.id();
      QVERIFY(recorder.values().pin(id, once_pinned));
      recorder.values().unpin(id, recording.count());
    }
    QVERIFY(recorder.trace().tensors().get(id).known());
    for (int i = 0; i < 150'000; ++i) multiply(scalar(1), scalar(2));
    QVERIFY(!recorder.trace().tensors().get(id).known());
  }

  void texts_of_errors_are_bounded() {
    Recording recording;
    const Tensor a = vector_of({1, 2}), b = vector_of({1, 2, 3});
    const OpDef& failing = op_named(
        "fails_at_length",
        unary([](const OpContext&) -> Tensors { fail<InvalidArgumentError>(std::string(1 << 16, 'x')); },
              nullptr));
    for (int i = 0; i < 12'000; ++i) {
      try {
        run_op1(failing, {a});
      } catch (const InvalidArgumentError&) {
      }
    }
    QVERIFY(recording.at(12'000).error.size() <= 5000);
    QVERIFY(recording.at(12'000).error.find("xxx") != std::string::npos);
    QVERIFY(recording.at(1).error.starts_with("(the text of this error was dropped"));
  }

  void an_interner_that_is_full_gives_one_number_for_all_that_is_new() {
    Interner<std::string> names(10'000, "(names full)");
    const std::uint32_t first = names.intern("first");
    std::uint32_t last = 0;
    for (int i = 0; i < 10'000; ++i) last = names.intern("name " + std::to_string(i));
    QCOMPARE(names.at(last), std::string("(names full)"));
    QCOMPARE(names.intern("another"), last);
    QCOMPARE(names.intern("first"), first);
    QVERIFY(last < 200);
    Interner<std::string> without(1000);
    for (int i = 0; i < 1000; ++i) last = without.intern(std::to_string(i));
    QCOMPARE(last, 0u);
    QCOMPARE(without.at(0), std::string());
  }

  void a_curve_without_end_is_thinned_out_evenly_and_keeps_its_spikes() {
    SeriesStore series(1000);
    constexpr int points = 100'000;
    for (int i = 0; i < points; ++i) {
      series.add("loss", i, i == 40'000 ? 1e6 : 1.0 / (i + 1), static_cast<std::uint64_t>(i));
      if (i % 2 == 0) series.add("rate", i, i, static_cast<std::uint64_t>(i));
    }
    QCOMPARE(series.size(), std::uint64_t{150'000});
    QVERIFY(series.thinned() > 148'000);
    QVERIFY(series.bytes() < 200'000);
    const protocol::Series all = series.read(0, 1'000'000);
    QVERIFY(all.points.size() > 400 && all.points.size() <= 1000);
    QCOMPARE(all.next, series.size());
    double last = -1, widest = 0;
    bool spike = false;
    for (const protocol::SeriesPoint& point : all.points) {
      if (point.series != "loss") continue;
      QVERIFY(point.step > last);
      widest = std::max(widest, point.step - last);
      last = point.step;
      spike = spike || point.value == 1e6;
    }
    QVERIFY(spike);
    QCOMPARE(last, double{points - 1});
    QVERIFY2(widest < points / 50.0, qPrintable(QString::number(widest)));
    // In pieces it is the same, each point once.
    std::size_t count = 0;
    for (std::uint64_t next = 0; next < series.size();) {
      const protocol::Series part = series.read(next, 7);
      count += part.points.size();
      QVERIFY(part.next > next);
      next = part.next;
    }
    QCOMPARE(count, all.points.size());
  }

  void a_curve_that_starts_anew_takes_no_room_for_what_is_void() {
    SeriesStore series(1000);
    for (int round = 0; round < 100; ++round) {
      series.restart("loss");
      for (int i = 0; i < 100; ++i) series.add("loss", i, i, 0);
    }
    QCOMPARE(series.thinned(), std::uint64_t{0});
    QCOMPARE(series.read(0).points.size(), std::size_t{100});
    QCOMPARE(series.read(0).restarted, std::vector<std::string>{"loss"});
  }

  void ever_new_curves_share_one() {
    SeriesStore series(100'000, 10);
    for (int i = 0; i < 1000; ++i) series.add("curve " + std::to_string(i), i, i, 0);
    const protocol::Series all = series.read(0);
    QCOMPARE(all.points.at(9).series, std::string("curve 9"));
    QCOMPARE(all.points.at(10).series, std::string("(names full)"));
    QCOMPARE(all.points.back().series, std::string("(names full)"));
  }

  void the_budget_holds_records_and_values_together() {
    RecorderOptions options;
    options.keeping.budget_bytes = std::uint64_t{192} << 20;
    Recording recording(options);
    Recorder& recorder = recording.recorder;
    const Tensor x = scalar(1);
    for (int i = 0; i < 1'500'000; ++i) multiply(x, x);  // some 200 MB, if none were forgotten
    QVERIFY(recorder.trace().oldest_kept() > 1);
    const std::uint64_t most = (std::uint64_t{96} << 20) + (std::uint64_t{8} << 20);
    QVERIFY2(recorder.trace().bytes() < most, qPrintable(QString::number(recorder.trace().bytes())));
    for (int i = 0; i < 40; ++i) recorder.leaf(ramp(1 << 20), "");  // 8 MB each
    QVERIFY(recorder.values().held_bytes() + recorder.bookkeeping_bytes() < (std::uint64_t{260} << 20));
    QVERIFY(recorder.values().leaves_dropped() > 0);
  }

  void when_numbers_are_used_up_the_recording_ends_and_the_program_does_not() {
    RecorderOptions options;
    options.first_record = Trace::newest_possible - 3;
    Recording recording(options);
    Recorder& recorder = recording.recorder;
    std::vector<Tensor> results;
    for (int i = 0; i < 4; ++i) results.push_back(multiply(scalar(i), scalar(10)));
    QVERIFY(recorder.recording());
    QCOMPARE(recording.at(Trace::newest_possible).outputs.at(0).preview, std::string("30.0"));
    QCOMPARE(recorder.trace().tensors().get(results[3].id()).producer(), Trace::newest_possible);
    recorder.gate().command(GateCommand::pause);  // nobody can stop before an op without a number
    for (int i = 4; i < 100; ++i) results.push_back(multiply(scalar(i), scalar(10)));
    {
      Tape tape;
      tape.start();
      tape.watch(results[99]);
      QCOMPARE(gradient(tape, custom_square(results[99]), results[99]).item(), 2 * 990.0);
    }
    QVERIFY(!recorder.recording());
    QCOMPARE(recorder.trace().newest(), Trace::newest_possible);
    QVERIFY(recorder.trace().full());
    // What was not recorded is not taken for something else.
    for (std::size_t i = 4; i < results.size(); ++i)
      QVERIFY(!recorder.trace().tensors().get(results[i].id()).known());
    for (int i = 0; i < 4; ++i)
      QCOMPARE(find_value(recorder, results[static_cast<std::size_t>(i)].id()).value.item(), 10.0 * i);
    recorder.set_recording(true);
    multiply(scalar(1), scalar(1));
    QVERIFY(!recorder.recording());
    QVERIFY(debug::describe_status(recorder).full);
    QCOMPARE(debug::describe_status(recorder).records, std::uint64_t{Trace::newest_possible});
  }
};

TAPEDECK_TEST(TestRecorderBounds)
#include "tst_recorder_bounds.moc"
