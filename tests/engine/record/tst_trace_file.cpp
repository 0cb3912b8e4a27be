// A trace as a file: what is saved comes back, to the last bit.
#include <QtTest>
#include <filesystem>
#include <thread>

#include "engine/debug/memory/memory.h"
#include "tests/engine/expect_error.h"
#include "tests/engine/ops/rows/all_rows.h"
#include "tests/engine/record/saved_trace.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace traced;

namespace {

/// Every record of both, and every value that the live session has or can have again. Empty: the same.
std::string difference(Recorder& live, Recorder& file) {
  const std::uint32_t newest = live.trace().newest();
  if (file.trace().newest() != newest) return "another number of records";
  RecordView left, right;
  for (std::uint32_t number = 1; number <= newest; ++number) {
    const std::string expected = text_of(live, number), found = text_of(file, number);
    if (expected != found) return expected + "\nbut the file has\n" + found;
    if (!live.trace().read(number, left) || !file.trace().read(number, right)) return "a record is gone";
    if (std::abs(left.start_ns - right.start_ns) > 1 || std::abs(left.duration_ns - right.duration_ns) > 1 ||
        std::abs(left.call_ns - right.call_ns) > 1 || std::abs(left.work_start_ns - right.work_start_ns) > 1)
      return "times of record " + std::to_string(number);
    for (const TensorIds* ids : {&left.inputs, &left.outputs})
      for (const std::uint64_t id : *ids) {
        if (id == 0) continue;
        const std::string which = "the value of tensor " + std::to_string(id) + " at " + expected;
        Tensor original;
        try {
          original = find_value(live, id).value;
        } catch (const ValueError&) {
          continue;
        }
        try {
          if (!same_bits(original, find_value(file, id).value)) return which + " is another one";
        } catch (const ValueError& error) {
          return which + ": " + error.what();
        }
      }
  }
  return {};
}

}  // namespace

class TraceFileTest : public QObject {
  Q_OBJECT

 private slots:
  void records_and_values_come_back() {
    Saved session;
    train(session.recorder, 12);
    every_dtype(session.recorder);
    failures();
    views(session.recorder);
    session.recorder.set_recording(false);
    const protocol::TraceSaved saved = session.save();
    QCOMPARE(saved.first, 1u);
    QCOMPARE(saved.last, session.count());
    QCOMPARE(saved.bytes, std::filesystem::file_size(session.path()));
    const auto file = session.open();
    QCOMPARE(difference(session.recorder, *file), std::string());
    QVERIFY(text_of(*file, session.count() - 6, false) != "none");
    QCOMPARE(file->file()->problem(), std::string());
    QCOMPARE(file->started_unix_ms(), session.recorder.started_unix_ms());
  }

  void every_op_of_the_registry_comes_back() {
    Saved session;
    testing::Random random(7);
    for (const testing::Row& row : testing::all_rows()) {
      const OpDef* op = Registry::instance().find(row.op);
      for (const auto& make : row.calls) {
        const testing::Call call = make(random);
        try {
          testing::run_call(*op, call);
        } catch (const std::exception&) {  // rows of refusals
        }
      }
    }
    // What Python may give for numbers.
    run_op1(*Registry::instance().find("one_hot"), {Tensor::scalar(1, DType::int32)},
            Attributes{std::int64_t{3}, true, std::int64_t{0}, std::int64_t{-1}, DType::float32});
    session.recorder.set_recording(false);
    QVERIFY(session.count() > 1000);
    session.save();
    const auto file = session.open();
    const std::string differs = difference(session.recorder, *file);
    QVERIFY2(differs.empty(), differs.c_str());
  }

  void values_come_back_without_what_was_held() {
    RecorderOptions options;
    options.keeping.window_bytes = 0;
    Saved session(options);
    train(session.recorder, 30);
    session.recorder.set_recording(false);
    session.save();
    const auto file = session.open();
    QCOMPARE(difference(session.recorder, *file), std::string());
    for (std::uint32_t number = session.count(); number > session.count() - 30; --number) {
      RecordView record;
      QVERIFY(file->trace().read(number, record));
      for (const std::uint64_t id : record.outputs)
        if (id) QVERIFY(find_value(*file, id).value);
    }
  }

  void executions_and_axes_come_back() {
    Saved session;
    Recorder& recorder = session.recorder;
    for (const std::uint32_t execution : {3u, 5u}) {
      recorder.begin_cell(execution == 3 ? "a" : "b", execution);
      test_ops::multiply(test_ops::scalar(1), test_ops::scalar(2));
      recorder.add_scalar("loss", execution, 1);
      recorder.add_scalar("along", 0.5, 1, "distance");
      protocol::Picture picture;
      picture.name = "digits";
      picture.limits = {0, 1};
      picture.counts = {1};
      recorder.add_picture(picture);
      recorder.end_cell();
    }
    recorder.set_recording(false);
    session.save();
    const auto file = session.open();
    const auto runs = file->cell_runs().newest(10);
    QCOMPARE(runs.size(), 2u);
    QCOMPARE(runs[0].execution, 3u);
    QCOMPARE(file->cell_runs().execution_of("b", runs[1].first), 5u);
    const auto curves = file->series().read(0).curves, before = recorder.series().read(0).curves;
    QCOMPARE(curves.size(), 4u);
    for (std::size_t i = 0; i < curves.size(); ++i) {
      QCOMPARE(curves[i].series, before[i].series);
      QCOMPARE(curves[i].name, before[i].name);
      QCOMPARE(curves[i].cell, before[i].cell);
      QCOMPARE(curves[i].execution, before[i].execution);
      QCOMPARE(curves[i].x, before[i].x);
    }
    const auto pictures = file->pictures().read(0).pictures;
    QCOMPARE(pictures.size(), 2u);
    QCOMPARE(pictures[1].cell, std::string("b"));
    QCOMPARE(pictures[1].execution, 5u);
  }

  void curves_pictures_and_assignments_come_back() {
    Saved session;
    train(session.recorder, 5);
    session.recorder.series().add("nothing", 1, std::nan(""), 2);
    session.recorder.series().restart("nothing");
    session.recorder.series().add("nothing", 4, 5, 3);
    session.recorder.set_recording(false);
    session.save();
    const auto file = session.open();
    const auto curves = session.recorder.series().read(0), again = file->series().read(0);
    QCOMPARE(again.points.size(), curves.points.size());
    for (std::size_t i = 0; i < curves.points.size(); ++i) {
      QCOMPARE(again.points[i].series, curves.points[i].series);
      QCOMPARE(again.points[i].step, curves.points[i].step);
      QCOMPARE(again.points[i].value, curves.points[i].value);
      QCOMPARE(again.points[i].record, curves.points[i].record);
    }
    // Compare draws the curves of runs whose cell ran again since.
    const auto all = session.recorder.series().between(1, session.count()),
               all_again = file->series().between(1, session.count());
    QCOMPARE(all.size(), curves.points.size() + 1);
    QCOMPARE(all_again.size(), all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      QCOMPARE(all_again[i].series, all[i].series);
      QCOMPARE(all_again[i].step, all[i].step);
      QCOMPARE(all_again[i].record, all[i].record);
    }
    const auto pictures = file->pictures().read(0).pictures;
    QCOMPARE(pictures.size(), 2u);
    QCOMPARE(pictures[0].limits, (std::vector<double>{-1, 0, 1}));
    QCOMPARE(pictures[0].counts, (std::vector<double>{3, 4}));
    QCOMPARE(pictures[1].pngs, std::vector<std::string>{"iVBORw0KGgo="});
    const auto before = session.recorder.data_flow().assignments(), after = file->data_flow().assignments();
    QVERIFY(before.size() >= 12);
    QCOMPARE(after.size(), before.size());
    for (std::size_t i = 0; i < before.size(); ++i) {
      QCOMPARE(after[i].leaf, before[i].leaf);
      QCOMPARE(after[i].value, before[i].value);
      QCOMPARE(after[i].variable, before[i].variable);
      QCOMPARE(location_of(after[i].location).line, location_of(before[i].location).line);
    }
    QCOMPARE(file->data_flow().external_reads().size(), session.recorder.data_flow().external_reads().size());
    QCOMPARE(file->data_flow().newest_playback(), session.recorder.data_flow().newest_playback());
  }

  void memory_is_told_as_it_was_when_the_file_was_saved() {
    Saved session;
    train(session.recorder, 6);
    const Tensor held = ops::square(ramp(3000));
    session.recorder.set_recording(false);
    debug::MemoryReader live(session.recorder);
    const auto state_of = [](debug::MemoryReader& reader, std::uint64_t record) {
      return reader.state({protocol::if_there(record), protocol::MemoryGroup::tensor, 0, 100});
    };
    const protocol::MemoryState now = state_of(live, 0), before = state_of(live, 20);
    QVERIFY(now.recorder > 0);
    session.save();
    session.recorder.values().clear();  // what is held from now on is another matter
    const auto file = session.open();
    debug::MemoryReader stored(*file);
    for (const auto& [expected, record] : {std::pair(now, 0), std::pair(before, 20)}) {
      const protocol::MemoryState found = state_of(stored, static_cast<std::uint64_t>(record));
      QCOMPARE(found.storages, expected.storages);
      QCOMPARE(found.variables, expected.variables);
      QCOMPARE(found.tapes, expected.tapes);
      QCOMPARE(found.program, expected.program);
      QCOMPARE(found.recorder, expected.recorder);
      QCOMPARE(found.elsewhere, 0u);  // of this process there is nothing to be told
    }
  }

  void statistics_of_leaves_that_had_to_go_come_back() {
    RecorderOptions options;
    options.keeping.budget_bytes = 100'000;
    Saved session(options);
    std::uint64_t first = 0;
    for (int i = 0; i < 20; ++i) {
      const Tensor leaf = ramp(2000);
      if (!first) first = leaf.id();
      session.recorder.leaf(leaf, "");
      ops::square(leaf);
    }
    session.recorder.set_recording(false);
    session.save();
    const auto file = session.open();
    QVERIFY(session.recorder.values().statistics_of_dropped(first));
    const auto kept = file->values().statistics_of_dropped(first);
    QVERIFY(kept);
    QCOMPARE(kept->mean, session.recorder.values().statistics_of_dropped(first)->mean);
    QCOMPARE(kept->histogram, session.recorder.values().statistics_of_dropped(first)->histogram);
    QCOMPARE(file->values().leaves_dropped(), session.recorder.values().leaves_dropped());
    EXPECT_ERROR(ValueError, find_value(*file, first), "was dropped");
  }

  void a_long_trace_is_read_by_page() {
    Saved session;
    const Tensor x = Tensor::scalar(1.5), y = Tensor::scalar(2.5);
    for (int i = 0; i < 60'000; ++i) ops::multiply(x, y);
    session.recorder.set_recording(false);
    session.save();
    const auto file = session.open();
    const std::uint64_t at_first = file->trace().bytes();
    QVERIFY(at_first < 100'000);
    for (const std::uint32_t number : {1u, 18431u, 18432u, 59'999u, 60'000u})
      QCOMPARE(text_of(*file, number), text_of(session.recorder, number));
    QCOMPARE(text_of(*file, 60'001), "none");
    std::uint64_t seen = 0;
    std::uint32_t next = 1;
    while (next <= 60'000)
      next = file->trace().glance(next, next + 9999, [&](const RecordGlance& r) { seen += r.number; });
    QCOMPARE(seen, 60'000ull * 60'001 / 2);
    QVERIFY(file->trace().bytes() > at_first);
  }

  void a_trace_whose_first_records_were_forgotten_is_saved_from_there() {
    RecorderOptions options;
    options.record_limit = 20'000;
    Saved session(options);
    const Tensor x = Tensor::scalar(1.5);
    const Tensor older = ops::square(ramp(500));  // and still there
    for (int i = 0; i < 80'000; ++i) ops::square(x);
    session.recorder.set_recording(false);
    QVERIFY(session.recorder.trace().oldest_kept() > 1);
    QCOMPARE(session.save().first, session.recorder.trace().oldest_kept());
    const auto file = session.open();
    QCOMPARE(file->trace().oldest_kept(), session.recorder.trace().oldest_kept());
    QCOMPARE(text_of(*file, 80'000), text_of(session.recorder, 80'000));
    QVERIFY(text_of(*file, 5).find("forgotten") != std::string::npos);
    const auto bytes_at_end = [](const Recorder& recorder) {
      return debug::MemoryReader(recorder).state({{}, protocol::MemoryGroup::tensor, 0, 10}).program;
    };
    QVERIFY(bytes_at_end(session.recorder) >= older.bytes());
    QCOMPARE(bytes_at_end(*file), bytes_at_end(session.recorder));
  }

  void a_name_alone_is_a_file_of_the_working_folder() {
    Saved session;
    session.recorder.set_recording(false);
    const std::filesystem::path before = std::filesystem::current_path();
    std::filesystem::current_path(session.folder.path().toStdString());
    const auto back = qScopeGuard([&] { std::filesystem::current_path(before); });
    QCOMPARE(trace_file::save(session.recorder, request_for("run.tapetrace")).path, session.path());
    QVERIFY(std::filesystem::exists(session.path()));
  }

  void an_empty_trace_is_a_file_too() {
    Saved session;
    session.recorder.set_recording(false);
    QVERIFY(!session.save().last);
    const auto file = session.open();
    QCOMPARE(file->trace().newest(), 0u);
    QCOMPARE(debug::describe_page(*file, {1, 10, true}).records.size(), 0u);
  }

  void it_is_saved_while_the_program_goes_on() {
    Saved session;
    std::atomic<bool> stop{false};
    std::thread program([&] {
      while (!stop && session.recorder.trace().newest() < 20'000) train(session.recorder, 3);
    });
    const auto end = qScopeGuard([&] {
      stop = true;
      program.join();
      session.recorder.set_recording(false);
    });
    while (session.recorder.trace().newest_finished() < 200) std::this_thread::yield();
    for (int i = 0; i < 3; ++i) {
      const protocol::TraceSaved saved = session.save();
      const auto file = session.open();
      QVERIFY(saved.last.value() >= 200);
      for (std::uint32_t number = 1; number <= *saved.last; ++number) {
        const auto record = debug::describe(*file, number, true);
        QVERIFY(record && record->op != "damaged");
        if (record->state != RecordState::done) continue;
        const std::string found = text_of(*file, number, false),
                          live = text_of(session.recorder, number, false);
        QVERIFY2(found == live, (live + "\nbut the file has\n" + found).c_str());
      }
    }
  }
};

TAPEDECK_TEST(TraceFileTest)
#include "tst_trace_file.moc"
