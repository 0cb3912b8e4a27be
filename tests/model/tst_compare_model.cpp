// Compare without a window: what is asked of a session, and what is shown of its answers.
#include <QtTest>

#include "tests/model/compare_world.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::inspector;
using namespace tapedeck::test;
using protocol::RowKind;

class TestCompareModel : public QObject, CompareWorld {
  Q_OBJECT

 private slots:
  void init() { begin(); }
  void cleanup() { end(); }

  void nothingIsAskedWhileNobodyLooks() {
    source_.status.cells_ended = 3;
    source_.sendStatus();
    QVERIFY(source_.askedFor<protocol::GetCellRuns>().empty());
    model_->setShown(true);
    QCOMPARE(source_.askedFor<protocol::GetCellRuns>().size(), std::size_t{1});
    model_->setShown(false);
    source_.status.cells_ended = 4;
    source_.sendStatus();
    QCOMPARE(source_.askedFor<protocol::GetCellRuns>().size(), std::size_t{1});
    model_->setShown(true);
    QCOMPARE(source_.askedFor<protocol::GetCellRuns>().size(), std::size_t{2});
  }

  void callsOfGraphFunctionsAreNoOps() {
    model_->setShown(true);
    auto graph = runOf(1, "a", 1, 10), file = runOf(2, "b", 11, 20);
    graph.calls = 9;
    file.calls.reset();
    answerRuns({graph, file});
    QCOMPARE(model_->choices()[1].title, QString("a: 1 op, 2.00 ms"));
    QCOMPARE(model_->choices()[0].title, QString("cell 2: 10 records, 2.00 ms"));
  }

  void theLastTwoRunsWithOpsAreComparedByThemselves() {
    model_->setShown(true);
    answerRuns({runOf(1, "a", 1, 1), runOf(2, "b", 2, 3), runOf(3, "a", 4, 3), runOf(4, "b", 4, 5),
                runOf(5, "c", 6, 6)});
    const auto make = answer<protocol::MakeComparison>(comparedOf(1, 2));
    QVERIFY(make.left.first == 2 && make.left.last == 3);
    QVERIFY(make.right.first == 4 && make.right.last == 5);
    QCOMPARE(model_->left()->brief, QString("cell 2, run 1"));
    QCOMPARE(model_->right()->title, QString("cell 2, run 2 of 2: 2 ops, 2.00 ms"));
    QCOMPARE(model_->choices().size(), std::size_t{4});  // the newest first; one has no ops
    QCOMPARE(model_->choices()[0].run, quint64{5});
    // The cell runs once more: the newer two are compared, until the user chooses.
    source_.status.cells_ended = 6;
    source_.sendStatus();
    answerRuns({runOf(2, "b", 2, 3), runOf(4, "b", 4, 5), runOf(6, "b", 6, 6)});
    QCOMPARE(answer<protocol::MakeComparison>(comparedOf(2, 2)).left.first, std::uint64_t{4});
    model_->setLeft(model_->choices()[2]);
    QCOMPARE(answer<protocol::MakeComparison>(comparedOf(3, 2)).left.first, std::uint64_t{2});
    source_.status.cells_ended = 7;
    source_.sendStatus();
    answerRuns({runOf(4, "b", 4, 5), runOf(6, "b", 6, 6), runOf(7, "b", 7, 7)});
    QVERIFY(!asked<protocol::MakeComparison>());
    model_->chooseLastTwoRuns();
    QCOMPARE(answer<protocol::MakeComparison>(comparedOf(4, 1)).right.first, std::uint64_t{7});
  }

  void withoutTwoRunsASentenceSaysWhatToDo() {
    model_->setShown(true);
    answerRuns({runOf(1, "a", 1, 3), runOf(2, "b", 4, 6)});
    QVERIFY(!asked<protocol::MakeComparison>());
    model_->chooseLastTwoRuns();
    QCOMPARE(model_->problem(),
             QString("No cell with ops ran twice yet: run one again, and its two runs are compared."));
    model_->chooseBranch();
    QVERIFY(model_->problem().startsWith("There is no branch"));
    session_.setLook({9, Beside::original, "x = 5"});
    model_->chooseBranch();
    const auto make = answer<protocol::MakeComparison>(comparedOf(1, 6));
    QVERIFY(!make.left.branch && make.right.branch == 9 && make.right.last == 6);
    QCOMPARE(model_->right()->title, QString("The branch of What if: x = 5"));
  }

  void aMomentGoesToTheEndOfItsRun() {
    model_->setShown(true);
    answerRuns({runOf(1, "b", 1, 3), runOf(2, "c", 4, 6)});
    session_.setCursor(2);
    const CompareChoice here = model_->fromHere();
    QVERIFY(here.side.first == 2 && here.side.last == 3);
    QCOMPARE(here.title, QString("From op 2 to op 3"));
    model_->setLeft(here);
    QVERIFY(!asked<protocol::MakeComparison>());  // there is nothing on the right
    session_.setCursor(5);
    model_->setRight(model_->fromHere());
    const auto make = answer<protocol::MakeComparison>(comparedOf(1, 2));
    QVERIFY(make.right.first == 5 && make.right.last == 6);
    model_->swapSides();
    QCOMPARE(answer<protocol::MakeComparison>(comparedOf(2, 2)).left.first, std::uint64_t{5});
  }

  void rowsComeByPageAsTheyAreLookedAt() {
    compareTwoRuns();
    CompareRows rows(model_.get(), &cells_);
    QCOMPARE(rows.rowCount(), 250);
    QVERIFY(!asked<protocol::GetComparisonRows>());
    QCOMPARE(rows.index(120, CompareRows::Sign).data().toString(), QString::fromUtf8("…"));
    rows.index(121, CompareRows::Sign).data();
    const auto get = answer<protocol::GetComparisonRows>(page(100, 100));
    QVERIFY(get.comparison == 5 && get.first == 100 && get.count == 100);
    QVERIFY(!asked<protocol::GetComparisonRows>());
    QCOMPARE(rows.index(120, CompareRows::Sign).data().toString(),
             QString::fromUtf8("· values not compared"));
    QCOMPARE(rows.index(120, CompareRows::LeftOp).data().toString(), QString::fromUtf8("▼ matmul · 21"));
    QCOMPARE(rows.index(120, CompareRows::RightPlace).data().toString(), QString("cell 2 line 3"));
    QCOMPARE(rows.index(120, CompareRows::RightShapes).data().toString(),
             QString::fromUtf8("2×3, 3×4 → 2×4"));
    QCOMPARE(rows.headerData(CompareRows::RightOp, Qt::Horizontal, Qt::DisplayRole).toString(),
             QString("Right: cell 2, run 2"));
    // An answer that is late is of no use.
    rows.index(0, 0).data();
    model_->swapSides();
    answer<protocol::MakeComparison>(comparedOf(6, 3));
    answer<protocol::GetComparisonRows>(page(0, 100));
    QVERIFY(!model_->cachedRow(0));
  }

  void signsAndWordsSayWhatARowIs() {
    protocol::ComparedRow row;
    const auto text = [&] { return rowSign(row) + ' ' + rowWord(row); };
    QCOMPARE(text(), QString::fromUtf8("· values not compared"));
    row.results = Agreement::agree;
    QCOMPARE(text(), QString("= same results"));
    row.results = Agreement::differ;
    QCOMPARE(text(), QString::fromUtf8("≠ values differ"));
    row.kind = RowKind::other_attributes;
    QCOMPARE(text(), QString::fromUtf8("± other attributes"));
    row.kind = RowKind::other_shapes;
    QCOMPARE(text(), QString::fromUtf8("◇ other shapes"));
    row.kind = RowKind::only_left;
    QCOMPARE(text(), QString::fromUtf8("− left only"));
    row.kind = RowKind::only_right;
    QCOMPARE(text(), QString("+ right only"));
  }

  void theFirstDifferenceBecomesTheCurrentRow() {
    compareTwoRuns();
    model_->setTolerance(1e-6, 1e-8);
    QSignalSpy found(model_.get(), &CompareModel::found);
    model_->findFirstDifference();
    QVERIFY(model_->searching());
    model_->findFirstDifference();  // once is enough
    QCOMPARE(source_.askedFor<protocol::FindFirstDifference>().size(), std::size_t{1});
    protocol::FirstDifference first;
    first.comparison = 5;
    first.row = 17;
    first.sentence = "The first difference is op 18.";
    const auto ask = answer<protocol::FindFirstDifference>(first);
    QCOMPARE(ask.relative, 1e-6);
    QCOMPARE(ask.absolute, 1e-8);
    QCOMPARE(ask.labels.size(), std::size_t{1});
    QCOMPARE(ask.labels[0].label, std::string("cell 2"));
    QCOMPARE(found.size(), 1);
    QCOMPARE(model_->currentRow(), 17);
    protocol::ComparedOperands operands;
    operands.comparison = 5;
    operands.row = 17;
    operands.operands.resize(2);
    operands.operands[1].left = protocol::TensorInfo{11, "float32", {200, 300}, "/cpu:0", "", "", 1};
    operands.operands[1].right = protocol::TensorInfo{12, "float32", {200, 300}, "/cpu:0", "", "", 4};
    answer<protocol::CompareOperands>(operands);
    QVERIFY(model_->operands());
    model_->setPictured(1);
    const auto tile = answer<protocol::GetComparisonTile>(protocol::Tile{});
    QVERIFY(tile.left == 11 && tile.right == 12 && tile.part == protocol::ComparedPart::left);
    QVERIFY(tile.tile.row_step == 3 && tile.tile.column_step == 4);
    answer<protocol::GetComparisonTile>(protocol::Tile{});
    QCOMPARE(answer<protocol::GetComparisonTile>(protocol::Tile{}).part, protocol::ComparedPart::difference);
    QVERIFY(model_->pictures().left && model_->pictures().right && model_->pictures().difference);
    // Another tolerance: what is known holds no longer.
    model_->setTolerance(0, 0);
    QVERIFY(!model_->firstDifference());
  }

  void aSearchIsCancelledAndItsFailureTold() {
    compareTwoRuns();
    model_->findFirstDifference();
    model_->cancel();
    QVERIFY(!model_->searching());
    QVERIFY(model_->problem().isEmpty());
    QVERIFY(!asked<protocol::FindFirstDifference>());
    model_->findFirstDifference();
    answer<protocol::FindFirstDifference>(protocol::Failure{
        "make_comparison: left: there are no records 1 to 9, the newest is 1", "bad_request"});
    QCOMPARE(model_->problem(), QString("Left: there are no records 1 to 9, the newest is 1."));
  }

  void nothingAnswersForAnOlderQuestion() {
    compareTwoRuns();
    model_->findFirstDifference();
    model_->swapSides();  // another comparison: the result of the old one's search is no longer wanted
    QVERIFY(!model_->searching() && !asked<protocol::FindFirstDifference>());
    answer<protocol::MakeComparison>(comparedOf(5, 250));
    QVERIFY(asked<protocol::GetComparisonCurves>());
    model_->findFirstDifference();
    model_->setTolerance(1e-3, 0);
    QVERIFY(model_->searching());
    QCOMPARE(answer<protocol::FindFirstDifference>(protocol::FirstDifference()).relative, 1e-3);
    QVERIFY(!asked<protocol::FindFirstDifference>());
    // Of another row the pictures of the one before are not wanted.
    model_->setCurrentRow(3);
    protocol::ComparedOperands operands{5, 3, {}, {}};
    operands.operands.resize(1);
    operands.operands[0].left = operands.operands[0].right = {11, "float32", {20, 30}, "/cpu:0", "", "", 1};
    answer<protocol::CompareOperands>(operands);
    model_->setPictured(0);
    QVERIFY(asked<protocol::GetComparisonTile>());
    model_->setCurrentRow(4);
    QVERIFY(!asked<protocol::GetComparisonTile>());
    model_->swapSides();
    QVERIFY(!asked<protocol::CompareOperands>() && !asked<protocol::GetComparisonCurves>());
  }

  void whatGoesOnStopsWhileNobodyLooksAndBeginsAnewThen() {
    compareTwoRuns();
    model_->findFirstDifference();
    model_->setShown(false);
    QVERIFY(!model_->searching() && !asked<protocol::FindFirstDifference>());
    model_->setShown(true);
    QVERIFY(model_->searching() && asked<protocol::FindFirstDifference>());
    model_->swapSides();
    QVERIFY(model_->comparing());
    model_->setShown(false);
    QVERIFY(!model_->comparing() && !asked<protocol::MakeComparison>());
    model_->setShown(true);
    answer<protocol::MakeComparison>(comparedOf(6, 3));
    QVERIFY(model_->compared());
  }

  void theNextDifferenceIsAskedForAndItsAbsenceTold() {
    compareTwoRuns();
    model_->findDifference(false);
    const auto find = answer<protocol::FindComparisonRow>(protocol::ComparisonPlace{5, 40});
    QVERIFY(!find.from && !find.backward);
    QCOMPARE(model_->currentRow(), 40);
    model_->findDifference(false);
    answer<protocol::FindComparisonRow>(protocol::ComparisonPlace{5, {}});
    QCOMPARE(model_->currentRow(), 40);
    QCOMPARE(model_->problem(), QString("After this row all ops are the same on both sides."));
  }

  void aRowsOpIsShownOnTheSideThatHasIt() {
    compareTwoRuns(2);
    model_->row(0);
    auto rows = page(0, 2);
    rows.rows[1].left.reset();
    rows.rows[1].kind = RowKind::only_right;
    answer<protocol::GetComparisonRows>(rows);
    model_->show(0, false);
    QCOMPARE(session_.cursor(), RecordNumber{1});
    model_->show(0, true);
    QCOMPARE(session_.cursor(), RecordNumber{4});
    model_->show(1, false);
    QCOMPARE(session_.cursor(), RecordNumber{5});
    model_->show(7, false);
    QCOMPARE(session_.cursor(), RecordNumber{5});
  }

  void theSessionsEndDropsEverything() {
    compareTwoRuns();
    source_.setUp(false);
    QVERIFY(!model_->compared() && !model_->left() && model_->runs().empty());
    QCOMPARE(model_->rowCount(), 0);
    source_.setUp(true);
  }
};

TAPEDECK_TEST(TestCompareModel)
#include "tst_compare_model.moc"
