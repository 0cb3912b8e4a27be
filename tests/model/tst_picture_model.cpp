// Histograms and images of the plots: pulling them, restarting them, their bounds, and what is refused.
#include <QSignalSpy>
#include <QTest>
#include <cmath>
#include <functional>
#include <limits>

#include "inspector/model/runs/picture_model.h"
#include "tests/model/fake_source.h"
#include "tests/test_program.h"

using namespace tapedeck;
using inspector::PictureModel;
using inspector::Session;

namespace {

protocol::Picture histogram(const char* name, double step) {
  protocol::Picture picture;
  picture.name = name;
  picture.step = step;
  picture.record = 5;
  picture.limits = {0, 1, 2};
  picture.counts = {3, 4};
  return picture;
}
protocol::Picture images(const char* name, double step, int bytes = 30) {
  protocol::Picture picture;
  picture.name = name;
  picture.step = step;
  picture.record = 6;
  picture.width = 4;
  picture.height = 3;
  picture.pngs = {QByteArray(bytes, 'x').toBase64().toStdString(), "eQ=="};
  return picture;
}

/// Numbers them as a session does that has them under one name.
void put(test::FakeSource& source, std::vector<protocol::Picture> pictures) {
  for (protocol::Picture& picture : pictures) {
    picture.number = source.pictures.size();
    source.pictures.push_back(picture);
  }
  source.status.pictures = source.pictures.size();
  source.sendStatus();
}

std::vector<double> stepsOf(const PictureModel& model, const char* name) {
  std::vector<double> steps;
  for (const auto& one : model.images(name)) steps.push_back(one->step);
  return steps;
}

}  // namespace

class TestPictureModel : public QObject {
  Q_OBJECT

  using Damage = std::function<void(protocol::Picture&)>;
  struct Row {
    const char* name;
    protocol::Picture picture;
    Damage damage;
    QString problem;
  };
  static std::vector<Row> damaged() {
    const double nan = std::nan(""), infinity = std::numeric_limits<double>::infinity();
    const auto bars = histogram("a", 3), pixels = images("a", 3);
    return {
        {"too few limits", bars, [](auto& p) { p.limits = {1}; }, "1 limits for 2 counts"},
        {"limits alone", bars, [](auto& p) { p.counts = {}; }, "3 limits for 0 counts"},
        {"falling", bars, [](auto& p) { p.limits[2] = 0.5; }, "limit 2 is 0.5; limits must rise"},
        {"no number", bars, [=](auto& p) { p.limits[1] = nan; }, "limit 1 is nan; limits must rise"},
        {"endless", bars, [=](auto& p) { p.limits[2] = infinity; }, "limit 2 is inf; limits must rise"},
        {"too wide", bars,
         [](auto& p) {
           p.limits = {-1.5e308, 0, 1.5e308};
         },
         "too far apart"},
        {"negative count", bars, [](auto& p) { p.counts[1] = -3; }, "count 1 is -3"},
        {"endless count", bars, [=](auto& p) { p.counts[0] = infinity; }, "count 0 is inf"},
        {"nothing", bars, [](auto& p) { p.limits = p.counts = {}; }, "it is empty"},
        {"no step", bars, [=](auto& p) { p.step = nan; }, "its step is not a number"},
        {"number", bars, [](auto& p) { p.number = ~std::uint64_t{0}; }, "its number is 18446744073709551615"},
        {"no pixels", pixels, [](auto& p) { p.height = 0; }, "its images have 4×0 pixels"},
        {"negative", pixels, [](auto& p) { p.width = -4; }, "its images have -4×3 pixels"},
        {"huge", pixels, [](auto& p) { p.width = 1 << 30; }, "its images have 1073741824×3 pixels"},
        {"both", pixels, [](auto& p) { p.counts = {1}; }, "it is both a histogram and images"},
    };
  }

 private slots:
  void pullsWhatIsNew() {
    test::FakeSource source;
    Session session;
    PictureModel model(&session);
    QVERIFY(model.isEmpty());
    session.setSource(&source);
    put(source, {histogram("h", 1), images("i", 1), histogram("h", 2)});
    QTRY_COMPARE(model.histograms("h").size(), 2u);
    QVERIFY(!model.isEmpty());
    QCOMPARE(model.histogramNames(), QStringList{"h"});
    QCOMPARE(model.imageNames(), QStringList{"i"});
    QCOMPARE(model.histograms("h")[1]->step, 2.0);
    QCOMPARE(model.histograms("h")[1]->record, 5u);
    QCOMPARE(model.histograms("h")[1]->number, 2u);
    QCOMPARE(model.images("i")[0]->size, QSize(4, 3));
    QCOMPARE(model.images("i")[0]->pngs, (std::vector<QByteArray>{QByteArray(30, 'x'), "y"}));
    put(source, {images("i", 2)});
    QTRY_COMPARE(model.images("i").size(), 2u);
    QCOMPARE(source.askedFor<protocol::GetPictures>().back().first, 3u);
    QVERIFY(model.images("unknown").empty());
  }

  void aRestartedNameIsEmptied() {
    test::FakeSource source;
    Session session;
    PictureModel model(&session);
    session.setSource(&source);
    put(source, {histogram("h", 1), images("i", 1)});
    QTRY_COMPARE(model.histograms("h").size(), 1u);
    source.restarted = {"h"};
    put(source, {histogram("h", 7)});
    QTRY_COMPARE(model.histograms("h").at(0)->step, 7.0);
    QCOMPARE(model.histograms("h").size(), 1u);
    QCOMPARE(model.images("i").size(), 1u);
  }

  void aHistogramWithoutFiniteValuesIsOne() {
    test::FakeSource source;
    Session session;
    PictureModel model(&session);
    session.setSource(&source);
    protocol::Picture picture = histogram("h", 1);
    picture.limits = picture.counts = {};
    picture.not_finite = 7;
    put(source, {picture});
    QTRY_COMPARE(model.histograms("h").size(), 1u);
    QCOMPARE(model.histograms("h")[0]->notFinite, 7u);
  }

  void whatIsDamagedIsRefusedWithASentence_data() {
    QTest::addColumn<int>("row");
    for (int i = 0; i < static_cast<int>(damaged().size()); ++i)
      QTest::newRow(damaged()[static_cast<std::size_t>(i)].name) << i;
  }
  void whatIsDamagedIsRefusedWithASentence() {
    QFETCH(int, row);
    const Row wanted = damaged()[static_cast<std::size_t>(row)];
    test::FakeSource source;
    Session session;
    PictureModel model(&session);
    QSignalSpy refused(&model, &PictureModel::refused);
    session.setSource(&source);
    put(source, {wanted.picture, histogram("whole", 1)});
    wanted.damage(source.pictures[0]);
    QTRY_COMPARE(model.histograms("whole").size(), 1u);
    QCOMPARE(refused.size(), 1);
    const QString sentence = refused[0][0].toString();
    QVERIFY2(sentence.startsWith("The session sent a picture \"a\" at step "), qPrintable(sentence));
    QVERIFY2(sentence.contains(wanted.problem), qPrintable(sentence));
    QVERIFY(model.histogramNames() == QStringList{"whole"} && model.imageNames().isEmpty());
  }

  void numbersThatDoNotRiseAreRefused() {
    test::FakeSource source;
    Session session;
    PictureModel model(&session, nullptr, 3000);
    QSignalSpy refused(&model, &PictureModel::refused);
    session.setSource(&source);
    put(source, std::vector<protocol::Picture>(20, images("i", 1, 500)));
    for (protocol::Picture& picture : source.pictures) picture.number = 4;
    QTRY_COMPARE(refused.size(), 1);
    QVERIFY(refused[0][0].toString().contains("its number 4 is not above 4"));
    QCOMPARE(model.images("i").size(), 1u);
  }

  void whereThereIsNoRoomTheyThinOutEvenlyAndTheFirstAndNewestStay() {
    test::FakeSource source;
    Session session;
    PictureModel model(&session, nullptr, 20'000);
    session.setSource(&source);
    std::vector<protocol::Picture> many{images("small", 0)};
    for (int step = 1; step <= 200; ++step) many.push_back(images("i", step, 1000));
    put(source, many);
    QTRY_VERIFY(!model.images("i").empty());
    const std::vector<double> steps = stepsOf(model, "i");
    QVERIFY2(steps.size() >= 8 && steps.size() <= 20, qPrintable(QString::number(steps.size())));
    QCOMPARE(steps.front(), 1.0);
    QCOMPARE(steps.back(), 200.0);
    for (std::size_t i = 1; i + 1 < steps.size(); ++i) QCOMPARE(steps[i] - steps[i - 1], 16.0);
    QCOMPARE(model.images("small").size(), 1u);
  }

  void namesWithoutEndAreBounded() {
    test::FakeSource source;
    Session session;
    PictureModel model(&session, nullptr, 20'000);
    session.setSource(&source);
    std::vector<protocol::Picture> many;
    for (int i = 0; i < 300; ++i) many.push_back(images(qPrintable(QString("i%1").arg(i)), 0, 1000));
    put(source, many);
    QTRY_VERIFY(!model.images("i299").empty());
    QVERIFY(model.imageNames().size() < 20);
    QVERIFY(model.images("i0").empty());
  }

  void aSessionThatEndsKeepsThemAndANewOneStartsWithNone() {
    test::FakeSource source, other;
    Session session;
    PictureModel model(&session);
    session.setSource(&source);
    put(source, {histogram("h", 1)});
    QTRY_COMPARE(model.histograms("h").size(), 1u);
    QSignalSpy refused(&model, &PictureModel::refused);
    source.automatic = false;
    put(source, {histogram("h", 2)});
    session.setSource(nullptr);  // while it is asked
    QCoreApplication::processEvents();
    QCOMPARE(model.histograms("h").size(), 1u);
    QCOMPARE(refused.size(), 0);
    session.setSource(&other);
    QTRY_VERIFY(model.isEmpty());
  }
};

TAPEDECK_TEST(TestPictureModel)
#include "tst_picture_model.moc"
