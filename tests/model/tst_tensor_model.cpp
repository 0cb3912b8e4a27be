// The tensor model: which layout of a tensor, which part of it, and what it says when its values can't be
// seen.
#include <QTest>

#include "tests/model/tensor_bench.h"
#include "tests/test_program.h"

using namespace tapedeck;
using Bench = test::TensorBench;

class TestTensor : public QObject {
  Q_OBJECT
 private slots:
  void showsTheLastTwoAxesFirst();
  void slicesAndAxesAreClamped();
  void reshapesAndRemembersByShape();
  void aWrongReshapeSaysSoAndKeepsTheLayout();
  void columnsBecomeImages();
  void rowsBecomeImages();
  void theWindowIsClampedAndBounded();
  void manyChangesMakeOneRequest();
  void aGoneTensorSaysSo();
  void answersThatDoNotFitAreRefused();
  void keepsTheTileWhenTheSessionDies();
  void saysThatNothingWasFetchedWhenTheSessionDies();
  void tellsHowFarARecomputationIs();
  void emptyTensorsAskForNothingWild();
  void valuesAreFetchedAnewWhenTheyAreRecomputedElsewhere();
};

void TestTensor::valuesAreFetchedAnewWhenTheyAreRecomputedElsewhere() {
  Bench bench("op matmul(x:10x784, W:784x196) -> y:10x196", {10, 196});
  bench.start();
  QTRY_VERIFY(bench.model.tile() && bench.model.statistics() && !bench.model.loading());
  const std::size_t before = bench.tiles().size();
  for (const bool here : {true, false}) {
    const std::size_t tiles = bench.tiles().size(),
                      statistics = bench.source.askedFor<protocol::GetStatistics>().size();
    bench.source.status.replay_on_cpu = here;
    emit bench.source.received(0, bench.source.status);
    QVERIFY(bench.model.tile());  // what is shown stays until the other values are here
    QTRY_VERIFY(bench.tiles().size() > tiles && !bench.model.loading());
    QTRY_VERIFY(bench.source.askedFor<protocol::GetStatistics>().size() > statistics);
    QCOMPARE(bench.tiles().back().tensor, bench.tiles().front().tensor);
  }
  QCOMPARE(bench.tiles().size(), before + 2);
}

void TestTensor::showsTheLastTwoAxesFirst() {
  Bench bench("op f(x) -> y:5x6x7", {5, 6, 7});
  bench.start();
  QTRY_VERIFY(bench.model.tile());
  QCOMPARE(bench.model.slice(), (std::vector<std::int64_t>{0, -1, -1}));
  QCOMPARE(bench.model.totalRows(), 6);
  QCOMPARE(bench.model.totalColumns(), 7);
  Bench scalar("op f(x) -> y:=3", {});
  scalar.start();
  QTRY_VERIFY(scalar.model.tile());
  QCOMPARE(scalar.model.totalRows(), 1);
  QCOMPARE(scalar.model.totalColumns(), 1);
  QCOMPARE(scalar.model.tile()->values.size(), 1u);
}

void TestTensor::slicesAndAxesAreClamped() {
  Bench bench("op f(x) -> y:5x6x7", {5, 6, 7});
  bench.start();
  QTRY_VERIFY(bench.model.tile());
  bench.model.setSliceIndex(0, 99);
  QCOMPARE(bench.model.slice()[0], 4);
  bench.model.setSliceIndex(1, 2);  // a shown axis has no index
  QCOMPARE(bench.model.slice()[1], -1);
  bench.model.setSliceIndex(9, 2);
  QTRY_VERIFY(bench.model.tile() && bench.model.tile()->values[0] == 4 * 42.0);
  bench.model.setShownAxes(0, 2);
  QCOMPARE(bench.model.slice(), (std::vector<std::int64_t>{-1, 0, -1}));
  QCOMPARE(bench.model.totalRows(), 5);
  QTRY_VERIFY(bench.model.tile());
  QCOMPARE(bench.model.tile()->values[7], 42.0);
  bench.model.setShownAxes(2, 0);
  bench.model.setShownAxes(0, 3);
  QCOMPARE(bench.model.slice(), (std::vector<std::int64_t>{-1, 0, -1}));
  bench.model.setShownAxes(-1, 1);
  QCOMPARE(bench.model.totalRows(), 1);
  QCOMPARE(bench.model.totalColumns(), 6);
}

void TestTensor::reshapesAndRemembersByShape() {
  Bench bench("op f(x) -> y:784x196\nop g(y) -> z:3\nop h(z) -> W:784x196");
  bench.start();
  QTRY_VERIFY(bench.model.tile());
  bench.model.setReshapeText("28x28x196");
  QCOMPARE(bench.model.shape(), (std::vector<std::int64_t>{28, 28, 196}));
  QTRY_VERIFY(bench.model.tile());
  QCOMPARE(bench.tiles().back().reshape, (std::vector<std::int64_t>{28, 28, 196}));
  bench.session.setCursor(2);
  QTRY_COMPARE(bench.model.shape(), (std::vector<std::int64_t>{3}));
  QCOMPARE(bench.model.reshapeText(), QString());
  QCOMPARE(bench.model.reshapeError(), QString());
  bench.session.setCursor(1);
  QTRY_COMPARE(bench.model.shape(), (std::vector<std::int64_t>{28, 28, 196}));
  QCOMPARE(bench.model.reshapeText(), QStringLiteral("28x28x196"));
}

void TestTensor::aWrongReshapeSaysSoAndKeepsTheLayout() {
  Bench bench("op f(x) -> y:784x196");
  bench.start();
  QTRY_VERIFY(bench.model.tile());
  const auto asked = bench.tiles().size();
  bench.model.setReshapeText("28x27");
  QCOMPARE(bench.model.reshapeError(), QStringLiteral("784×196 has 153,664 elements, 28×27 has 756"));
  QCOMPARE(bench.model.shape(), (std::vector<std::int64_t>{784, 196}));
  QVERIFY(bench.model.tile());
  nothingMayHappenFor(10);
  QCOMPARE(bench.tiles().size(), asked);
}

void TestTensor::columnsBecomeImages() {
  Bench bench("op f(x) -> y:784x196");
  bench.start();
  QTRY_VERIFY(bench.model.tile());
  bench.model.setReshapeText("28,28");
  QVERIFY(bench.model.images());
  QCOMPARE(bench.model.imageTile(), nullptr);
  QTRY_VERIFY(bench.model.imageTile());
  const auto& images = *bench.model.imageTile();
  QCOMPARE(images.count, 196);
  // Pixel (2, 3) of image 5 is element (2·28 + 3, 5) of the matrix.
  QCOMPARE(images.values[static_cast<std::size_t>((5 * 28 + 2) * 28 + 3)],
           static_cast<double>((2 * 28 + 3) * 196 + 5));
  bench.model.setImageWindow(10, 4);
  QTRY_VERIFY(bench.model.imageTile()->first == 10);
  QCOMPARE(bench.model.imageTile()->count, 4);
  QCOMPARE(bench.model.imageTile()->values[784], 11.0);
  bench.model.setImageWindow(-5, 1'000'000);
  QTRY_COMPARE(bench.model.imageTile()->count, 196);
  bench.model.setReshapeText({});
  QVERIFY(!bench.model.images());
  QTRY_VERIFY(bench.model.tile() && !bench.model.imageTile());
}

void TestTensor::rowsBecomeImages() {
  Bench bench("op f(x) -> y:10000x784", {10'000, 784});
  bench.start();
  QTRY_VERIFY(bench.model.tile());
  bench.model.setReshapeText("28x28");
  bench.model.setImageWindow(9'990, 100);
  QTRY_VERIFY(bench.model.imageTile() && bench.model.imageTile()->first == 9'990);
  QCOMPARE(bench.model.imageTile()->count, 10);
  QCOMPARE(bench.model.imageTile()->values[785], 9'991 * 784.0 + 1);
  for (const auto& get : bench.tiles()) QVERIFY(get.rows * get.columns <= 262'144);
}

void TestTensor::theWindowIsClampedAndBounded() {
  Bench bench("op f(x) -> y:100000x1000", {100'000, 1'000});
  bench.start();
  QTRY_VERIFY(bench.model.tile());
  const auto first = bench.tiles().back();
  QVERIFY(first.rows * first.columns <= 65'536);
  QVERIFY(first.rows * first.row_step >= 100'000);
  bench.model.setWindow({0, 0, 100'000, 1'000, 1, 1});
  QTRY_VERIFY(bench.tiles().size() == 2);
  QVERIFY(bench.tiles()[1].rows * bench.tiles()[1].columns <= 262'144);
  bench.model.setWindow({99'990, -4, 500, 20, 1, 1});
  QTRY_VERIFY(bench.tiles().size() == 3);
  QCOMPARE(bench.tiles()[2].row, 99'990);
  QCOMPARE(bench.tiles()[2].rows, 10);
  QCOMPARE(bench.tiles()[2].column, 0);
  bench.model.setWindow({-1, -1, -1, -1, 0, -7});
  QTRY_VERIFY(bench.tiles().size() == 4);
  QCOMPARE(bench.tiles()[3].rows, 1);
  QCOMPARE(bench.tiles()[3].row_step, 1);
  QVERIFY(bench.model.tile());
}

void TestTensor::manyChangesMakeOneRequest() {
  Bench bench("op f(x) -> y:1000x1000", {1'000, 1'000});
  bench.start();
  QTRY_VERIFY(bench.model.tile());
  const auto asked = bench.tiles().size();
  for (int row = 0; row < 100; ++row) bench.model.setWindow({row, 0, 50, 50, 1, 1});
  QVERIFY(bench.model.tile());  // the older part stays until the new one is here
  QTRY_COMPARE(bench.model.tile()->row, 99);
  QCOMPARE(bench.tiles().size(), asked + 1);
}

void TestTensor::aGoneTensorSaysSo() {
  Bench bench("op f(x) -> y:2x2");
  bench.source.tensors = [](const protocol::Request&) {
    return protocol::Failure{"This value is gone: the leaves it came from were dropped.", "gone"};
  };
  bench.start();
  QTRY_COMPARE(bench.model.problem(),
               QStringLiteral("This value is gone: the leaves it came from were dropped."));
  QVERIFY(!bench.model.tile());
  QVERIFY(!bench.model.statistics());
}

void TestTensor::answersThatDoNotFitAreRefused() {
  Bench bench("op f(x) -> y:2x2", {2, 2});
  bench.source.tensors = [](const protocol::Request& request) -> protocol::Reply {
    protocol::Reply reply = test::countingTensor(request, {2, 2});
    if (auto* tile = protocol::get_if<protocol::Tile>(&reply)) tile->values.resize(3);
    return reply;
  };
  bench.start();
  QTRY_COMPARE(bench.model.problem(), QStringLiteral("The session's answer is malformed: 3 values for 2×2."));
  QVERIFY(!bench.model.tile());
  Bench wrong("op f(x) -> y:2x2", {2, 2});
  wrong.source.tensors = [](const protocol::Request&) { return protocol::Reply(protocol::Series{}); };
  wrong.start();
  QTRY_COMPARE(wrong.model.problem(), QStringLiteral("The session's answer is malformed: series."));
}

void TestTensor::keepsTheTileWhenTheSessionDies() {
  Bench bench("op f(x) -> y:2x2\nop g(y) -> z:2x2", {2, 2});
  bench.start();
  QTRY_VERIFY(bench.model.tile());
  bench.source.setUp(false);
  QVERIFY(bench.model.tile());
  bench.session.setCursor(1);
  QTRY_COMPARE(bench.model.problem(),
               QStringLiteral("These values were not fetched before the session ended."));
  QVERIFY(!bench.model.loading());
}

void TestTensor::saysThatNothingWasFetchedWhenTheSessionDies() {
  Bench bench("op f(x) -> y:2x2\nop g(y) -> z:2x2", {2, 2});
  bench.start();
  QTRY_VERIFY(bench.model.tile());
  bench.source.automatic = false;
  bench.session.setCursor(1);
  QTRY_VERIFY(!bench.source.waiting.empty());
  QVERIFY(bench.model.loading());
  bench.source.setUp(false);
  QVERIFY(!bench.model.loading());
  QCOMPARE(bench.model.problem(), QStringLiteral("These values were not fetched before the session ended."));
}

void TestTensor::tellsHowFarARecomputationIs() {
  Bench bench("op f(x) -> y:2x2", {2, 2});
  bench.source.automatic = false;
  bench.start();
  QTRY_VERIFY(!bench.tiles().empty() || !bench.source.waiting.empty());
  while (bench.tiles().empty()) {
    bench.source.answerNext();
    QTest::qWait(1);
  }
  quint64 id = 0;
  for (const auto& asked : bench.source.waiting)
    if (protocol::holds_alternative<protocol::GetTile>(asked.message)) id = asked.id;
  QVERIFY(id);
  QCOMPARE(bench.model.progress(), QString());
  emit bench.source.received(id, protocol::Progress{0, 0});
  QCOMPARE(bench.model.progress(),
           QStringLiteral("Recomputing these values: looking for the ops that must run again …"));
  emit bench.source.received(id, protocol::Progress{12'000, 48'000});
  QCOMPARE(bench.model.progress(),
           QStringLiteral("Recomputing these values: 12,000 of 48,000 ops ran again (25 %)"));
  QVERIFY(bench.model.loading());
  bench.source.answerAll();
  QVERIFY(bench.model.tile());
  QCOMPARE(bench.model.progress(), QString());
}

void TestTensor::emptyTensorsAskForNothingWild() {
  Bench bench("op f(x) -> y:0x5", {0, 5});
  bench.start();
  QTRY_COMPARE(bench.shownName(), QStringLiteral("y"));
  QTRY_VERIFY(!bench.tiles().empty());
  QCOMPARE(bench.tiles()[0].rows, 0);
  bench.model.setWindow({0, 0, 10, 10, 1, 1});
  bench.model.setReshapeText("5x0");
  QCOMPARE(bench.model.reshapeError(), QString());
  QTRY_VERIFY(bench.model.tile());
}

TAPEDECK_TEST(TestTensor)
#include "tst_tensor_model.moc"
