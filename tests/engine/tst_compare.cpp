// Two runs side by side: where their values first differ, found without looking at each; what stands beside
// what; runs of cells; branches; curves.
#include <QtTest>
#include <bit>

#include "engine/debug/compare/comparisons.h"
#include "engine/debug/compare/curves.h"
#include "engine/ops/complex.h"
#include "engine/ops/ops.h"
#include "engine/record/source_location.h"
#include "engine/record/trace_file/open.h"
#include "engine/record/trace_file/save.h"
#include "engine/tape/variable.h"
#include "engine/tensor/strings.h"
#include "tests/engine/inquiry.h"
#include "tests/engine/served.h"

using namespace tapedeck;
using namespace tapedeck::protocol;

namespace {

thread_local std::uint32_t compared_line = 0;
std::uint32_t capture_compared_line() {
  return compared_line;
}
void at_line(std::uint32_t line) {
  compared_line = intern_location({"train", {}, line});
}

/// A recording, the runs in it, and what is said of them.
struct Runs : Recording {
  using Recording::Recording;
  debug::Branches branches{recorder};
  debug::Comparisons comparisons{recorder, branches};
  CancelFlag cancel{false};
  std::uint64_t replays = 0;
  debug::Comparisons::Find original = [this](std::uint64_t id) {
    ++replays;
    return find_value(recorder, id).value;
  };

  template <class Program>
  ComparedSide run(Program&& program) {
    const std::uint64_t first = count() + 1;
    recorder.begin_cell("train");
    program();
    recorder.end_cell();
    return {first, count(), 0, {}};
  }
  Compared compare(const ComparedSide& left, const ComparedSide& right) {
    const QuietScope quiet;
    return comparisons.make({left, right}, cancel, {});
  }
  FirstDifference first(const Compared& compared, double relative = 0, double absolute = 0) {
    const QuietScope quiet;
    return comparisons.first_difference({compared.comparison, relative, absolute, {{"train", "cell 3"}}},
                                        original, cancel, {});
  }
  ComparedRow row(const Compared& compared, std::int64_t at) {
    return comparisons.rows({compared.comparison, static_cast<std::uint64_t>(at), 1}).rows.at(0);
  }
  ComparedOperands operands(const Compared& compared, std::int64_t at, double relative = 0) {
    const QuietScope quiet;
    return comparisons.operands({compared.comparison, static_cast<std::uint64_t>(at), relative, 0}, original,
                                cancel);
  }
};

/// Gradient descent on (w·x − 1)², where from step `changed` on the rate is another one.
void train(Variable& w, int steps, double rate = 0.01, int changed = 1 << 30, double other_rate = 0.02) {
  const Tensor x = floats({0.5f, 1.5f, 2.5f});
  for (int step = 0; step < steps; ++step) {
    at_line(2);
    const Tensor y = ops::multiply(w.read(), x);
    at_line(3);
    const Tensor error = ops::subtract(y, Tensor::scalar(1.0));
    ops::reduce_mean(ops::square(error));
    at_line(4);
    const Tensor slope = ops::multiply(error, x);
    at_line(5);
    const Tensor move = ops::multiply(slope, Tensor::scalar(step < changed ? rate : other_rate));
    at_line(6);
    w.assign(ops::subtract(w.read(), move));
  }
}

constexpr int ops_of_step = 7;

}  // namespace

class TestCompare : public QObject {
  Q_OBJECT
 private slots:
  void initTestCase() {
    register_all_ops();
    set_capture_location(&capture_compared_line);
  }
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
    QVERIFY(runs.recorder.trace().oldest_kept() > early.last);
    const tapedeck::protocol::CellRuns told = debug::describe_cell_runs(runs.recorder, 10);
    QCOMPARE(told.runs[0].forgotten, std::uint64_t{1});
    QCOMPARE(told.runs[1].forgotten, runs.recorder.trace().oldest_kept() - late.first);
    const Compared compared = runs.compare(early, late);
    QCOMPARE(compared.same, std::uint64_t{0});
    QVERIFY2(compared.sentence.find("1 record at the begin of the left side went") != std::string::npos,
             compared.sentence.c_str());
  }

  void another_rate_from_one_step_on_is_found_with_few_looks() {
    constexpr int steps = 3000, changed = 1789;
    Runs runs;
    const ComparedSide left = runs.run([] {
      Variable w(floats({1, 2, 3}), "w");
      train(w, steps);
    });
    const ComparedSide right = runs.run([] {
      Variable w(floats({1, 2, 3}), "w");
      train(w, steps, 0.01, changed);
    });
    const Compared compared = runs.compare(left, right);
    QCOMPARE(compared.same, std::uint64_t{steps} * ops_of_step);
    QCOMPARE(compared.same, compared.rows);
    const FirstDifference found = runs.first(compared);
    QCOMPARE(found.kind, DifferenceKind::leaf);
    QCOMPARE(found.row, std::int64_t{changed} * ops_of_step + 5);
    QVERIFY2(found.sentence.starts_with(
                 "The first difference is a value from Python: it is 0.01 on the left and 0.02 on the right. "
                 "Op 12,529, multiply, cell 3 line 5 (on the right op 33,529), takes it first."),
             found.sentence.c_str());
    QCOMPARE(found.rows, std::uint64_t{steps} * ops_of_step);
    const auto halvings = static_cast<std::uint64_t>(std::bit_width(found.rows));
    QVERIFY2(found.looked_at <= 10 * halvings, std::to_string(found.looked_at).c_str());
    QVERIFY(found.looked_at > 0);
    QVERIFY(found.complete);
    // What was looked at is known of the rows.
    QCOMPARE(runs.row(compared, found.row).results, Agreement::differ);
    QCOMPARE(runs.row(compared, 0).results, Agreement::unknown);
    const ComparedOperands operands = runs.operands(compared, found.row);
    QCOMPARE(operands.operands.size(), std::size_t{3});
    QCOMPARE(operands.operands[0].values, Agreement::agree);
    QCOMPARE(operands.operands[1].values, Agreement::differ);
    QCOMPARE(operands.operands[1].left_text, std::string("0.01"));
    QCOMPARE(operands.operands[2].role, std::string("result"));
    QCOMPARE(operands.operands[2].differing, std::uint64_t{3});
  }

  void the_start_value_of_a_variable_is_named_with_its_line() {
    Runs runs;
    const auto run = [&](float start) {
      return runs.run([&] {
        at_line(1);
        Variable w(floats({1, 2, start}), "w0");
        train(w, 200);
      });
    };
    const ComparedSide left = run(3), right = run(4);
    const Compared compared = runs.compare(left, right);
    const FirstDifference found = runs.first(compared);
    QCOMPARE(found.kind, DifferenceKind::leaf);
    QVERIFY2(found.sentence.starts_with("The first difference is the leaf w0:0, set in cell 3 line 1: it "
                                        "differs in 1 of 3 elements, by up to 1 at [2] (relative: up to "
                                        "0.25): 3.0 and 4.0. Op 1, multiply, cell 3 line 2"),
             found.sentence.c_str());
    QCOMPARE(found.left.name, std::string("w0:0"));
    QVERIFY(found.left.id != found.right.id);
  }

  void what_a_variable_was_before_the_runs_is_no_op_of_theirs() {
    Runs runs;
    Variable w(floats({1, 2, 3}), "w");
    const ComparedSide left = runs.run([&] { train(w, 50); });
    const ComparedSide right = runs.run([&] { train(w, 50); });
    const FirstDifference found = runs.first(runs.compare(left, right));
    QCOMPARE(found.kind, DifferenceKind::leaf);
    QCOMPARE(found.row, std::int64_t{0});
    QVERIFY2(found.sentence.starts_with("The first difference is w:0 from before the runs (right: op 350, "
                                        "subtract, cell 3 line 6): it differs in 3 of 3 elements"),
             found.sentence.c_str());
  }

  void an_op_with_other_attributes_is_the_first_difference() {
    Runs runs;
    const auto run = [&](bool reverse) {
      return runs.run([&] {
        at_line(1);
        Tensor x = ops::negative(floats({1, 2, 3}));
        at_line(2);
        x = ops::cumsum(x, 0, false, reverse);
        for (int i = 0; i < 20; ++i) x = ops::tanh(x);
      });
    };
    const ComparedSide left = run(false), right = run(true);
    const Compared compared = runs.compare(left, right);
    QCOMPARE(compared.other_attributes, std::uint64_t{1});
    const FirstDifference found = runs.first(compared);
    QCOMPARE(found.kind, DifferenceKind::op);
    QCOMPARE(found.row, std::int64_t{1});
    QVERIFY2(
        found.sentence.starts_with("The first difference is op 2, cumsum, cell 3 line 2 (on the right op "
                                   "24): its inputs agree, but its attributes differ (reverse: False | "
                                   "True), and its result differs in 3 of 3 elements"),
        found.sentence.c_str());
    QCOMPARE(runs.operands(compared, 1).attributes, std::vector<std::string>{"reverse: False | True"});
  }

  void random_numbers_without_a_seed_are_told_as_that() {
    Runs runs;
    const auto run = [&] {
      return runs.run([&] {
        at_line(1);
        Tensor x = ops::random_normal({4});
        for (int i = 0; i < 10; ++i) x = ops::tanh(x);
      });
    };
    const ComparedSide left = run(), right = run();
    const FirstDifference found = runs.first(runs.compare(left, right));
    QCOMPARE(found.kind, DifferenceKind::op);
    QVERIFY2(
        found.sentence.find("it takes nothing, and it draws from another place of the random sequence") !=
            std::string::npos,
        found.sentence.c_str());
  }

  void ops_on_one_side_are_told_and_what_comes_of_them_is_followed() {
    Runs runs;
    const auto run = [&](bool more) {
      return runs.run([&] {
        at_line(1);
        Tensor x = ops::negative(floats({1, 2, 3}));
        at_line(2);
        if (more) x = ops::square(x);
        at_line(3);
        for (int i = 0; i < 5; ++i) x = ops::tanh(x);
      });
    };
    const ComparedSide left = run(false), right = run(true);
    const Compared compared = runs.compare(left, right);
    QCOMPARE(compared.only_right, std::uint64_t{1});
    QCOMPARE(compared.same, std::uint64_t{6});
    const FirstDifference found = runs.first(compared);
    QCOMPARE(found.kind, DifferenceKind::ops);
    QVERIFY2(found.sentence.starts_with(
                 "The first difference is what op 2, tanh, cell 3 line 3 (on the right op 9), takes: on the "
                 "left it comes from op 1, negative, cell 3 line 1; on the right from op 8, square, cell 3 "
                 "line 2."),
             found.sentence.c_str());
    QVERIFY2(
        found.sentence.find("Before it 1 op stands on one side alone: op 8, square") != std::string::npos,
        found.sentence.c_str());
    QCOMPARE(runs.comparisons.place({compared.comparison, -1, false, 0}).row, std::int64_t{1});
    QCOMPARE(runs.comparisons.place({compared.comparison, 1, false, 0}).row, std::int64_t{-1});
    QCOMPARE(runs.comparisons.place({compared.comparison, 5, true, 0}).row, std::int64_t{1});
    QCOMPARE(runs.comparisons.place({compared.comparison, 0, false, 9}).row, std::int64_t{2});
  }

  void within_the_tolerance_nothing_differs() {
    Runs runs;
    const auto run = [&](float start) {
      return runs.run([&] {
        Tensor x = floats({start, 1});
        for (int i = 0; i < 500; ++i) x = ops::tanh(x);
      });
    };
    const ComparedSide left = run(0.5f), right = run(0.50001f);
    const Compared compared = runs.compare(left, right);
    QCOMPARE(runs.first(compared).kind, DifferenceKind::leaf);
    const FirstDifference close = runs.first(compared, 1e-3);
    QCOMPARE(close.kind, DifferenceKind::none);
    QVERIFY2(close.sentence.starts_with("No value that was looked at differs by more than the tolerance "
                                        "(relative 0.001, absolute 0)"),
             close.sentence.c_str());
    QVERIFY(close.looked_at > 0 && close.looked_at < 150);
    QCOMPARE(runs.first(compared, 0, 1e-3).kind, DifferenceKind::none);
    QCOMPARE(runs.first(compared, 1e-6).kind, DifferenceKind::leaf);
  }

  void values_are_compared_as_what_they_are() {
    using debug::compare_values;
    const QuietScope quiet;
    const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
    QCOMPARE(compare_values(floats({nan, inf, 1}), floats({nan, inf, 1}), {}).differing, std::uint64_t{0});
    const auto odd = compare_values(floats({nan, inf, 1}), floats({1, -inf, 1}), {0.5, 100});
    QCOMPARE(odd.differing, std::uint64_t{2});
    QVERIFY(std::isinf(odd.max_absolute));
    const auto moved = compare_values(floats({1, 2, 4}, {3}), floats({1, 3, 4.5f}, {3}), {0.15, 0});
    QCOMPARE(moved.differing, std::uint64_t{1});
    QCOMPARE(moved.place, std::int64_t{1});
    QCOMPARE(moved.max_absolute, 1.0);
    QVERIFY(std::abs(moved.max_relative - 1.0 / 3) < 1e-12);
    QVERIFY(!compare_values(floats({1, 2}), floats({1, 2}, {2, 1}), {}).comparable);
    const std::int64_t large = (std::int64_t{1} << 60) + 1;
    const auto whole = [](std::int64_t a) {
      return Tensor::from_values<std::int64_t>(std::span(&a, 1), {1});
    };
    QCOMPARE(compare_values(whole(large), whole(large - 1), {}).max_absolute, 1.0);
    QVERIFY(!compare_values(whole(large), whole(large), {}).differs());
    const std::vector<std::string> words = {"a", "b"}, others = {"a", "c"};
    const auto texts = compare_values(string_tensor({2}, words), string_tensor({2}, others), {1, 1});
    QCOMPARE(texts.differing, std::uint64_t{1});
    QCOMPARE(texts.place, std::int64_t{1});
    QVERIFY(!compare_values(string_tensor({2}, words), floats({1, 2}), {}).comparable);
    const Tensor z = ops::complex(floats({1}), floats({1})), other = ops::complex(floats({1}), floats({-1}));
    QCOMPARE(compare_values(z, other, {}).max_absolute, 2.0);
    QVERIFY(!compare_values(z, z, {}).differs());
    const Tensor half = ops::cast(floats({0.1f}), DType::bfloat16);
    QVERIFY(compare_values(half, floats({0.1f}), {}).differs());
    QVERIFY(!compare_values(half, floats({0.1f}), {0.01, 0}).differs());
    QVERIFY(!compare_values(floats({}, {0}), floats({}, {0}), {}).differs());
  }

  void strings_that_differ_are_shown() {
    Runs runs;
    const auto run = [&](const std::string& word) {
      return runs.run([&] {
        at_line(1);
        const std::vector<std::string> words = {"same", word};
        ops::identity(ops::identity(string_tensor({2}, words)));
      });
    };
    const ComparedSide left = run("left"), right = run("right");
    const Compared compared = runs.compare(left, right);
    const FirstDifference found = runs.first(compared);
    QCOMPARE(found.kind, DifferenceKind::leaf);
    QVERIFY2(
        found.sentence.find("it differs in 1 of 2 elements, the first of them at [1]") != std::string::npos,
        found.sentence.c_str());
    const ComparedOperands operands = runs.operands(compared, found.row);
    QCOMPARE(operands.operands[0].left_value, std::string("b'left'"));
    QCOMPARE(operands.operands[0].right_value, std::string("b'right'"));
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
      branch = runs.branches.make({{change}, 0}, runs.original, runs.cancel, {});
    }
    ComparedSide changed = all;
    changed.branch = branch.branch;
    const Compared compared = runs.compare(all, changed);
    QCOMPARE(compared.same, std::uint64_t{200});
    const FirstDifference found = runs.first(compared);
    QCOMPARE(found.kind, DifferenceKind::op);
    QCOMPARE(found.row, std::int64_t{39});
    QCOMPARE(found.rows, std::uint64_t{61});
    QVERIFY2(found.sentence.starts_with("The first difference is op 40, tanh"), found.sentence.c_str());
    const ComparedOperands operands = runs.operands(compared, 39);
    QCOMPARE(operands.operands[0].values, Agreement::agree);
    QVERIFY(std::abs(operands.operands[1].max_relative - 0.5) < 1e-6);
    const QuietScope quiet;
    GetComparisonTile tile;
    tile.comparison = compared.comparison;
    tile.part = ComparedPart::difference;
    tile.left = tile.right = operands.operands[1].left.id;
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
    const Compared all = runs.compare(left, {1, 0, 0, path});
    QCOMPARE(all.same, std::uint64_t{300} * ops_of_step);
    QCOMPARE(all.only_right, std::uint64_t{1});
    QCOMPARE(all.right.path, path);
    const Compared compared = runs.compare(left, {kept.runs[1].first, kept.runs[1].last, 0, path});
    QCOMPARE(compared.same, compared.rows);
    const FirstDifference found = runs.first(compared);
    QCOMPARE(found.row, std::int64_t{123} * ops_of_step + 5);
    QVERIFY2(
        found.sentence.starts_with(
            "The first difference is a value from Python: it is 0.01 on the left and 0.02 on the right."),
        found.sentence.c_str());
    QCOMPARE(runs.comparisons.curves({compared.comparison, 10}).curves.at(0).right.values,
             std::vector<double>{2});
    QCOMPARE(runs.row(compared, 0).right.op, std::string("multiply"));
    bool told = false;
    try {
      runs.compare(left, {1, 0, 0, path + ".no"});
    } catch (const ValueError& error) {
      told = std::string(error.what()).find("yesterday.tapetrace.no cannot be opened") != std::string::npos;
    }
    QVERIFY(told);
  }

  void values_that_are_gone_are_told() {
    RecorderOptions options;
    options.keeping.budget_bytes = 1 << 20;
    Runs runs(options);
    const auto run = [&](float start) {
      return runs.run([&] {
        const Tensor x = Tensor::from_values<float>(std::vector<float>(200'000, start), {200'000});
        Tensor y = ops::negative(x);
        for (int i = 0; i < 10; ++i) y = ops::negative(y);
      });
    };
    const ComparedSide left = run(1), right = run(2);
    runs.run([&] {
      for (int i = 0; i < 10; ++i)
        ops::negative(Tensor::from_values<float>(std::vector<float>(200'000, 1), {200'000}));
    });
    const Compared compared = runs.compare(left, right);
    const FirstDifference found = runs.first(compared);
    QVERIFY2(found.sentence.find("gone and could not be compared") != std::string::npos,
             found.sentence.c_str());
    const ComparedOperands operands = runs.operands(compared, 5);
    QCOMPARE(operands.operands[0].values, Agreement::unknown);
    QVERIFY(!operands.operands[0].problem.empty());
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
    QCOMPARE(refusal({1, 9, 0, {}}),
             std::string("make_comparison: left: there are no records 1 to 9, the newest is 1"));
    QCOMPARE(refusal({5, 1, 0, {}}),
             std::string("make_comparison: left: there are no records 5 to 1, the newest is 1"));
    const Compared empty = runs.compare({2, 1, 0, {}}, {2, 1, 0, {}});
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
    const auto compared = client.ask<Compared>(MakeComparison{{1, 1, 0, {}}, {2, 2, 0, {}}});
    QCOMPARE(compared.rows, std::uint64_t{1});
    const auto rows = client.ask<ComparisonRows>(GetComparisonRows{compared.comparison, 0, 10});
    QCOMPARE(rows.rows.size(), std::size_t{1});
    QCOMPARE(rows.rows[0].right.number, std::uint64_t{2});
    const auto found = client.ask<FirstDifference>(FindFirstDifference{compared.comparison, 0, 0, {}});
    QCOMPARE(found.kind, DifferenceKind::leaf);
    const auto operands = client.ask<ComparedOperands>(CompareOperands{compared.comparison, 0, 0, 0});
    GetComparisonTile get;
    get.comparison = compared.comparison;
    get.part = ComparedPart::difference;
    get.left = operands.operands[0].left.id;
    get.right = operands.operands[0].right.id;
    get.tile.rows = get.tile.columns = 10;
    get.tile.row_step = get.tile.column_step = 1;
    QCOMPARE(client.ask<Tile>(get).values, (std::vector<double>{0, 1}));
    QCOMPARE(client.ask<ComparisonPlace>(FindComparisonRow{compared.comparison, -1, false, 0}).row,
             std::int64_t{-1});
    client.ask<ComparisonCurves>(GetComparisonCurves{compared.comparison, 10});
    client.ask<Status>(DropComparison{compared.comparison});
    QCOMPARE(client.ask<Failure>(GetComparisonRows{compared.comparison, 0, 10}).code, std::string("gone"));
  }
};

QTEST_GUILESS_MAIN(TestCompare)
#include "tst_compare.moc"
