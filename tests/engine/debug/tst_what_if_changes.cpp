// What if: what each kind of change makes of a tensor or an op, and which changes are refused.
#include <QtTest>

#include "engine/ops/elementwise/complex.h"
#include "engine/tensor/strings.h"
#include "tests/engine/debug/what_if_world.h"
#include "tests/engine/expect_error.h"
#include "tests/engine/ops/op_call.h"
#include "tests/test_program.h"

using namespace what_if_test;

class TestWhatIfChanges : public QObject {
  Q_OBJECT
 private slots:
  void an_op_is_skipped_zeroed_scaled_and_clipped() {
    World world;
    const Tensor x = floats({-3, 1, 4});
    const Tensor y = ops::negative(x);
    const Tensor z = ops::add(y, floats({1, 1, 1}));
    const std::vector<std::pair<PastChange, std::vector<double>>> cases = {
        {op_becomes(ChangeKind::skip, 1), {-2, 2, 5}},
        {op_becomes(ChangeKind::zero, 1), {1, 1, 1}},
        {op_becomes(ChangeKind::scale, 1, {10}), {31, -9, -39}},
        {op_becomes(ChangeKind::clip, 1, {2}), {3, 0, -1}}};
    for (const auto& [change, expected] : cases) QCOMPARE(world.value(world.make({change}), z), expected);
  }

  void one_of_several_results_is_zeroed_scaled_or_clipped() {
    World world;
    const Tensors parts = testing::outputs_of("qr", {floats({3, 1, 4, 2}, {2, 2})});  // op 1
    const std::vector<double> q = parts[0].to_vector(), r = parts[1].to_vector();
    PastChange change = op_becomes(ChangeKind::zero, 1);
    change.result = 1;
    const Branched zeroed = world.make({change});
    QCOMPARE(world.value(zeroed, parts[0]), q);
    QCOMPARE(world.value(zeroed, parts[1]), (std::vector<double>{0, 0, 0, 0}));
    QCOMPARE(zeroed.depending, std::uint64_t{1});
    change = op_becomes(ChangeKind::scale, 1, {-1});
    change.result = 0;
    QCOMPARE(world.value(world.make({change}), parts[0])[0], -q[0]);
    QCOMPARE(world.value(world.make({change}), parts[1]), r);
    const auto refusal = [&](const PastChange& refused) {
      try {
        world.make({refused});
      } catch (const ValueError& error) {
        return QString(error.what());
      }
      return QString("taken");
    };
    change.result = 2;
    QCOMPARE(refusal(change), QString("Op 1 (qr) has no result 2; it has 2."));
    PastChange skip = op_becomes(ChangeKind::skip, 1);
    skip.result = 1;
    QVERIFY2(refusal(skip).contains("can be skipped as a whole"), qPrintable(refusal(skip)));
  }

  void several_changes_of_one_tensor_and_of_one_op_come_together() {
    World world;
    const Tensor x = floats({1, 2, 3, 4, 5, 6}, {2, 3});
    const Tensor sums = testing::called("cumsum", {x});
    const Tensor y = ops::negative(sums);
    const std::vector<PastChange> changes = {
        element_becomes(x, {0, 0}, 10),        element_becomes(x, {0, 2}, 30),
        attribute_becomes(1, "axis", "1"),     attribute_becomes(1, "reverse", "True"),
        op_becomes(ChangeKind::scale, 1, {2}), op_becomes(ChangeKind::clip, 1, {60})};
    QCOMPARE(world.value(world.make(changes), y), (std::vector<double>{-60, -60, -60, -30, -22, -12}));
  }

  void whole_numbers_stay_whole_and_keep_their_bits() {
    World world;
    const std::int64_t large = (std::int64_t{1} << 60) + 1;
    const std::int64_t numbers[] = {large, 7};
    const Tensor x = Tensor::from_values<std::int64_t>(numbers, {2});
    const Tensor y = ops::identity(x);
    const Tensor n = Tensor::from_values<std::int32_t>(std::vector<std::int32_t>{3, 8}, {2});
    const Tensor half = ops::negative(n);
    const Branched branch = world.make({element_becomes(x, {1}, 9)});
    {
      const QuietScope quiet;
      const Tensor value = world.branches.value(branch.branch, y.id(), false, world.original, world.cancel);
      QCOMPARE(value.data<std::int64_t>()[0], large);
      QCOMPARE(value.data<std::int64_t>()[1], std::int64_t{9});
    }
    QCOMPARE(world.value(branch, y, true), (std::vector<double>{0, 2}));
    QCOMPARE(world.value(world.make({op_becomes(ChangeKind::scale, 2, {0.5})}), half),
             (std::vector<double>{-1, -4}));
    // Scaled and clipped in their own dtype: 2^60 + 1 has more digits than float64.
    const auto changed = [&](ChangeKind kind, double number) {
      const Branched other = world.make({op_becomes(kind, 1, {number})});
      const QuietScope quiet;
      const Tensor value = world.branches.value(other.branch, y.id(), false, world.original, world.cancel);
      return std::vector<std::int64_t>{value.data<std::int64_t>()[0], value.data<std::int64_t>()[1]};
    };
    QCOMPARE(changed(ChangeKind::scale, -3), (std::vector<std::int64_t>{-3 * large, -21}));
    QCOMPARE(changed(ChangeKind::clip, 5.5), (std::vector<std::int64_t>{5, 5}));
    try {
      changed(ChangeKind::scale, 0.5);
      QFAIL("rounded numbers were given");
    } catch (const std::exception& error) {
      QVERIFY2(QString(error.what()).contains("beyond 2^53"), error.what());
    }
    try {
      world.make({element_becomes(n, {0}, 5.5)});
      QFAIL("half a number was taken");
    } catch (const debug::BadRequest& error) {
      QVERIFY2(QString(error.what()).contains("5.5") && QString(error.what()).contains("int32"),
               error.what());
    }
  }

  void an_attribute_changes_or_is_refused_in_words() {
    World world;
    const Tensor x = floats({1, 2, 3, 4, 5, 6}, {2, 3});
    const Tensor sums = testing::called("cumsum", {x});
    QCOMPARE(world.value(world.make({attribute_becomes(1, "axis", "1")}), sums),
             (std::vector<double>{1, 3, 6, 4, 9, 15}));
    const auto refusal = [&](const char* name, const char* text) {
      try {
        world.make({attribute_becomes(1, name, text)});
      } catch (const debug::BadRequest& error) {
        return QString(error.what());
      } catch (const ValueError& error) {
        return QString(error.what());
      }
      return QString("taken");
    };
    for (const char* text : {"one", "", "None", "1.5", "[1"})
      QVERIFY2(refusal("axis", text)
                   .contains(QString("'%1' is not a valid value for the attribute axis of cumsum, which "
                                     "takes an integer")
                                 .arg(text)),
               qPrintable(refusal("axis", text)));
    QVERIFY2(refusal("reverse", "true").contains("True or False"), qPrintable(refusal("reverse", "true")));
    QVERIFY2(refusal("way", "1").contains("cumsum has no attribute 'way'"), qPrintable(refusal("way", "1")));
    QVERIFY2(refusal("axis", "7").contains("op 1 (cumsum) fails"), qPrintable(refusal("axis", "7")));
  }

  void a_change_by_numbers_fits_the_tensor_s_dtype() {
    World world;
    const Tensor words = string_tensor({2}, std::vector<std::string>{"a", "b"});
    ops::reshape(words, {2, 1});
    for (const ChangeKind kind : {ChangeKind::element, ChangeKind::value}) {
      PastChange change = element_becomes(words, {0}, 0.5);
      change.kind = kind;
      EXPECT_ERROR(debug::BadRequest, world.make({change}), "has dtype string, ");
    }
    for (const DType dtype : {DType::complex64, DType::complex128}) {
      const Tensor z = ops::cast(floats({1, 2}), dtype);
      const Tensor sum = ops::reduce_sum(z);
      const Tensor real = ops::cast(sum, DType::float64);
      QCOMPARE(world.value(world.make({element_becomes(z, {1}, 0.5)}), real), (std::vector<double>{1.5}));
      PastChange change = element_becomes(z, {}, 0.5);
      change.kind = ChangeKind::value;
      QCOMPARE(world.value(world.make({change}), real), (std::vector<double>{1}));
    }
  }

  void a_complex_result_is_scaled_whole() {
    World world;
    const Tensor z = ops::sqrt(ops::cast(floats({-1, -4}), DType::complex128));  // i and 2i
    const Tensor y = ops::imag(z);
    QCOMPARE(world.value(world.make({op_becomes(ChangeKind::scale, 2, {3})}), y),
             (std::vector<double>{3, 6}));
    QVERIFY_EXCEPTION_THROWN(world.value(world.make({op_becomes(ChangeKind::clip, 2, {1})}), y), ValueError);
  }

  void nonsense_is_refused() {
    World world;
    const Tensor x = floats({1, 2});
    const Tensor y = ops::reduce_sum(x);
    QVERIFY_EXCEPTION_THROWN(world.make({}), debug::BadRequest);
    QVERIFY_EXCEPTION_THROWN(world.make({element_becomes(x, {2}, 1)}), debug::BadRequest);
    QVERIFY_EXCEPTION_THROWN(world.make({op_becomes(ChangeKind::scale, 1)}), debug::BadRequest);
    QVERIFY_EXCEPTION_THROWN(world.make({op_becomes(ChangeKind::zero, 9)}), debug::BadRequest);
    PastChange value;
    value.tensor = x.id();
    value.numbers = {1, 2, 3};
    QVERIFY_EXCEPTION_THROWN(world.make({value}), debug::BadRequest);
    QVERIFY_EXCEPTION_THROWN(world.make({op_becomes(ChangeKind::skip, 1)}),
                             ValueError);  // another shape
    QVERIFY_EXCEPTION_THROWN(world.branches.value(77, y.id(), false, world.original, world.cancel),
                             ValueError);
    QVERIFY_EXCEPTION_THROWN(world.make({op_becomes(ChangeKind::clip, 1, {-1})}), debug::BadRequest);
    world.cancel = true;
    QVERIFY_EXCEPTION_THROWN(world.make({element_becomes(x, {1}, 1)}), Cancelled);
  }
};

TAPEDECK_TEST(TestWhatIfChanges)
#include "tst_what_if_changes.moc"
