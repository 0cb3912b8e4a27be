// The plots panel in a real window: curves, legend, axes, cursor, zoom.
#include <QImage>
#include <QSignalSpy>
#include <QTest>
#include <QtCharts>
#include <QtWidgets>
#include <cmath>

#include "tests/plots/plots_window.h"
#include "tests/test_program.h"

using namespace tapedeck;
using inspector::SeriesModel;
using inspector::Session;
using plots::PlotsView;
using test::falling;
using test::keep;
using test::rising;

namespace {

QPalette darkPlotsPalette() {
  QPalette palette(QColor(0x2b, 0x2b, 0x2f));
  palette.setColor(QPalette::Base, QColor(0x1e, 0x1e, 0x22));
  palette.setColor(QPalette::Text, QColor(0xe6, 0xe6, 0xe6));
  palette.setColor(QPalette::WindowText, QColor(0xe6, 0xe6, 0xe6));
  palette.setColor(QPalette::ButtonText, QColor(0xe6, 0xe6, 0xe6));
  palette.setColor(QPalette::Highlight, QColor(0x4a, 0x8c, 0xff));
  return palette;
}

}  // namespace

class TestPlotsView : public QObject {
  Q_OBJECT
 private slots:
  void saysHowToGetCurves();
  void drawsWhatArrives();
  void aClickOnTheLegendHidesACurve();
  void theLogAxisShowsGapsAndSaysSo();
  void aClickOnAPointMovesTheCursor();
  void theCursorMovesTheLine();
  void arrowKeysStepFromPointToPoint();
  void theWheelZoomsAndHomeFits();
  void draggingZoomsToTheBand();
  void hoveringReadsValues();
  void marksValuesThatAreLost();
  void aRunThatBeginsAgainIsALineOfItsOwn();
  void pointsThatStandApartHaveMarkersAndOthersNone();
  void threeValuesStandBesideTheAxis_data();
  void threeValuesStandBesideTheAxis();
  void drawsAMillionPointsAsFew();
  void followsThePalette();
  void startsOverWithTheSession();
};

void TestPlotsView::saysHowToGetCurves() {
  test::PlotsWindow window;
  window.show({500, 250});
  auto* stack = window.view.findChild<QStackedWidget*>();
  auto* label = qobject_cast<QLabel*>(stack->currentWidget());
  QVERIFY(label && label->isVisible());
  QVERIFY(label->text().contains("tf.summary.scalar"));
  keep(&window.view, "plots_empty");
  QSignalSpy failed(&window.view, &PlotsView::failed);
  window.view.exportTo("/nowhere/x.svg");
  QCOMPARE(failed.value(0).value(0).toString(), QStringLiteral("There is no curve to write."));
}

void TestPlotsView::drawsWhatArrives() {
  test::PlotsWindow window;
  window.show();
  window.add("loss", 50, falling);
  window.add("accuracy", 50, rising);
  QCOMPARE(window.view.chart()->curves().size(), 2u);
  QCOMPARE(window.view.chart()->curves()[0].runs.size(), 1u);
  QCOMPARE(window.view.chart()->curves()[0].runs[0].size(), 50u);
  QCOMPARE(window.view.chart()->stepsShown(), (plots::Range{0, 49}));
  keep(&window.view, "plots_light");
  // The curve is where its values are: its colour is at a point of it, and not above it.
  const QImage image = window.viewport()->grab().toImage();
  const QColor ink = plots::curveColor(window.view.chart()->theme(), 0);
  const auto isInked = [&](QPoint at) {
    for (int dx = -3; dx <= 3; ++dx)
      for (int dy = -3; dy <= 3; ++dy) {
        const QColor pixel = image.pixelColor(at + QPoint(dx, dy));
        if (std::abs(pixel.red() - ink.red()) + std::abs(pixel.green() - ink.green()) +
                std::abs(pixel.blue() - ink.blue()) <
            60)
          return true;
      }
    return false;
  };
  QVERIFY(isInked(window.at(1, falling(1))));
  QVERIFY(!isInked(window.at(20, 1.2)));
}

void TestPlotsView::aClickOnTheLegendHidesACurve() {
  test::PlotsWindow window;
  window.show();
  window.add("loss", 20, falling);
  window.add("accuracy", 20, rising);
  auto* marker = window.view.chart()->legend()->markers().at(1);
  QGraphicsItem* item = nullptr;
  for (QGraphicsItem* child : window.view.chart()->legend()->childItems())
    for (QGraphicsItem* one : QList<QGraphicsItem*>{child} + child->childItems())
      if (auto* object = one->toGraphicsObject(); object && object->parent() == marker) item = one;
  const QPointF center = item ? item->mapToScene(item->boundingRect().center())
                              : window.view.chart()->legend()->mapToScene(
                                    window.view.chart()->legend()->rect().center() + QPointF(40, 0));
  const QPoint place = window.view.canvas()->mapFromScene(center);
  QTest::mouseClick(window.viewport(), Qt::LeftButton, {}, place);
  QTRY_VERIFY(!window.view.seriesVisible("accuracy"));
  QVERIFY(window.view.seriesVisible("loss"));
  window.settle();
  QVERIFY(window.view.chart()->curves()[1].runs.empty());
  keep(&window.view, "plots_hidden");
  QTest::mouseClick(window.viewport(), Qt::LeftButton, {}, place);
  QTRY_VERIFY(window.view.seriesVisible("accuracy"));
}

void TestPlotsView::theLogAxisShowsGapsAndSaysSo() {
  test::PlotsWindow window;
  window.show();
  window.add("loss", 40, [](int i) {
    return i == 20 || i == 21 ? 0.0 : i == 30 ? -1.0 : std::exp(-0.5 * i);
  });
  window.view.canvas()->setFocus();
  QTest::keyClick(window.view.canvas(), Qt::Key_L);
  QVERIFY(window.view.chart()->logarithmic());
  window.settle();
  const auto& curve = window.view.chart()->curves()[0];
  QCOMPARE(curve.runs.size(), 3u);
  QCOMPARE(curve.runs[0].size(), 20u);
  QCOMPARE(curve.runs[1].size(), 8u);
  QVERIFY(std::abs(curve.runs[0][4].y() - std::log10(std::exp(-2.0))) < 1e-12);
  QCOMPARE(window.view.chart()->notice(),
           QStringLiteral("3 of 40 points of “loss” are ≤ 0: a log axis can't show them."));
  keep(&window.view, "plots_log");
  QTest::keyClick(window.view.canvas(), Qt::Key_L);
  window.settle();
  QVERIFY(!window.view.chart()->logarithmic());
  QCOMPARE(window.view.chart()->notice(), QString());
}

void TestPlotsView::aClickOnAPointMovesTheCursor() {
  test::PlotsWindow window;
  window.show();
  window.add("loss", 30, falling);
  QTest::mouseClick(window.viewport(), Qt::LeftButton, {}, window.at(10, falling(10)));
  QCOMPARE(window.session.cursor(), 110u);
  QVERIFY(!window.session.following());
  // Far from any point nothing happens.
  QTest::mouseClick(window.viewport(), Qt::LeftButton, {}, window.at(20, 1.8));
  QCOMPARE(window.session.cursor(), 110u);
}

void TestPlotsView::theCursorMovesTheLine() {
  test::PlotsWindow window;
  window.show();
  window.add("loss", 30, falling);
  window.session.setCursor(55);
  window.settle();
  QCOMPARE(window.view.chart()->cursorStep(), std::optional<double>(4));
  window.session.setCursor(3);  // before any point was made
  window.settle();
  QCOMPARE(window.view.chart()->cursorStep(), std::nullopt);
}

void TestPlotsView::arrowKeysStepFromPointToPoint() {
  test::PlotsWindow window;
  window.show();
  window.add("loss", 30, falling);
  window.session.setCursor(105);
  QTest::keyClick(window.view.canvas(), Qt::Key_Left);
  QCOMPARE(window.session.cursor(), 90u);
  QTest::keyClick(window.view.canvas(), Qt::Key_Right);
  QTest::keyClick(window.view.canvas(), Qt::Key_Right);
  QCOMPARE(window.session.cursor(), 110u);
}

void TestPlotsView::theWheelZoomsAndHomeFits() {
  test::PlotsWindow window;
  window.show();
  window.add("loss", 100, falling);
  const QPoint place = window.at(50, 1);
  QWheelEvent wheel(place, window.viewport()->mapToGlobal(place), {}, {0, 240}, Qt::NoButton, Qt::NoModifier,
                    Qt::NoScrollPhase, false);
  QApplication::sendEvent(window.viewport(), &wheel);
  window.settle();
  const plots::Range zoomed = window.view.chart()->stepsShown();
  QVERIFY(std::abs(zoomed.width() - 99 / 1.5625) < 1e-6);
  QVERIFY(zoomed.from < 50 && zoomed.to > 50);
  QTest::keyClick(window.view.canvas(), Qt::Key_Home);
  window.settle();
  QVERIFY(!window.view.chart()->zoomed());
  QCOMPARE(window.view.chart()->stepsShown(), (plots::Range{0, 99}));
  QTest::keyClick(window.view.canvas(), Qt::Key_Plus);
  window.settle();
  QVERIFY(window.view.chart()->zoomed());
  QTest::mouseDClick(window.viewport(), Qt::LeftButton, {}, window.at(50, 1));
  window.settle();
  QVERIFY(!window.view.chart()->zoomed());
}

void TestPlotsView::draggingZoomsToTheBand() {
  test::PlotsWindow window;
  window.show();
  window.add("loss", 100, falling);
  const quint64 before = window.session.cursor();
  const QPoint from = window.at(20, 1.5), to = window.at(60, 0.5);
  QTest::mousePress(window.viewport(), Qt::LeftButton, {}, from);
  QTest::mouseMove(window.viewport(), (from + to) / 2);
  QTest::mouseMove(window.viewport(), to);
  QTest::mouseRelease(window.viewport(), Qt::LeftButton, {}, to);
  window.settle();
  const plots::Range steps = window.view.chart()->stepsShown(), y = window.view.chart()->yShown();
  QVERIFY2(std::abs(steps.from - 20) < 0.5 && std::abs(steps.to - 60) < 0.5,
           qPrintable(QString::number(steps.from)));
  QVERIFY(std::abs(y.from - 0.5) < 0.05 && std::abs(y.to - 1.5) < 0.05);
  QCOMPARE(window.session.cursor(), before);
  keep(&window.view, "plots_zoomed");
}

void TestPlotsView::hoveringReadsValues() {
  test::PlotsWindow window;
  window.show();
  window.add("loss", 50, falling);
  window.add("accuracy", 50, rising);
  QTest::mouseMove(window.viewport(), window.at(3.1, 1));
  window.settle();
  QCOMPARE(window.view.chart()->hoverText(), QStringLiteral("step 3\nloss: 0.50\naccuracy: 0.03"));
  keep(&window.view, "plots_hover");
}

void TestPlotsView::marksValuesThatAreLost() {
  test::PlotsWindow window;
  window.show();
  window.add("loss", 30, [](int i) {
    return i == 10 ? std::nan("") : i == 15 ? INFINITY : i == 20 ? -INFINITY : std::sin(0.3 * i);
  });
  const auto& curve = window.view.chart()->curves()[0];
  QCOMPARE(curve.lost.size(), 3u);
  QCOMPARE(curve.lost[0].kind, plots::LostKind::nan);
  QCOMPARE(curve.lost[1].kind, plots::LostKind::positiveInfinity);
  QCOMPARE(curve.lost[2].kind, plots::LostKind::negativeInfinity);
  QCOMPARE(curve.runs.size(), 4u);
  keep(&window.view, "plots_lost");
  // Nothing but lost values still makes a picture.
  test::PlotsWindow empty;
  empty.show();
  empty.add("nothing", 5, [](int) { return std::nan(""); });
  QCOMPARE(empty.view.chart()->curves()[0].lost.size(), 5u);
  // The newest is on the plot's edge, and is as complete there as the others.
  const QImage picture = empty.viewport()->grab().toImage();
  const auto inked = [&](double step) {
    const QPoint right = empty.at(step, empty.view.chart()->yShown().from) + QPoint(1, -13);
    int count = 0;
    for (int x = 0; x < 5; ++x)
      for (int y = 0; y < 10; ++y) {
        const QColor color = picture.pixelColor(right + QPoint(x, y));
        count += color.red() > color.blue() + 60 ? 1 : 0;
      }
    return count;
  };
  QVERIFY(inked(2) > 8);
  QVERIFY2(2 * inked(4) > inked(2), qPrintable(QString::number(inked(4))));
}

// A marker here and there on a curve of many points read as if it were the data.
// A cell that ran before logs its curve again under the same name, or goes on from a checkpoint.
void TestPlotsView::aRunThatBeginsAgainIsALineOfItsOwn() {
  test::PlotsWindow window;
  window.show();
  window.add("loss", 50, falling);
  window.add("loss", 30, rising);
  const auto& curve = window.view.chart()->curves()[0];
  QCOMPARE(curve.runs.size(), 2u);
  QCOMPARE(curve.runs[0].size(), 50u);
  QCOMPARE(curve.runs[1].size(), 30u);
  keep(&window.view, "plots_two_runs");
  // What counts down is one line.
  inspector::SeriesData down;
  for (int i = 0; i < 20; ++i) {
    down.steps.push_back(20 - i);
    down.values.push_back(i);
    down.records.push_back(1);
  }
  down.ascending = false;
  QCOMPARE(plots::makeCurve(down, {0, 20}, 800, false).runs.size(), 1u);
}

void TestPlotsView::pointsThatStandApartHaveMarkersAndOthersNone() {
  test::PlotsWindow window;
  window.show();
  window.add("loss", 200, [](int) { return 1.0; });
  window.session.setCursor(1);  // no cursor's ring
  window.settle();
  /// How tall the curve is at a place between two pixels of it.
  const auto tallest = [&](double from, double to) {
    const QImage image = window.viewport()->grab().toImage();
    const QColor ink = plots::curveColor(window.view.chart()->theme(), 0);
    int most = 0;
    for (int x = window.at(from, 1).x(); x <= window.at(to, 1).x(); ++x) {
      int inked = 0;
      for (int y = window.at(from, 1).y() - 12; y <= window.at(from, 1).y() + 12; ++y)
        inked += std::abs(image.pixelColor(x, y).red() - ink.red()) < 40 &&
                 std::abs(image.pixelColor(x, y).green() - ink.green()) < 40;
      most = std::max(most, inked);
    }
    return most;
  };
  QVERIFY2(tallest(5, 195) <= 3, qPrintable(QString::number(tallest(5, 195))));
  QVERIFY(tallest(5, 195) >= 2);  // thick enough to be the data
  window.view.chart()->setZoom(plots::Range{95, 105}, std::nullopt);
  window.settle();
  for (int step = 96; step < 105; ++step) QVERIFY(tallest(step - 0.1, step + 0.1) >= 5);
  QVERIFY(tallest(99.3, 99.7) <= 3);
  keep(&window.view, "plots_markers");
}

void TestPlotsView::threeValuesStandBesideTheAxis_data() {
  QTest::addColumn<QSize>("size");
  QTest::addColumn<double>("first");
  QTest::addColumn<double>("last");
  QTest::addColumn<bool>("logarithmic");
  const struct {
    const char* name;
    double first, last;
  } rows[] = {{"loss", 2.31, 0.04},      {"constant", 0.5, 0.5},         {"zero", 0, 0},
              {"negative", -310, -2905}, {"tiny", 1.0000001, 1.0000009}, {"small", 1e-7, 4e-5}};
  for (const auto& row : rows)
    for (const QSize size : {QSize(420, 190), QSize(900, 520)})
      for (const bool logarithmic : {false, true})
        if (!logarithmic || row.last > 0)
          QTest::addRow("%s %d%s", row.name, size.width(), logarithmic ? " log" : "")
              << size << row.first << row.last << logarithmic;
}
void TestPlotsView::threeValuesStandBesideTheAxis() {
  QFETCH(QSize, size);
  QFETCH(double, first);
  QFETCH(double, last);
  QFETCH(bool, logarithmic);
  test::PlotsWindow window;
  window.show(size);
  for (int i = 0; i < 2; ++i)
    window.source.points.push_back({"loss", 1.0 * i, i ? last : first, static_cast<std::uint64_t>(i + 1)});
  window.source.status.series_points = 2;
  window.source.sendStatus();
  QTRY_VERIFY(window.model.series("loss"));
  window.view.setLogarithmic(logarithmic);
  window.settle();
  window.settle();
  keep(&window.view, QTest::currentDataTag());
  // What is painted left of the plot, not what was asked for: Qt hides labels that do not fit.
  const plots::PlotChart& chart = *window.view.chart();
  QList<QRectF> labels;
  for (QGraphicsItem* item : chart.scene()->items()) {
    auto* text = dynamic_cast<QGraphicsTextItem*>(item);
    if (!text || !text->isVisible() || text->toPlainText().isEmpty() || text->toPlainText() == "value")
      continue;
    const QRectF place = text->sceneBoundingRect();
    if (place.right() > chart.plotArea().left() + 2 || place.center().y() > chart.plotArea().bottom() + 4)
      continue;
    for (const QRectF& other : labels)
      QVERIFY(!other.adjusted(0, 4, 0, -4).intersects(place.adjusted(0, 4, 0, -4)));
    QVERIFY2(!text->toPlainText().contains("..."), qPrintable(text->toPlainText()));
    labels << place;
  }
  QVERIFY2(labels.size() >= 3, qPrintable(QString::number(labels.size())));
}

void TestPlotsView::drawsAMillionPointsAsFew() {
  inspector::SeriesData data;
  data.name = "long";
  for (int i = 0; i < 1'000'000; ++i) {
    data.steps.push_back(i);
    data.values.push_back(i == 654'321 ? 40 : std::sin(i * 1e-4));
    data.records.push_back(1);
  }
  const plots::Curve curve = plots::makeCurve(data, {0, 999'999}, 800, false);
  std::size_t drawn = 0;
  for (const auto& run : curve.runs) drawn += run.size();
  QVERIFY(drawn <= 4002);
  QCOMPARE(curve.points, 1'000'000u);
  QCOMPARE(curve.y->to, 40.0);
}

void TestPlotsView::followsThePalette() {
  test::PlotsWindow window;
  window.view.setPalette(darkPlotsPalette());
  window.show({500, 250});
  window.add("loss", 50, falling);
  window.add("accuracy", 50, rising);
  window.add("third", 50, [](int i) { return 0.5 + 0.3 * std::sin(0.3 * i); });
  QVERIFY(window.view.chart()->theme().dark);
  const QImage image = window.viewport()->grab().toImage();
  QVERIFY(image.pixelColor(1, 1).lightness() < 80);
  keep(&window.view, "plots_dark_small");
  window.view.resize(1400, 800);
  window.settle();
  keep(&window.view, "plots_dark_large");
  window.view.setPalette(QPalette(Qt::lightGray));
  QVERIFY(!window.view.chart()->theme().dark);
}

void TestPlotsView::startsOverWithTheSession() {
  test::PlotsWindow window;
  window.show();
  window.add("loss", 20, falling);
  test::FakeSource other(test::someRecords(3));
  window.session.setSource(&other);
  QTRY_COMPARE(window.session.cursor(), 3u);
  QVERIFY(window.model.names().isEmpty());
  QCOMPARE(window.view.findChild<QStackedWidget*>()->currentIndex(), 1);
  window.settle();
  QVERIFY(window.view.chart()->curves().empty());
  // The process ends: what was drawn stays.
  other.points = {{"loss", 0, 1, 1}, {"loss", 1, 2, 2}};
  other.status.series_points = 2;
  other.sendStatus();
  QTRY_VERIFY(window.model.series("loss"));
  other.setUp(false);
  window.settle();
  QCOMPARE(window.view.chart()->curves()[0].runs[0].size(), 2u);
}

TAPEDECK_TEST(TestPlotsView)
#include "tst_plots_view.moc"
