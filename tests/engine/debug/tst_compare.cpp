// Where the values of two runs first differ, found without looking at each, and what stands beside what.
#include <QtTest>
#include <bit>

#include "engine/ops/elementwise/complex.h"
#include "engine/tensor/strings.h"
#include "tests/engine/debug/compared_runs.h"
#include "tests/engine/ops/op_call.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::protocol;
using namespace compared;

class TestCompare : public QObject {
  Q_OBJECT
 private slots:
  void initTestCase() { set_capture_location(&capture_compared_line); }
  void cleanupTestCase() { set_capture_location(nullptr); }

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
    QCOMPARE(runs.row(compared, found.row.value()).results, Agreement::differ);
    QCOMPARE(runs.row(compared, 0).results, Agreement::unknown);
    const ComparedOperands operands = runs.operands(compared, found.row.value());
    QCOMPARE(operands.operands.size(), std::size_t{3});
    QCOMPARE(operands.operands[0].values, Agreement::agree);
    QCOMPARE(operands.operands[1].values, Agreement::differ);
    QCOMPARE(operands.operands[1].left_text, std::string("0.01"));
    QCOMPARE(operands.operands[2].role, std::string("result"));
    QCOMPARE(operands.operands[2].differing, std::uint64_t{3});
  }

  /// Two errors of `target`, and between them many ops that take none of it.
  static void two_errors(const Tensor& x, const Tensor& target) {
    at_line(2);
    ops::reduce_mean(ops::subtract(x, target));
    at_line(3);
    Tensor seed = floats({1, 2, 3});
    for (int i = 0; i < 40; ++i) seed = ops::tanh(seed);
    at_line(4);
    Tensor error = ops::multiply(x, target);
    for (int i = 0; i < 200; ++i) error = ops::tanh(error);
  }

  void what_takes_a_value_first_is_found_where_much_behind_it_agrees() {
    Runs runs;
    const auto run = [&](float label) {
      return runs.run([&] {
        at_line(1);
        two_errors(ops::negative(floats({1, 2, 3})), floats({1, 0, label}));
      });
    };
    const ComparedSide left = run(0), right = run(1);
    const FirstDifference found = runs.first(runs.compare(left, right));
    QCOMPARE(found.kind, DifferenceKind::leaf);
    QCOMPARE(found.row, std::int64_t{1});
    QVERIFY2(contains(found.sentence, "Op 2, subtract, cell 3 line 2 (on the right op 246), takes it first."),
             found.sentence.c_str());
  }

  void what_takes_the_result_of_an_op_of_one_side_first_is_found_as_well() {
    Runs runs;
    const auto run = [&](bool more) {
      return runs.run([&] {
        at_line(1);
        const Tensor x = ops::negative(floats({1, 2, 3})), target = ops::exp(x);
        at_line(5);
        two_errors(x, more ? ops::square(target) : target);
      });
    };
    const ComparedSide left = run(false), right = run(true);
    const FirstDifference found = runs.first(runs.compare(left, right));
    QCOMPARE(found.kind, DifferenceKind::ops);
    QVERIFY2(contains(found.sentence, "The first difference is an input of op 3, subtract, cell 3 line 2"),
             found.sentence.c_str());
  }

  void a_value_that_differs_is_found_where_nothing_comes_of_it() {
    Runs runs;
    const auto run = [&](float unused) {
      return runs.run([&] {
        at_line(1);
        Tensor x = ops::negative(floats({1, 2, 3}));
        at_line(2);
        ops::add(x, floats({unused}));
        at_line(3);
        for (int i = 0; i < 1000; ++i) x = ops::tanh(x);
      });
    };
    const ComparedSide left = run(0), right = run(1);
    const FirstDifference found = runs.first(runs.compare(left, right));
    QCOMPARE(found.kind, DifferenceKind::leaf);
    QCOMPARE(found.row, std::int64_t{1});
  }

  void of_very_many_values_that_come_in_those_left_out_are_told() {
    constexpr int steps = 2500, changed = 2400;
    Runs runs;
    const auto run = [&](int from) {
      return runs.run([&] {
        Variable w(floats({1, 2, 3}), "w");
        train(w, steps, 0.01, from);
      });
    };
    const ComparedSide left = run(steps), right = run(changed);
    const FirstDifference found = runs.first(runs.compare(left, right));
    QCOMPARE(found.row, std::int64_t{changed} * ops_of_step + 5);
    QVERIFY(!found.complete);
    QVERIFY2(contains(found.sentence,
                      "the first 4,096 values of those that come in. An earlier difference may be"),
             found.sentence.c_str());
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
    QCOMPARE(found.left.value().name, std::string("w0:0"));
    QVERIFY(found.left->id != found.right.value().id);
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
        x = tapedeck::testing::called("cumsum", {x}, {{"reverse", reverse}});
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
        found.sentence.find("it has no inputs, and it draws from another position of the random sequence") !=
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
                 "The first difference is an input of op 2, tanh, cell 3 line 3 (on the right op 9): on the "
                 "left it comes from op 1, negative, cell 3 line 1; on the right from op 8, square, cell 3 "
                 "line 2."),
             found.sentence.c_str());
    QVERIFY2(found.sentence.find("Before it 1 op is on one side only: op 8, square") != std::string::npos,
             found.sentence.c_str());
    QCOMPARE(runs.comparisons.place({compared.comparison, {}, false, {}}).row, std::uint64_t{1});
    QVERIFY(!runs.comparisons.place({compared.comparison, 1, false, {}}).row);
    QCOMPARE(runs.comparisons.place({compared.comparison, 5, true, {}}).row, std::uint64_t{1});
    QCOMPARE(runs.comparisons.place({compared.comparison, {}, false, 9}).row, std::uint64_t{2});
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
    QVERIFY2(close.sentence.starts_with("No compared value differs by more than the tolerance "
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
    const ComparedOperands operands = runs.operands(compared, found.row.value());
    QCOMPARE(operands.operands[0].left_value, std::string("b'left'"));
    QCOMPARE(operands.operands[0].right_value, std::string("b'right'"));
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
    QVERIFY(!operands.operands[0].problem.value_or("").empty());
  }
};

TAPEDECK_TEST(TestCompare)
#include "tst_compare.moc"
