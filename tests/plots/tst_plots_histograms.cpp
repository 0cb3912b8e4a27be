// Histograms in the plots panel: ridges, overlay, heat map, read-outs, keys.
#include "plots/plot_style.h"
#include "tests/plots/pictures_window.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::test;
using plots::HistogramPlace;
using plots::PlotsPage;

class TestPlotsHistograms : public QObject {
  Q_OBJECT
 private slots:
  void ridgesStandWhereTheCountsAre() {
    PicturesWindow window;
    window.show();
    window.put(histograms(30));
    QCOMPARE(window.steps(), std::size_t{30});
    keep(&window.view, "histograms_light");
    const QImage image = window.ridges()->grab().toImage();
    const QColor ink = plots::curveColor(inspector::Theme::light(), 0);
    const QPointF top = window.ridges()->drawing().positionOf({29, 16});  // the newest one's greatest
    const auto inked = [&](QPointF at) {
      const QColor pixel = image.pixelColor((at * image.devicePixelRatio()).toPoint());
      return pixel.blue() - pixel.red() > 25 || std::abs(pixel.red() - ink.red()) < 40;
    };
    QVERIFY(inked(top + QPointF(0, 4)));
    // In front of the others: its own fill, not theirs, just below its line.
    const QColor fill = inspector::mix(inspector::Theme::light().background, ink, 0.5);
    QCOMPARE(image.pixelColor(((top + QPointF(0, 12)) * image.devicePixelRatio()).toPoint()), fill);
    window.view.setPalette(darkPalette());
    keep(&window.view, "histograms_dark");
  }

  void narrowOnesDoNotMakeTheOthersFlat() {
    PicturesWindow window;
    window.show();
    // All values in one place, then spread over the whole width.
    std::vector<double> limits, counts(30, 10);
    for (int i = 0; i <= 30; ++i) limits.push_back(-1 + i / 15.0);
    window.put({bars("bias", 0, {0, 1e-9}, {300}), bars("bias", 1, limits, counts)});
    const auto& drawing = window.ridges()->drawing();
    const double spread = drawing.area().bottom() - drawing.positionOf({1, 15}).y();
    QVERIFY2(spread > 3, qPrintable(QString::number(spread)));
    QTest::mouseMove(window.ridges(), (drawing.positionOf({0, 0}) + QPointF(0, 20)).toPoint());
    QTRY_COMPARE(window.ridges()->readOut(), QString("step 0 · 0 to 1.000e-09 · 300 of 300 values"));
  }

  void moreRidgesThanThereIsRoomForAreThinnedAndTheNewestStays() {
    PicturesWindow window;
    window.show({500, 260});
    window.put(histograms(400));
    QVERIFY(window.steps() > 20 && window.steps() < 80);
    QVERIFY2(window.ridges()->drawing().summary().startsWith("400 steps, one of "),
             qPrintable(window.ridges()->drawing().summary()));
    QCOMPARE(window.ridges()->drawing().shown().back().histogram->step, 399.0);
    keep(&window.view, "histograms_small");
  }

  void theMouseReadsABinAndAClickMovesTheCursor() {
    PicturesWindow window;
    window.show();
    window.put(histograms(5));
    const HistogramPlace wanted{4, 8};
    const QPointF top = window.ridges()->drawing().positionOf(wanted);
    QTest::mouseMove(window.ridges(), (top + QPointF(0, 3)).toPoint());
    QTRY_COMPARE(window.ridges()->place(), wanted);
    QCOMPARE(window.ridges()->readOut(), QStringLiteral("step 4 · -0.6 to -0.3 · 98 of 592 values"));
    QTest::mouseClick(window.ridges(), Qt::LeftButton, {}, (top + QPointF(0, 3)).toPoint());
    QCOMPARE(window.session.cursor(), 50u);
  }

  void arrowKeysGoToTheStepsBehindAndInFrontAndToTheBinsBeside() {
    PicturesWindow window;
    window.show();
    window.put(histograms(5));
    window.ridges()->setFocus();
    window.session.setCursor(50);
    QTest::keyClick(window.ridges(), Qt::Key_Right);
    QCOMPARE(window.ridges()->place(), (HistogramPlace{4, 9}));
    QTest::keyClick(window.ridges(), Qt::Key_Up);
    QTest::keyClick(window.ridges(), Qt::Key_Right);
    QCOMPARE(window.ridges()->place(), (HistogramPlace{3, 10}));
    QCOMPARE(window.session.cursor(), 40u);
    QCOMPARE(window.ridges()->accessibleDescription(), window.ridges()->readOut());
    QTest::keyClick(window.ridges(), Qt::Key_Down);
    QTest::keyClick(window.ridges(), Qt::Key_Down);
    QCOMPARE(window.ridges()->place().step, 4);
    window.put({bell("weights", 5)});  // what was chosen is chosen still
    QCOMPARE(window.ridges()->place(), (HistogramPlace{4, 10}));
  }

  void allStepsOnOneBaselineOrAsRows() {
    PicturesWindow window;
    window.show();
    window.put(histograms(12));
    window.view.setPage(PlotsPage::histograms);
    window.ridges()->setFocus();
    QTest::keyClick(window.ridges(), Qt::Key_O);
    const auto& drawing = window.ridges()->drawing();
    QCOMPARE(drawing.form(), plots::HistogramForm::overlay);
    keep(&window.view, "histograms_overlay");
    QCOMPARE(drawing.placeAt(drawing.positionOf({2, 4})), (HistogramPlace{2, 4}));
    QTest::keyClick(window.ridges(), Qt::Key_M);
    QCOMPARE(drawing.form(), plots::HistogramForm::heat);
    keep(&window.view, "histograms_heat");
    QCOMPARE(drawing.placeAt(drawing.positionOf({2, 4})), (HistogramPlace{2, 4}));
    const QImage image = window.ridges()->grab().toImage();
    const auto light = [&](HistogramPlace place) {
      return image.pixelColor((drawing.positionOf(place) * image.devicePixelRatio()).toPoint()).lightness();
    };
    QVERIFY(light({2, 7}) + 60 < light({2, 12}));  // the middle of the bell is darker than its side
    const auto column = static_cast<int>(drawing.positionOf({2, 7}).x() * image.devicePixelRatio());
    for (int y = static_cast<int>(drawing.positionOf({0, 7}).y()); y < drawing.positionOf({9, 7}).y(); ++y)
      QVERIFY2(image.pixelColor(column, y).lightness() < 200, qPrintable(QString::number(y)));
    QTest::keyClick(window.ridges(), Qt::Key_M);
    QCOMPARE(drawing.form(), plots::HistogramForm::ridges);
  }

  void whatIsNotFiniteIsSaid() {
    PicturesWindow window;
    window.show();
    protocol::Picture some = bell("gradient", 0), none = bars("gradient", 1, {}, {});
    some.not_finite = 3;
    none.not_finite = 588;
    window.put({some, none});
    QCOMPARE(window.ridges()->drawing().summary(), QString("2 steps · not all values finite at 2"));
    window.ridges()->setFocus();
    QTest::keyClick(window.ridges(), Qt::Key_Down);
    QCOMPARE(window.ridges()->readOut(), QString("step 1 · no value is finite · 588 not finite"));
    QTest::keyClick(window.ridges(), Qt::Key_Up);
    QVERIFY(window.ridges()->readOut().endsWith(" values · 3 not finite"));
    keep(&window.view, "histograms_not_finite");
    for (const auto form : {plots::HistogramForm::overlay, plots::HistogramForm::heat}) {
      window.ridges()->setForm(form);
      QVERIFY(!window.ridges()->grab().isNull());
    }
  }

  void oneValueAndNoCountsAreDrawnToo() {
    PicturesWindow window;
    window.show();
    window.put({bars("same", 0, {2, 2, 2}, {0, 7}), bars("none", 0, {0, 1}, {0})});
    QCOMPARE(window.view.pictures()->choice()->count(), 2);
    for (int name = 0; name < 2; ++name) {
      window.view.pictures()->choice()->setCurrentIndex(name);
      QVERIFY(!window.ridges()->grab().isNull());
      QCOMPARE(window.steps(), std::size_t{1});
    }
  }

  void ofManyStepsAsManyAreDrawnAsThereIsRoomFor() {
    PicturesWindow window;
    window.show();
    std::vector<protocol::Picture> many;
    for (int step = 0; step < 20'000; ++step) many.push_back(bell("weights", step));
    window.put(many);
    QTRY_COMPARE(window.pictureModel.histograms("weights").size(), std::size_t{20'000});
    QCOMPARE(window.ridges()->drawing().summary().left(13), QString("20,000 steps,"));
    QVERIFY(window.steps() < 400);
  }
};

TAPEDECK_TEST(TestPlotsHistograms)
#include "tst_plots_histograms.moc"
