// Which tensor the tensor model shows: what the cursor's record makes or reads, what just ran, or what was
// picked; and what it says when there is none.
#include <QTest>

#include "tests/model/tensor_bench.h"
#include "tests/test_program.h"

using namespace tapedeck;
using inspector::TensorRole;
using Bench = test::TensorBench;

class TestTensorChips : public QObject {
  Q_OBJECT
 private slots:
  void showsTheOutputOfTheCursorsRecord();
  void showsTheFirstInputAtTheFirstStop();
  void showsTheGradientWhereItArrivesAtALeaf();
  void showsWhatJustRanAfterAStep();
  void whatJustRanIsTheVjpNotTheOpsInsideIt();
  void aPickStaysByRoleAcrossSteps();
  void saysWhyThereIsNothing();
  void aRecordThatWasNeverFetchedHasNoTensorOfAnother();
  void aChosenTensorStaysWhereTheCursorsRecordIsMissing();
  void aPickedTensorIsWhatTheCursorsRecordMakesOrReads();
  void aPickBeforeItsRecordIsHereIsShownInItsPlace();
};

void TestTensorChips::showsTheOutputOfTheCursorsRecord() {
  Bench bench("op matmul(x:10x784, W:784x196) -> y:10x196", {10, 196});
  bench.start();
  QTRY_COMPARE(bench.shownName(), QStringLiteral("y"));
  QCOMPARE(bench.model.chips().size(), 3u);
  QCOMPARE(bench.model.chips()[1].label, QStringLiteral("in 1 · W:0"));
  QCOMPARE(bench.model.chips()[2].label, QStringLiteral("out"));
  QTRY_VERIFY(bench.model.tile());
  QCOMPARE(bench.model.tile()->values[197], 197.0);
  QTRY_VERIFY(bench.model.statistics());
  QCOMPARE(bench.model.statistics()->count, 17u);
  QVERIFY(!bench.model.loading());
}

void TestTensorChips::showsTheFirstInputAtTheFirstStop() {
  Bench bench("op square(x:2x2) -> y:2x2\nop square(y) -> pending");
  bench.start();
  bench.source.stopAtNewest("cell start");
  QTRY_COMPARE(bench.session.cursor(), 2u);
  QTRY_VERIFY(bench.model.chips().size() == 3 && bench.model.chips()[0].role == TensorRole::justRan);
  QCOMPARE(bench.model.chips()[static_cast<std::size_t>(bench.model.currentChip())].role, TensorRole::input);
}

void TestTensorChips::showsTheGradientWhereItArrivesAtALeaf() {
  Bench bench("op autograd.AccumulateGrad(W:2x2, g:2x2) ->");
  bench.start();
  QTRY_COMPARE(bench.shownName(), QStringLiteral("g"));
  QCOMPARE(bench.model.chips().size(), 2u);
  QCOMPARE(bench.model.chips()[0].label, QStringLiteral("in 0 · W:0"));
  QCOMPARE(bench.model.chips()[1].label, QStringLiteral("in 1 · gradient"));
  bench.model.selectChip(0);  // what one picks counts
  QCOMPARE(bench.shownName(), QStringLiteral("W"));
}

void TestTensorChips::showsWhatJustRanAfterAStep() {
  Bench bench("op square(x:2x2) -> y:2x2\nop neg(W:3x3) -> pending");
  bench.start();
  bench.source.stopAtNewest("step");
  QTRY_COMPARE(bench.shownName(), QStringLiteral("y"));
  QCOMPARE(bench.model.chips()[0].label, QStringLiteral("just ran: square"));
  QCOMPARE(bench.model.currentChip(), 0);
  bench.session.setCursor(1);
  QTRY_COMPARE(bench.model.chips().size(), 2u);
  QCOMPARE(bench.shownName(), QStringLiteral("y"));
}

void TestTensorChips::whatJustRanIsTheVjpNotTheOpsInsideIt() {
  const char* before = R"(
op square(x:2x2) -> y:2x2 tape=1
playback gradient(y) -> running tape=1
  vjp square(W) -> g:2x2 of=1
    op mul(x, W) -> t:2x2
    op add(t, t) -> u:2x2
)";
  Bench inside((std::string(before) + "  vjp neg(g) -> pending of=1\n").c_str(), {2, 2});
  inside.start();
  inside.source.stopAtNewest("step");
  QTRY_COMPARE(inside.model.chips().size(), 3u);
  QCOMPARE(inside.model.chips()[0].label, QStringLiteral("just ran: square"));
  QCOMPARE(inside.model.chips()[0].record, 3u);
  QCOMPARE(inside.shownName(), QStringLiteral("g"));
  // After the playback, that is what just ran.
  Bench after(QString::fromUtf8(before)
                  .replace("running", "z:2x2")
                  .append("op neg(z) -> pending\n")
                  .toUtf8()
                  .constData(),
              {2, 2});
  after.start();
  after.source.stopAtNewest("step");
  QTRY_COMPARE(after.shownName(), QStringLiteral("z"));
  QCOMPARE(after.model.chips()[0].label, QStringLiteral("just ran: gradient"));
}

void TestTensorChips::aPickStaysByRoleAcrossSteps() {
  Bench bench("op add(x:2x2, W:2x2) -> y:2x2\nop sub(y, W) -> z:2x2\nop neg(z) -> g:2x2");
  bench.start();
  QTRY_COMPARE(bench.shownName(), QStringLiteral("g"));
  bench.session.setCursor(1);
  QTRY_COMPARE(bench.shownName(), QStringLiteral("y"));
  bench.model.selectChip(1);
  QCOMPARE(bench.shownName(), QStringLiteral("W"));
  bench.session.setCursor(2);
  QTRY_COMPARE(bench.shownName(), QStringLiteral("W"));
  bench.session.setCursor(3);  // has no second input: its output, until one comes again
  QTRY_COMPARE(bench.shownName(), QStringLiteral("g"));
  bench.session.setCursor(1);
  QTRY_COMPARE(bench.shownName(), QStringLiteral("W"));
  bench.model.selectChip(99);
  bench.model.selectChip(-1);
  QCOMPARE(bench.shownName(), QStringLiteral("W"));
}

void TestTensorChips::saysWhyThereIsNothing() {
  Bench bench("op square(x:2x2) -> pending\n");
  bench.start();
  bench.source.stopAtNewest();
  QTRY_COMPARE(bench.model.chips().size(), 2u);
  bench.model.selectChip(1);
  QCOMPARE(bench.model.tensor(), nullptr);
  QCOMPARE(bench.model.problem(), QStringLiteral("Not computed yet: square is waiting at the gate."));
  QCOMPARE(bench.model.totalRows(), 0);
  Bench absurd("op f(x) -> y:9223372036854775807x9223372036854775807");
  absurd.start();
  QTRY_COMPARE(absurd.model.chips().size(), 2u);
  absurd.model.selectChip(1);
  QCOMPARE(absurd.model.problem(),
           QStringLiteral("The session gave the shape 9223372036854775807×9223372036854775807, "
                          "which no tensor has."));
  for (const auto& get : absurd.tiles()) QCOMPARE(get.tensor, absurd.text.id("x"));
}

void TestTensorChips::aRecordThatWasNeverFetchedHasNoTensorOfAnother() {
  Bench bench("op f(x) -> y:2x2", {2, 2});
  bench.repeatFirst(600);
  bench.start();
  QTRY_VERIFY(bench.model.tile());
  bench.source.setUp(false);
  bench.session.setCursor(1);
  QVERIFY(!bench.model.tensor());
  QCOMPARE(bench.model.problem(), QStringLiteral("Op 1 was not fetched before the session ended."));
  bench.session.setCursor(600);
  QVERIFY(bench.model.tensor());
}

void TestTensorChips::aChosenTensorStaysWhereTheCursorsRecordIsMissing() {
  Bench bench("op f(x) -> y:2x2", {2, 2});
  bench.repeatFirst(600);
  bench.start();
  QTRY_VERIFY(bench.model.tile());
  const inspector::TensorChip pinned = bench.model.chips().back();
  bench.model.showTensor(pinned);
  bench.source.setUp(false);
  bench.session.setCursor(1);
  QVERIFY(bench.model.tensor());
  QCOMPARE(bench.model.tensor()->id, pinned.info.id);
  QVERIFY(bench.model.tile());
  QCOMPARE(bench.model.problem(), QString());
}

void TestTensorChips::aPickedTensorIsWhatTheCursorsRecordMakesOrReads() {
  Bench bench("op square(x:2x2) -> y:2x2\nop neg(y) -> z:2x2", {2, 2});
  bench.start();
  QTRY_COMPARE(bench.shownName(), QStringLiteral("z"));
  const auto shown = [&] {
    return bench.model.chips().at(static_cast<std::size_t>(bench.model.currentChip()));
  };
  bench.session.setCursor(1);
  QTRY_COMPARE(bench.model.chips().size(), 2u);
  bench.session.pickTensor(bench.source.records[0].inputs[0]);
  QCOMPARE(shown().label, QStringLiteral("in"));
  bench.session.pickTensor(bench.source.records[0].outputs[0]);
  QCOMPARE(shown().label, QStringLiteral("out"));
  QCOMPARE(bench.model.chips().size(), 2u);
  // Another record's says whose it is.
  protocol::TensorInfo later = bench.source.records[1].outputs[0];
  later.producer = 2;
  bench.session.pickTensor(later);
  QCOMPARE(shown().label, QStringLiteral("neg, op 2"));
  QCOMPARE(bench.shownName(), QStringLiteral("z"));
  QCOMPARE(bench.model.chips().size(), 3u);
  // Another record that the user chooses is shown in its place; its tab stays beside that one's.
  bench.session.setCursor(2);
  QTRY_COMPARE(shown().role, TensorRole::output);
  QCOMPARE(shown().record, 2ull);
  QCOMPARE(bench.model.chips().size(), 3u);
  QCOMPARE(bench.model.chips().back().label, QStringLiteral("neg, op 2"));
  // The same record once more is chosen, too.
  bench.model.selectChip(2);
  QCOMPARE(shown().role, TensorRole::chosen);
  bench.session.setCursor(2);
  QCOMPARE(shown().role, TensorRole::output);
}

void TestTensorChips::aPickBeforeItsRecordIsHereIsShownInItsPlace() {
  Bench bench("op f(x) -> y:2x2", {2, 2});
  bench.repeatFirst(600);
  bench.start();
  QTRY_VERIFY(bench.model.tile());
  QVERIFY(!bench.session.cachedRecord(1));
  bench.session.setCursor(1);
  bench.session.pickTensor(bench.source.records[0].outputs[0]);
  QTRY_VERIFY(bench.session.cachedRecord(1));
  QTRY_COMPARE(bench.model.chips().size(), 2u);
  QCOMPARE(bench.model.chips().at(static_cast<std::size_t>(bench.model.currentChip())).role,
           TensorRole::output);
}

TAPEDECK_TEST(TestTensorChips)
#include "tst_tensor_chips.moc"
