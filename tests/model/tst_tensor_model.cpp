// The tensor model: which tensor, which layout, which part of it, and what it says when there is nothing to
// see.
#include <QSignalSpy>
#include <QTest>

#include "inspector/model/tensor_model.h"
#include "tests/model/fake_source.h"
#include "tests/model/records_text.h"

using namespace tapedeck;
using inspector::Session;
using inspector::TensorModel;
using inspector::TensorRole;
using test::RecordsText;

namespace {

/// Element i of any tensor is i; answers as the session would.
protocol::Reply countingTensor(const protocol::Request& request, std::vector<std::int64_t> shape) {
  if (const auto* get = std::get_if<protocol::GetTile>(&request)) {
    protocol::Tile tile;
    tile.tensor = get->tensor;
    tile.shape = get->reshape.empty() ? shape : get->reshape;
    std::vector<std::int64_t> strides(tile.shape.size(), 1);
    for (std::size_t axis = tile.shape.size(); axis-- > 1;)
      strides[axis - 1] = strides[axis] * tile.shape[axis];
    std::int64_t offset = 0, rowStride = 0, columnStride = 0;
    for (std::size_t axis = 0; axis < tile.shape.size(); ++axis) {
      const std::int64_t at = get->slice.empty() ? -1 : get->slice[axis];
      if (at >= 0) {
        offset += at * strides[axis];
      } else {
        rowStride = columnStride;
        columnStride = strides[axis];
      }
    }
    tile.row = get->row;
    tile.column = get->column;
    tile.rows = get->rows;
    tile.columns = get->columns;
    tile.row_step = get->row_step;
    tile.column_step = get->column_step;
    for (std::int64_t row = 0; row < get->rows; ++row)
      for (std::int64_t column = 0; column < get->columns; ++column)
        tile.values.push_back(static_cast<double>(offset + (get->row + row * get->row_step) * rowStride +
                                                  (get->column + column * get->column_step) * columnStride));
    tile.dtype = "float32";
    tile.source = "held";
    return tile;
  }
  const auto* get = std::get_if<protocol::GetStatistics>(&request);
  protocol::Statistics statistics;
  statistics.tensor = get ? get->tensor : 0;
  statistics.count = 17;
  return statistics;
}

struct Bench {
  test::FakeSource source;
  Session session;
  TensorModel model{&session};
  RecordsText text;

  explicit Bench(const char* records, std::vector<std::int64_t> shape = {784, 196}) : text(records) {
    source.records = text.records;
    source.status.records = source.records.size();
    for (const auto& record : source.records)
      if (record.state == protocol::RecordState::done) source.status.finished = record.number;
    source.tensors = [shape](const protocol::Request& request) { return countingTensor(request, shape); };
  }
  void start() { session.setSource(&source); }
  /// The same record again and again: more than are fetched at once.
  void repeatFirst(quint64 count) {
    protocol::Record record = source.records[0];
    for (record.number = 2; record.number <= count; ++record.number) source.records.push_back(record);
    source.status.records = source.status.finished = count;
  }
  QString shownName() const {
    const auto* tensor = model.tensor();
    for (const char* name : {"x", "W", "y", "z", "g"})
      if (tensor && text.id(QString::fromLatin1(name)) == tensor->id) return QString::fromLatin1(name);
    return tensor ? QStringLiteral("?") : QString();
  }
  std::vector<protocol::GetTile> tiles() const { return source.askedFor<protocol::GetTile>(); }
};

}  // namespace

class TestTensor : public QObject {
  Q_OBJECT
 private slots:
  void showsTheOutputOfTheCursorsRecord();
  void showsTheFirstInputAtTheFirstStop();
  void showsWhatJustRanAfterAStep();
  void whatJustRanIsTheVjpNotTheOpsInsideIt();
  void aPickStaysByRoleAcrossSteps();
  void saysWhyThereIsNothing();
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
  void aRecordThatWasNeverFetchedHasNoTensorOfAnother();
  void aChosenTensorStaysWhereTheCursorsRecordIsMissing();
  void aPickedTensorIsWhatTheCursorsRecordMakesOrReads();
  void aPickBeforeItsRecordIsHereIsShownInItsPlace();
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

void TestTensor::showsTheOutputOfTheCursorsRecord() {
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

void TestTensor::showsTheFirstInputAtTheFirstStop() {
  Bench bench("op square(x:2x2) -> y:2x2\nop square(y) -> pending");
  bench.start();
  bench.source.stopAtNewest("cell start");
  QTRY_COMPARE(bench.session.cursor(), 2u);
  QTRY_VERIFY(bench.model.chips().size() == 3 && bench.model.chips()[0].role == TensorRole::justRan);
  QCOMPARE(bench.model.chips()[static_cast<std::size_t>(bench.model.currentChip())].role, TensorRole::input);
}

void TestTensor::showsWhatJustRanAfterAStep() {
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

void TestTensor::whatJustRanIsTheVjpNotTheOpsInsideIt() {
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

void TestTensor::aPickStaysByRoleAcrossSteps() {
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

void TestTensor::saysWhyThereIsNothing() {
  Bench bench("op square(x:2x2) -> pending\n");
  bench.start();
  bench.source.stopAtNewest();
  QTRY_COMPARE(bench.model.chips().size(), 2u);
  bench.model.selectChip(1);
  QCOMPARE(bench.model.tensor(), nullptr);
  QCOMPARE(bench.model.problem(), QStringLiteral("Not made yet: square waits at the gate."));
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
  QTest::qWait(10);
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
    protocol::Reply reply = countingTensor(request, {2, 2});
    if (auto* tile = std::get_if<protocol::Tile>(&reply)) tile->values.resize(3);
    return reply;
  };
  bench.start();
  QTRY_COMPARE(bench.model.problem(), QStringLiteral("The session's answer does not fit: 3 values for 2×2."));
  QVERIFY(!bench.model.tile());
  Bench wrong("op f(x) -> y:2x2", {2, 2});
  wrong.source.tensors = [](const protocol::Request&) { return protocol::Reply(protocol::Series{}); };
  wrong.start();
  QTRY_COMPARE(wrong.model.problem(), QStringLiteral("The session's answer does not fit: series."));
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

void TestTensor::aRecordThatWasNeverFetchedHasNoTensorOfAnother() {
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

void TestTensor::aChosenTensorStaysWhereTheCursorsRecordIsMissing() {
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

void TestTensor::aPickedTensorIsWhatTheCursorsRecordMakesOrReads() {
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
  // It stays while the cursor moves over records that read it.
  bench.session.setCursor(2);
  QTRY_COMPARE(bench.model.chips().size(), 3u);
  QCOMPARE(shown().role, TensorRole::chosen);
}

void TestTensor::aPickBeforeItsRecordIsHereIsShownInItsPlace() {
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
    if (std::holds_alternative<protocol::GetTile>(asked.message)) id = asked.id;
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

QTEST_GUILESS_MAIN(TestTensor)
#include "tst_tensor_model.moc"
