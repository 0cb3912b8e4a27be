// What can be compared: runs of cells, branches and trace files; their curves; and how a client asks.
#include <QTemporaryDir>
#include <QtTest>

#include "engine/debug/compare/curves.h"
#include "engine/record/trace_file/open.h"
#include "engine/record/trace_file/save.h"
#include "tests/engine/debug/compared_runs.h"
#include "tests/engine/debug/served.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::protocol;
using namespace compared;

class TestCompareSides : public QObject {
  Q_OBJECT
 private slots:
  void initTestCase() { set_capture_location(&capture_compared_line); }
  void cleanupTestCase() { set_capture_location(nullptr); }

  void runs_of_a_cell_are_kept_with_how_they_ended() {
    Recording recording;
    auto& recorder = recording.recorder;
    recorder.begin_cell("a");
    ops::negative(floats({1}));
    ops::negative(floats({2}));
    recorder.end_cell();
    recorder.begin_cell("b");
    recorder.end_cell(true);
    recorder.begin_cell("a");
    ops::negative(floats({3}));
    const tapedeck::protocol::CellRuns answer = debug::describe_cell_runs(recorder, 10);
    QCOMPARE(answer.total, std::uint64_t{3});
    QCOMPARE(answer.runs.size(), std::size_t{3});
    const auto& [first, second, third] = std::tie(answer.runs[0], answer.runs[1], answer.runs[2]);
    QCOMPARE(first.cell, std::string("a"));
    QVERIFY(first.first == 1 && first.last == 2 && first.state == RunState::done);
    QVERIFY(second.first == 3 && second.last == 2 && second.state == RunState::failed);
    QVERIFY(third.first == 3 && third.last == 3 && third.state == RunState::running);
    QVERIFY(first.start_ns <= first.end_ns && first.end_ns <= second.start_ns);
    QVERIFY(third.end_ns >= third.start_ns);
    QCOMPARE(debug::describe_cell_runs(recorder, 1).runs.at(0).number, std::uint64_t{3});
  }

  void calls_among_a_runs_records_are_counted() {
    tapedeck::CellRuns runs;
    runs.begin("a", 1, 10, 0, 0, 5);
    QCOMPARE(runs.newest(1)[0].calls, std::uint64_t{5});  // before it
    runs.begin("b", 9, 20, 0, 0, 7);
    QCOMPARE(runs.newest(2)[0].calls, std::uint64_t{2});
    runs.end(12, 30, false, 7);
    QCOMPARE(runs.newest(1)[0].calls, std::uint64_t{0});
  }

  void a_run_whose_end_was_never_told_fails_and_the_oldest_go() {
    tapedeck::CellRuns runs(2);
    runs.begin("a", 1, 10);
    runs.begin("b", 5, 20);
    QCOMPARE(runs.newest(9)[0].state, tapedeck::CellRun::State::failed);
    QCOMPARE(runs.newest(9)[0].last, std::uint32_t{4});
    runs.end(7, 30, false);
    runs.end(9, 40, true);  // none runs: nothing happens
    runs.begin("c", 8, 50);
    QCOMPARE(runs.total(), std::uint64_t{3});
    QCOMPARE(runs.newest(9).size(), std::size_t{2});
    QCOMPARE(runs.newest(9)[0].cell, std::string("b"));
    QCOMPARE(runs.newest(9)[0].last, std::uint32_t{7});
  }

  void forgotten_records_of_a_run_are_told() {
    RecorderOptions options;
    options.record_limit = 1;  // one chunk
    Runs runs(options);
    const ComparedSide early = runs.run([] { ops::negative(floats({1})); });
    const ComparedSide late = runs.run([] {
      for (int i = 0; i < 300'000; ++i) ops::negative(floats({1}));
    });
    QVERIFY(runs.recorder.trace().oldest_kept() > early.last.value());
    const tapedeck::protocol::CellRuns told = debug::describe_cell_runs(runs.recorder, 10);
    QCOMPARE(told.runs[0].forgotten, std::uint64_t{1});
    QCOMPARE(told.runs[1].forgotten, runs.recorder.trace().oldest_kept() - late.first);
    const Compared compared = runs.compare(early, late);
    QCOMPARE(compared.same, std::uint64_t{0});
    QVERIFY2(
        compared.sentence.find("1 record at the start of the left side was dropped") != std::string::npos,
        compared.sentence.c_str());
  }

  void a_branch_is_compared_with_its_original() {
    Runs runs;
    Tensor x = floats({1, 2}), y = x;
    const ComparedSide all = runs.run([&] {
      for (int i = 0; i < 100; ++i) y = ops::tanh(y);
      Tensor other = floats({5});
      for (int i = 0; i < 100; ++i) other = ops::negative(other);
    });
    PastChange change;
    change.kind = ChangeKind::scale;
    change.record = 40;
    change.numbers = {2};
    Branched branch;
    {
      const QuietScope quiet;
      branch = runs.branches.make({{change}, {}}, runs.original, runs.cancel, {});
    }
    ComparedSide changed = all;
    changed.branch = branch.branch;
    const Compared compared = runs.compare(all, changed);
    QCOMPARE(compared.same, std::uint64_t{200});
    const FirstDifference found = runs.first(compared);
    QCOMPARE(found.kind, DifferenceKind::op);
    QCOMPARE(found.row, std::uint64_t{39});
    QCOMPARE(found.rows, std::uint64_t{61});
    QVERIFY2(found.sentence.starts_with("The first difference is op 40, tanh"), found.sentence.c_str());
    const ComparedOperands operands = runs.operands(compared, 39);
    QCOMPARE(operands.operands[0].values, Agreement::agree);
    QVERIFY(std::abs(operands.operands[1].max_relative - 0.5) < 1e-6);
    const QuietScope quiet;
    GetComparisonTile tile;
    tile.comparison = compared.comparison;
    tile.part = ComparedPart::difference;
    tile.left = tile.right = operands.operands[1].left.value().id;
    const Tensor moved = runs.comparisons.value(tile, runs.original, runs.cancel);
    tile.part = ComparedPart::left;
    QCOMPARE(moved.to_vector(), runs.comparisons.value(tile, runs.original, runs.cancel).to_vector());
  }

  void a_run_is_compared_with_one_of_a_trace_file() {
    QTemporaryDir folder;
    const std::string path = folder.filePath("yesterday.tapetrace").toStdString();
    {
      Runs yesterday;
      yesterday.run([] { ops::negative(floats({7})); });
      yesterday.run([] {
        at_line(1);
        Variable w(floats({1, 2, 3}), "w");
        train(w, 300, 0.01, 123);
      });
      yesterday.recorder.add_scalar("loss", 1, 2);
      SaveTrace save;
      save.path = path;
      const QuietScope quiet;
      trace_file::save(yesterday.recorder, save);
    }
    Runs runs;
    const ComparedSide left = runs.run([] {
      at_line(1);
      Variable w(floats({1, 2, 3}), "w");
      train(w, 300);
    });
    const auto file = trace_file::open(path);
    const tapedeck::protocol::CellRuns kept = debug::describe_cell_runs(*file, 10);
    QCOMPARE(kept.runs.size(), std::size_t{2});
    QCOMPARE(kept.runs[1].cell, std::string("train"));
    QVERIFY(kept.runs[1].first == 2 && kept.runs[1].last == 1 + 300 * ops_of_step);
    const Compared all = runs.compare(left, {1, {}, {}, path});
    QCOMPARE(all.same, std::uint64_t{300} * ops_of_step);
    QCOMPARE(all.only_right, std::uint64_t{1});
    QCOMPARE(all.right.path, path);
    const Compared compared = runs.compare(left, {kept.runs[1].first, kept.runs[1].last, {}, path});
    QCOMPARE(compared.same, compared.rows);
    const FirstDifference found = runs.first(compared);
    QCOMPARE(found.row, std::int64_t{123} * ops_of_step + 5);
    QVERIFY2(
        found.sentence.starts_with(
            "The first difference is a value from Python: it is 0.01 on the left and 0.02 on the right."),
        found.sentence.c_str());
    QCOMPARE(runs.comparisons.curves({compared.comparison, 10}).curves.at(0).right.values,
             std::vector<double>{2});
    QCOMPARE(runs.row(compared, 0).right.value().op, std::string("multiply"));
    bool told = false;
    try {
      runs.compare(left, {1, {}, {}, path + ".no"});
    } catch (const ValueError& error) {
      told = std::string(error.what()).find("yesterday.tapetrace.no cannot be opened") != std::string::npos;
    }
    QVERIFY(told);
  }

  void curves_of_both_stand_side_by_side_also_those_that_were_restarted() {
    Runs runs;
    const auto run = [&](const std::string& name, double factor, int points) {
      return runs.run([&] {
        for (int i = 0; i < points; ++i) {
          ops::negative(floats({1}));
          runs.recorder.add_scalar(name, i, factor * i);
        }
      });
    };
    const ComparedSide left = run("loss", 1, 5);
    runs.recorder.series().restart("loss");
    const ComparedSide right = run("loss", 2, 3000);
    const auto curves = runs.comparisons.curves({runs.compare(left, right).comparison, 100}).curves;
    QCOMPARE(curves.size(), std::size_t{1});
    QCOMPARE(curves[0].left.values, (std::vector<double>{0, 1, 2, 3, 4}));
    QCOMPARE(curves[0].left.records, (std::vector<double>{1, 2, 3, 4, 5}));
    QVERIFY(curves[0].right.values.size() <= 100 && curves[0].right.values.size() >= 50);
    QCOMPARE(curves[0].right.values.front(), 0.0);
    QCOMPARE(curves[0].right.values.back(), 5998.0);
    const ComparedSide third = run("cell 4: loss", 3, 2), fourth = run("cell 5: loss", 4, 2);
    const auto others = runs.comparisons.curves({runs.compare(third, fourth).comparison, 100}).curves;
    QCOMPARE(others.size(), std::size_t{1});
    QCOMPARE(others[0].right.values, (std::vector<double>{0, 4}));
  }

  void what_cannot_be_compared_is_refused() {
    Runs runs;
    const ComparedSide side = runs.run([] { ops::negative(floats({1})); });
    const auto refusal = [&](const ComparedSide& left) {
      try {
        runs.compare(left, side);
      } catch (const debug::BadRequest& error) {
        return std::string(error.what());
      }
      return std::string();
    };
    QCOMPARE(refusal({1, 9, {}, {}}),
             std::string("make_comparison: left: there are no records 1 to 9, the newest is 1"));
    QCOMPARE(refusal({5, 1, {}, {}}),
             std::string("make_comparison: left: there are no records 5 to 1, the newest is 1"));
    const Compared empty = runs.compare({2, 1, {}, {}}, {2, 1, {}, {}});
    QCOMPARE(empty.sentence, std::string("No op was recorded on either side."));
    QCOMPARE(runs.first(empty).kind, DifferenceKind::none);
    const Compared kept = runs.compare(side, side);
    QCOMPARE(kept.sentence, std::string("The one op is the same on both sides."));
    for (int i = 0; i < 4; ++i) runs.compare(side, side);
    bool gone = false;
    try {
      runs.row(kept, 0);
    } catch (const ValueError& error) {
      gone = error.code == "gone";
    }
    QVERIFY(gone);
  }

  void a_client_asks_over_the_socket() {
    Served served;
    served.recorder.begin_cell("train");
    ops::negative(floats({1, 2}));
    served.recorder.end_cell();
    served.recorder.begin_cell("train");
    ops::negative(floats({1, 3}));
    served.recorder.end_cell();
    RawClient client = served.client();
    client.greet();
    const auto runs = client.ask<tapedeck::protocol::CellRuns>(GetCellRuns{});
    QCOMPARE(runs.runs.size(), std::size_t{2});
    const auto compared = client.ask<Compared>(MakeComparison{{1, 1, {}, {}}, {2, 2, {}, {}}});
    QCOMPARE(compared.rows, std::uint64_t{1});
    const auto rows = client.ask<ComparisonRows>(GetComparisonRows{compared.comparison, 0, 10});
    QCOMPARE(rows.rows.size(), std::size_t{1});
    QCOMPARE(rows.rows[0].right.value().number, std::uint64_t{2});
    const auto found = client.ask<FirstDifference>(FindFirstDifference{compared.comparison, 0, 0, {}});
    QCOMPARE(found.kind, DifferenceKind::leaf);
    const auto operands = client.ask<ComparedOperands>(CompareOperands{compared.comparison, 0, 0, 0});
    GetComparisonTile get;
    get.comparison = compared.comparison;
    get.part = ComparedPart::difference;
    get.left = operands.operands[0].left.value().id;
    get.right = operands.operands[0].right.value().id;
    get.tile.rows = get.tile.columns = 10;
    get.tile.row_step = get.tile.column_step = 1;
    QCOMPARE(client.ask<Tile>(get).values, (std::vector<double>{0, 1}));
    QVERIFY(!client.ask<ComparisonPlace>(FindComparisonRow{compared.comparison, {}, false, {}}).row);
    client.ask<ComparisonCurves>(GetComparisonCurves{compared.comparison, 10});
    client.ask<Status>(DropComparison{compared.comparison});
    QCOMPARE(client.ask<Failure>(GetComparisonRows{compared.comparison, 0, 10}).code, std::string("gone"));
  }
};

TAPEDECK_TEST(TestCompareSides)
#include "tst_compare_sides.moc"
