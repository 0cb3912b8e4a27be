// Colours and their range, tiles and images, elements that are looked for, values that are copied and saved:
// as one works with them in the tensor view.
#include <QClipboard>
#include <QComboBox>
#include <QFile>
#include <QLineEdit>
#include <QMenu>
#include <QTemporaryDir>
#include <QTest>
#include <QToolButton>
#include <limits>

#include "inspector/panels/tensor/heat_options.h"
#include "inspector/panels/tensor/slice_bar.h"
#include "inspector/panels/tensor/tensor_actions.h"
#include "tensor_window.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::inspector;
using namespace tapedeck::test;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr auto alt_shift = Qt::AltModifier | Qt::ShiftModifier;

double ramp(std::int64_t i) {
  return static_cast<double>(i) / 10 - 1;
}

}  // namespace

class TensorToolsTest : public QObject {
  Q_OBJECT
 private slots:
  void init() { qApp->setPalette(lightPalette()); }

  void theRangeOfColoursIsTyped() {
    TensorWindow window({{5, 8}, ramp, {}});
    QVERIFY(window.settled());
    QTest::keyClick(window.canvas(), Qt::Key_2, Qt::AltModifier);
    QVERIFY(window.settled());
    const ColorMap& map = window.canvas()->heatMap().colorMap();
    QVERIFY(map.diverging() && map.low() == -2.9 && map.high() == 2.9);
    QTest::keyClick(window.canvas(), Qt::Key_R, alt_shift);
    QLineEdit* box = window.view->heatOptions()->rangeBox();
    QVERIFY(box->hasFocus());
    QTest::keyClicks(box, "0 .. 2");
    QVERIFY(window.painted());
    QVERIFY(!map.diverging() && map.low() == 0 && map.high() == 2);
    QVERIFY(window.view->reshapeError().isEmpty());
    // Values outside of the range have the colour of its end.
    const QColor last =
        window.canvas()->grab().toImage().pixelColor(middle(window.canvas()->heatMap().cellRect(4, 7)));
    QCOMPARE(last, QColor(map.colorAt(1)));
    box->selectAll();
    QTest::keyClicks(box, "+-4");
    QVERIFY(window.painted());
    QVERIFY(map.diverging() && map.low() == -4 && map.high() == 4);
    box->selectAll();
    QTest::keyClicks(box, "4");
    QVERIFY(window.view->reshapeError().contains("is not a range of colours"));
    QTest::keyClick(box, Qt::Key_A, Qt::ControlModifier);
    QTest::keyClick(box, Qt::Key_Delete);
    QVERIFY(window.painted());
    QVERIFY(window.view->reshapeError().isEmpty() && map.low() == -2.9);
  }

  void coloursAreKeptForEachTensor() {
    TensorWindow window({{5, 8}, ramp, {}});
    QVERIFY(window.settled());
    QTest::keyClick(window.canvas(), Qt::Key_2, Qt::AltModifier);
    QComboBox* scale = window.view->heatOptions()->scaleBox();
    scale->setCurrentIndex(static_cast<int>(ColorScale::logarithmic));
    QTest::keyClicks(window.view->heatOptions()->rangeBox(), "1 .. 2");
    window.model()->selectChip(0);  // an input
    QVERIFY(window.settled());
    QCOMPARE(scale->currentText(), QStringLiteral("Automatic"));
    QCOMPARE(window.view->heatOptions()->rangeBox()->text(), QString());
    int output = 0;
    while (window.model()->chips()[static_cast<std::size_t>(output)].info.id != 1) ++output;
    window.model()->selectChip(output);
    QVERIFY(window.settled());
    QCOMPARE(scale->currentText(), QStringLiteral("Logarithmic"));
    QCOMPARE(window.view->heatOptions()->rangeBox()->text(), QStringLiteral("1 .. 2"));
    QCOMPARE(window.canvas()->heatMap().colorMap().low(), 1.0);
  }

  void logarithmicColoursAreEqualFactors() {
    const ColorMap map(1e-4, 1, ColorScale::logarithmic, false);
    QCOMPARE(map.position(1e-2), 0.5);
    QVERIFY(std::abs(map.valueAt(0.25) - 1e-3) < 1e-12);
    QVERIFY(map.position(0) == 0 && map.position(5) == 1);
    const ColorMap both(-10, 1, ColorScale::logarithmic, false);
    QVERIFY(both.diverging() && both.low() == -10 && both.high() == 10 &&
            std::abs(both.floor() - 1e-5) < 1e-15);
    QVERIFY(both.position(0) == 0.5 && both.position(1e-6) == 0.5 && both.position(-10) == 0);
    QVERIFY(std::abs(both.position(1e-2) - 0.75) < 1e-12 && std::abs(both.valueAt(0.25) + 1e-2) < 1e-12);
    QCOMPARE(both.valueAt(0.5), 0.0);
    QVERIFY(!ColorMap(0, 0, ColorScale::logarithmic, false).logarithmic());
  }

  void oneNaNOfAMillionIsMarked() {
    TensorWindow window(
        {{1000, 1000}, [](std::int64_t i) { return i == 123'456 ? std::nan("") : wave(i); }, {}});
    QVERIFY(window.settled());
    QTest::keyClick(window.canvas(), Qt::Key_2, Qt::AltModifier);
    QVERIFY(window.settled());
    // The stand-in session samples; a real one says NaN where one of a cell's elements is.
    QVERIFY(window.source.tiles_asked.back().cell == CellValue::extreme);
    QVERIFY(window.canvas()->noteText().startsWith("largest of "));
    QTest::keyClick(window.canvas(), Qt::Key_K, alt_shift);
    QTRY_VERIFY(window.source.tiles_asked.back().cell == CellValue::minimum);
    QVERIFY(window.settled());
    QVERIFY(window.canvas()->noteText().startsWith("minimum of "));
  }

  void theMaximumOfAMillionHasAMarkBesideItsPixel() {
    // The stand-in session takes the first element of each cell.
    TensorWindow window(
        {{1024, 1024}, [](std::int64_t i) { return i == 512 * 1024 + 512 ? 90.0 : 0.25; }, {}}, {900, 700});
    QVERIFY(window.settled());
    QTest::keyClick(window.canvas(), Qt::Key_2, Qt::AltModifier);
    QVERIFY(window.settled());
    const auto dark = [&] {
      const QImage image = window.canvas()->grab().toImage();
      int found = 0;
      const QPoint at = middle(window.canvas()->heatMap().cellRect(512, 512));
      for (int y = 5; y <= 12; ++y) found += image.pixelColor(at + QPoint(0, y)) == QColor(Qt::black);
      return found;
    };
    QVERIFY(window.model()->tile()->row_step > 1);
    QCOMPARE(window.model()->statistics()->maximum, std::optional(90.0));
    QVERIFY2(dark() >= 4, qPrintable(QString::number(dark())));
  }

  void smallCellsThatAreNotFiniteHaveAMark() {
    // At 2 pixels a cell no hatch can be seen.
    const auto value = [](std::int64_t i) { return i == 80'200 ? infinity : 0.25; };
    TensorWindow window({{400, 400}, value, {}}, {900, 700});
    QVERIFY(window.settled());
    QTest::keyClick(window.canvas(), Qt::Key_2, Qt::AltModifier);
    QVERIFY(window.settled());
    const QRectF cell = window.canvas()->heatMap().cellRect(200, 200);
    QVERIFY(cell.width() < 5);
    const QImage image = window.canvas()->grab().toImage();
    int white = 0;
    for (int y = -6; y <= 6; ++y)
      for (int x = -6; x <= 6; ++x) white += image.pixelColor(middle(cell) + QPoint(x, y)).lightness() > 230;
    QVERIFY2(white > 4, qPrintable(QString::number(white)));
  }

  void aBatchOfPicturesIsShownInItsColours() {
    // Image 1 is red, the others are black.
    const auto value = [](std::int64_t i) { return i / (8 * 8 * 3) == 1 && i % 3 == 0 ? 1.0 : 0.0; };
    TensorWindow window({{4, 8, 8, 3}, value, {}});
    QVERIFY(window.settled());
    QVERIFY(!window.model()->images());
    QTest::keyClick(window.canvas(), Qt::Key_2, Qt::AltModifier);
    QVERIFY(window.settled());
    QVERIFY(window.model()->images() && window.model()->images()->color);
    const HeatPane& heat = window.canvas()->heatMap();
    const QPointF corner = heat.sheet().imageRect(1).topLeft();
    const QRectF pixel =
        heat.cellRect(static_cast<std::int64_t>(corner.y()) + 5, static_cast<std::int64_t>(corner.x()) + 4);
    QCOMPARE(window.canvas()->grab().toImage().pixelColor(middle(pixel)), QColor(255, 0, 0));
    QTest::mouseMove(window.canvas(), middle(pixel));
    QTRY_COMPARE(window.canvas()->readout(), QStringLiteral("[1, 5, 4, :] = 1 0 0"));
    // The choice beside it: one slice again.
    QTest::keyClick(window.canvas(), Qt::Key_T, alt_shift);
    QTRY_VERIFY(!window.model()->images());
    QVERIFY(window.view->slices()->isVisible());
    QTest::keyClick(window.canvas(), Qt::Key_T, alt_shift);  // tiles: each channel by itself needs other axes
    QTRY_VERIFY(window.model()->images() && !window.model()->images()->color);
    QCOMPARE(window.model()->images()->count, 4 * 8);
  }

  void tilesShowAllSlicesWithTheirIndices() {
    TensorWindow window({{2, 3, 4, 5}, [](std::int64_t i) { return static_cast<double>(i); }, {}});
    QVERIFY(window.settled());
    QTest::keyClick(window.canvas(), Qt::Key_2, Qt::AltModifier);
    QMenu* menu = window.view->heatOptions()->moreButton()->menu();
    QAction* tiles = nullptr;
    for (QAction* action : menu->actions())
      if (action->text() == "Tiles") tiles = action;
    QVERIFY(tiles && tiles->isEnabled());
    tiles->trigger();
    QVERIFY(window.settled());
    QCOMPARE(window.model()->images()->count, 6);
    QVERIFY(window.view->slices()->rowAxis()->isVisible());
    const HeatPane& heat = window.canvas()->heatMap();
    const QPointF corner = heat.sheet().imageRect(4).topLeft();
    QTest::mouseMove(window.canvas(), middle(heat.cellRect(static_cast<std::int64_t>(corner.y()) + 2,
                                                           static_cast<std::int64_t>(corner.x()) + 3)));
    QTRY_COMPARE(window.canvas()->readout(), QStringLiteral("[1, 1, 2, 3] = 93"));
    window.model()->setShownAxes(0, 1);
    QVERIFY(window.settled());
    QCOMPARE(window.model()->images()->count, 20);
    // Axes that are no neighbours, chosen by key in the boxes: those between and behind make the tiles.
    window.view->slices()->columnAxis()->setFocus();
    QTest::keyClick(window.view->slices()->columnAxis(), Qt::Key_Down);
    QVERIFY(window.settled());
    QCOMPARE(window.model()->slice(), (std::vector<std::int64_t>{-1, 0, -1, 0}));
    QCOMPARE(window.model()->images()->count, 15);
    QVERIFY(tiles->isEnabled());
    const QPointF apart = heat.sheet().imageRect(7).topLeft();
    QTest::mouseMove(window.canvas(), middle(heat.cellRect(static_cast<std::int64_t>(apart.y()) + 1,
                                                           static_cast<std::int64_t>(apart.x()) + 3)));
    QTRY_COMPARE(window.canvas()->readout(), QStringLiteral("[1, 1, 3, 2] = 97"));
  }

  void nanMaximumAndMinimumAreGoneTo() {
    const auto value = [](std::int64_t i) {
      return i == 17 || i == 59 ? std::nan("") : i == 33 || i == 45 ? 9.0 : static_cast<double>(i % 7);
    };
    TensorWindow window({{3, 4, 5}, value, {}});
    QVERIFY(window.settled());
    QTest::keyClick(window.canvas(), Qt::Key_N, alt_shift);
    QTRY_COMPARE(window.view->line(),
                 QStringLiteral("NaN at [0, 3, 2], 1 of 2 equal ones: press again for the next."));
    QCOMPARE(window.canvas()->numbers().selection(), std::optional(CellRange{3, 2, 3, 2}));
    QTest::keyClick(window.canvas(), Qt::Key_N, alt_shift);
    QTRY_COMPARE(window.view->line(),
                 QStringLiteral("NaN at [2, 3, 4], 2 of 2 equal ones: press again for the next."));
    QCOMPARE(window.model()->slice(), (std::vector<std::int64_t>{2, -1, -1}));
    QTest::keyClick(window.canvas(), Qt::Key_PageUp, alt_shift);
    QTRY_COMPARE(window.view->line(),
                 QStringLiteral("Maximum 9.0 at [1, 2, 3], 1 of 2 equal ones: press again for the next."));
    QTest::keyClick(window.canvas(), Qt::Key_Y, alt_shift);
    QTRY_COMPARE(window.view->line(), QStringLiteral("No infinity among 60 elements."));
    // In the heat map its cursor goes there.
    QTest::keyClick(window.canvas(), Qt::Key_2, Qt::AltModifier);
    QTest::keyClick(window.canvas(), Qt::Key_PageUp, alt_shift);
    QTRY_VERIFY(window.canvas()->heatMap().cursor());
    QCOMPARE(*window.canvas()->heatMap().cursor(), (HeatPane::Cell{2, 3}));
    QTRY_COMPARE(window.canvas()->readout(), QStringLiteral("[1, 2, 3] = 9"));
  }

  void aLiteralIsCopied() {
    TensorWindow window(
        {{2, 2}, [](std::int64_t i) { return i == 3 ? std::nan("") : static_cast<double>(i) / 2; }, {}});
    QVERIFY(window.settled());
    QTest::keyClick(window.canvas(), Qt::Key_C, alt_shift);
    QTRY_COMPARE(window.view->line(), QStringLiteral("Copied 4 values as np.array(…)."));
    QCOMPARE(QGuiApplication::clipboard()->text(),
             QStringLiteral("np.array([[0.0, 0.5],\n          [1.0, np.nan]], dtype=np.float32)"));
    window.canvas()->selectNumber(0, 1);
    QTest::keyClick(window.canvas(), Qt::Key_Down, Qt::ShiftModifier);
    QTest::keyClick(window.canvas(), Qt::Key_C, alt_shift);
    QTRY_COMPARE(QGuiApplication::clipboard()->text(),
                 QStringLiteral("np.array([[0.5],\n          [np.nan]], dtype=np.float32)"));
  }

  void tooMuchForALiteralIsSaid() {
    TensorWindow window({{400, 400}, wave, {}});
    QVERIFY(window.settled());
    QTest::keyClick(window.canvas(), Qt::Key_C, alt_shift);
    QTRY_COMPARE(window.view->line(),
                 QStringLiteral("160,000 values are too many for a literal: at most 100,000. Select "
                                "some of the numbers."));
  }

  void allValuesAreSaved() {
    QTemporaryDir folder;
    const QString path = folder.filePath("w.csv");
    TensorWindow window({{2, 3}, ramp, {}});
    QVERIFY(window.settled());
    window.view->work()->setAskPath([&](const QString& name) {
      // "W:0" is no name for a file.
      return name == "W_0.npy" ? path : QString();
    });
    QTest::keyClick(window.canvas(), Qt::Key_V, alt_shift);
    QTRY_COMPARE(window.view->line(), QStringLiteral("Saved as %1.").arg(path));
    QFile file(path);
    QVERIFY(file.open(QIODevice::ReadOnly));
    QCOMPARE(file.readAll(), QByteArray("-1.0,-0.9,-0.8\n-0.7,-0.6,-0.5\n"));
  }

  void aFileThatCannotBeWrittenStaysAsItWas() {
    QTemporaryDir folder;
    const QString path = folder.filePath("w.npy");
    QFile(path).open(QIODevice::WriteOnly);
    TensorWindow window({{2, 3}, ramp, {}});
    QVERIFY(window.settled());
    window.view->work()->setAskPath([&](const QString&) { return path; });
    window.source.silent = true;
    QTest::keyClick(window.canvas(), Qt::Key_V, alt_shift);
    QTRY_VERIFY(window.view->work()->save()->saving());
    QTest::keyClick(window.canvas(), Qt::Key_Q, alt_shift);
    QTRY_COMPARE(window.view->line(), QStringLiteral("w.npy was not written: You stopped it."));
    QCOMPARE(QFileInfo(path).size(), 0);
    window.source.silent = false;
    window.view->work()->setAskPath([&](const QString&) { return folder.filePath("none/w.npy"); });
    QTest::keyClick(window.canvas(), Qt::Key_V, alt_shift);
    QTRY_VERIFY2(
        window.view->line().startsWith("w.npy was not written: ") && !window.view->work()->save()->saving(),
        qPrintable(window.view->line()));
    QVERIFY(!QFileInfo::exists(folder.filePath("none")));
  }

  void aLowPanelHasRoomForItsPicture() {
    for (const QSize size : {QSize(390, 264), QSize(390, 300)}) {
      TensorWindow window({{4, 2, 11, 11}, [](std::int64_t i) { return static_cast<double>(i % 5); }, {}},
                          size);
      QVERIFY(window.settled());
      QTest::keyClick(window.canvas(), Qt::Key_2, Qt::AltModifier);
      QVERIFY(window.settled());
      const double side = window.canvas()->heatMap().cellRect(0, 0).width() * 11;
      QVERIFY2(side >= size.height() - 200, qPrintable(QString::number(side)));
      screenshot(*window.view, QStringLiteral("tensor-low-%1").arg(size.height()));
      QTest::keyClick(window.canvas(), Qt::Key_1, Qt::AltModifier);
      QVERIFY(window.settled());
      QVERIFY2(window.canvas()->height() >= 100, qPrintable(QString::number(window.canvas()->height())));
    }
  }

  void screenshots_data() { addPictureSizes(); }
  void screenshots() {
    QFETCH(bool, dark);
    QFETCH(QSize, size);
    qApp->setPalette(dark ? darkPalette() : lightPalette());
    const QString tag = QString::fromLatin1(QTest::currentDataTag());
    {
      TensorWindow window({{4, 8, 11, 11}, [](std::int64_t i) { return wave(i * 7); }, {}}, size);
      QVERIFY(window.settled());
      QTest::keyClick(window.canvas(), Qt::Key_2, Qt::AltModifier);
      window.model()->setPicture(PictureKind::tiles);
      QVERIFY(window.settled());
      screenshot(*window.view, "tensor-tiles-" + tag);
    }
    {
      const auto value = [](std::int64_t i) {
        return i % 9973 == 17 ? std::nan("") : i % 17'001 == 5 ? infinity : std::exp(wave(i) * 40);
      };
      TensorWindow window({{500, 400}, value, {}}, size);
      QVERIFY(window.settled());
      QTest::keyClick(window.canvas(), Qt::Key_2, Qt::AltModifier);
      window.view->heatOptions()->scaleBox()->setCurrentIndex(static_cast<int>(ColorScale::logarithmic));
      QVERIFY(window.settled());
      screenshot(*window.view, "tensor-logarithmic-" + tag);
    }
  }
};

TAPEDECK_TEST(TensorToolsTest)
#include "tst_tensor_tools.moc"
