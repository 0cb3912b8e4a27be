// Curves: pulling them, restarting them, and fewer points for the same picture.
#include <QSignalSpy>
#include <QTest>
#include <cmath>

#include "inspector/model/runs/decimate.h"
#include "inspector/model/runs/series_model.h"
#include "tests/model/fake_source.h"
#include "tests/test_program.h"

using namespace tapedeck;
using inspector::decimate;
using inspector::SeriesModel;
using inspector::Session;

class TestSeries : public QObject {
  Q_OBJECT
 private slots:
  void pullsNewPointsOnly();
  void clearsASeriesWhoseCellRanAgain();
  void cellsThatUseOneNameHaveACurveEach();
  void findsThePointOfARecord();
  void keepsThePointsWhenTheSessionDies();
  void doesNotAskAgainForNothing();
  void decimationKeepsSpikesAndGaps();
  void decimationKeepsFewPointsWhole();
  void decimationIsBoundedAndAscending();
  void decimationShowsThePointsBesideTheRange();
};

void TestSeries::pullsNewPointsOnly() {
  test::FakeSource source;
  Session session;
  SeriesModel model(&session);
  session.setSource(&source);
  QTRY_COMPARE(source.asked.size(), 1u);
  for (int i = 0; i < 25'000; ++i)
    source.points.push_back(
        {i % 2 ? "loss" : "accuracy", static_cast<double>(i / 2), 1.0 / (i + 1), 10u + i});
  source.status.series_points = source.points.size();
  QSignalSpy names(&model, &SeriesModel::namesChanged), changed(&model, &SeriesModel::seriesChanged);
  source.sendStatus();
  QTRY_VERIFY(model.series("loss") && model.series("loss")->size() == 12'500);
  QCOMPARE(model.names(), (QStringList{"accuracy", "loss"}));
  QCOMPARE(names.size(), 1);
  const auto asked = source.askedFor<protocol::GetSeries>();
  QCOMPARE(asked.size(), 3u);
  QCOMPARE(asked[2].first, 20'000u);
  QCOMPARE(model.series("loss")->steps[3], 3.0);
  QCOMPARE(model.series("loss")->records[0], 11u);
  QVERIFY(model.series("loss")->ascending);
  changed.clear();
  source.points.push_back({"loss", 0.0, 3.0, 99'999});
  source.status.series_points = source.points.size();
  source.sendStatus();
  QTRY_COMPARE(changed.size(), 1);
  QCOMPARE(changed[0][0].toString(), QStringLiteral("loss"));
  QVERIFY(!model.series("loss")->ascending);
}

void TestSeries::clearsASeriesWhoseCellRanAgain() {
  test::FakeSource source;
  source.automatic = false;
  Session session;
  SeriesModel model(&session);
  session.setSource(&source);
  source.answerAll();
  source.status.series_points = 2;
  source.sendStatus();
  protocol::Series first;
  first.next = 2;
  first.points = {{"loss", 0, 5, 1}, {"other", 0, 6, 2}};
  emit source.received(source.waiting.back().id, first);
  source.status.series_points = 3;
  source.sendStatus();
  protocol::Series again;
  again.next = 3;
  again.restarted = {"loss", "never seen"};
  again.points = {{"loss", 0, 7, 3}};
  emit source.received(source.waiting.back().id, again);
  QCOMPARE(model.series("loss")->values, std::vector<double>{7});
  QCOMPARE(model.series("loss")->anew, 1u);
  QCOMPARE(model.series("loss")->replaced, 1u);
  QCOMPARE(model.series("other")->anew, 0u);
  QCOMPARE(model.series("other")->values, std::vector<double>{6});
  QCOMPARE(model.names(), (QStringList{"loss", "other"}));
  // What had begun anew before one looked is known without its points.
  source.status.series_points = 4;
  source.sendStatus();
  protocol::Series late;
  late.next = 4;
  late.points = {{"never seen", 0, 8, 4}};
  emit source.received(source.waiting.back().id, late);
  QCOMPARE(model.series("never seen")->anew, 1u);
  QCOMPARE(model.series("never seen")->replaced, 0u);
}

void TestSeries::cellsThatUseOneNameHaveACurveEach() {
  test::FakeSource source;
  source.automatic = false;
  Session session;
  SeriesModel model(&session);
  session.setSource(&source);
  source.answerAll();
  source.status.series_points = 1;
  source.sendStatus();
  const std::string one = protocol::drawn_key("loss", "a"), two = protocol::drawn_key("loss", "b");
  protocol::Series first;
  first.next = 1;
  first.points = {{one, 0, 5, 1}};
  first.curves = {{one, "loss", "a", 3, "step"}};
  emit source.received(source.waiting.back().id, first);
  QCOMPARE(model.names(), (QStringList{"loss"}));
  QCOMPARE(model.series("loss")->title(), QString("loss"));
  source.status.series_points = 3;
  source.sendStatus();
  QSignalSpy names(&model, &SeriesModel::namesChanged);
  protocol::Series second;
  second.next = 3;
  second.points = {{two, 0, 6, 2}, {"along", 0.5, 7, 2}};
  second.curves = {{two, "loss", "b", 4, "step"}, {"along", "along", "", 0, "distance"}};
  emit source.received(source.waiting.back().id, second);
  QCOMPARE(names.size(), 1);
  QCOMPARE(model.names().size(), 3);
  QCOMPARE(model.series("loss")->values, std::vector<double>{5});
  QCOMPARE(model.series("loss")->title(), QString("loss, cell [3]"));
  QCOMPARE(model.series(model.names()[1])->title(), QString("loss, cell [4]"));
  QCOMPARE(model.series("along")->title(), QString("along"));
  QCOMPARE(model.axes(), (QStringList{"step", "distance"}));
  // Cell a runs again and no longer draws it: the other one is alone.
  source.status.series_points = 4;
  source.sendStatus();
  protocol::Series third;
  third.next = 4;
  third.restarted = {one};
  emit source.received(source.waiting.back().id, third);
  QCOMPARE(model.series("loss")->size(), 0u);
  QCOMPARE(model.series(model.names()[1])->title(), QString("loss"));
}

void TestSeries::findsThePointOfARecord() {
  inspector::SeriesData data;
  data.records = {10, 20, 20, 30};
  QCOMPARE(SeriesModel::pointAt(data, 5), -1);
  QCOMPARE(SeriesModel::pointAt(data, 10), 0);
  QCOMPARE(SeriesModel::pointAt(data, 25), 2);
  QCOMPARE(SeriesModel::pointAt(data, 99), 3);
}

void TestSeries::keepsThePointsWhenTheSessionDies() {
  test::FakeSource source;
  Session session;
  SeriesModel model(&session);
  session.setSource(&source);
  source.points = {{"loss", 0, 5, 1}};
  source.status.series_points = 1;
  source.sendStatus();
  QTRY_VERIFY(model.series("loss"));
  source.setUp(false);
  QCOMPARE(model.series("loss")->size(), 1u);
  test::FakeSource other;
  session.setSource(&other);
  QCOMPARE(model.series("loss"), nullptr);
}

void TestSeries::doesNotAskAgainForNothing() {
  test::FakeSource source;
  Session session;
  SeriesModel model(&session);
  session.setSource(&source);
  source.status.series_points = 5;  // but it has none to give
  source.sendStatus();
  nothingMayHappenFor(30);
  QVERIFY(source.askedFor<protocol::GetSeries>().size() <= 3);
}

void TestSeries::decimationKeepsSpikesAndGaps() {
  std::vector<double> steps, values;
  for (int i = 0; i < 1'000'000; ++i) {
    steps.push_back(i);
    values.push_back(std::sin(i * 1e-4));
  }
  values[123'456] = 50;
  values[654'321] = -50;
  values[777'777] = std::nan("");
  values[888'888] = std::numeric_limits<double>::infinity();
  const auto kept = decimate(steps, values, 0, 999'999, 500);
  for (std::size_t index : {123'456u, 654'321u, 777'777u, 888'888u, 0u, 999'999u})
    QVERIFY2(std::find(kept.begin(), kept.end(), index) != kept.end(), qPrintable(QString::number(index)));
  QVERIFY(kept.size() <= 500 * 5 + 2);
}

void TestSeries::decimationKeepsFewPointsWhole() {
  const std::vector<double> steps{0, 1, 2, 3}, values{1, NAN, 2, 3};
  QCOMPARE(decimate(steps, values, 0, 3, 100), (std::vector<std::size_t>{0, 1, 2, 3}));
  QVERIFY(decimate({}, {}, 0, 1, 100).empty());
  QVERIFY(decimate(steps, values, 3, 0, 100).empty());
  QVERIFY(decimate(steps, values, 0, 3, 0).empty());
  // All at one step: no width to divide by.
  const std::vector<double> same(1000, 4.0);
  QVERIFY(!decimate(same, same, 4, 4, 10).empty());
}

void TestSeries::decimationIsBoundedAndAscending() {
  std::vector<double> steps, values;
  for (int i = 0; i < 100'000; ++i) {
    steps.push_back(i);
    values.push_back(i % 3 == 0 ? std::nan("") : (i * 7919) % 1000);
  }
  const auto kept = decimate(steps, values, 10'000, 90'000, 100);
  QVERIFY(kept.size() <= 100 * 5 + 2);
  QVERIFY(std::is_sorted(kept.begin(), kept.end()));
  QVERIFY(std::adjacent_find(kept.begin(), kept.end()) == kept.end());
}

void TestSeries::decimationShowsThePointsBesideTheRange() {
  const std::vector<double> steps{0, 10, 20, 30}, values{0, 1, 2, 3};
  QCOMPARE(decimate(steps, values, 12, 18, 100), (std::vector<std::size_t>{1, 2}));
  QCOMPARE(decimate(steps, values, 10, 20, 100), (std::vector<std::size_t>{0, 1, 2, 3}));
}

TAPEDECK_TEST(TestSeries)
#include "tst_series.moc"
