#include <QAction>
#include <QClipboard>
#include <QComboBox>
#include <QLabel>
#include <QLayout>
#include <QLineEdit>
#include <QRegularExpression>
#include <QSignalSpy>
#include <QSpinBox>
#include <QTabBar>
#include <QTest>
#include <QWheelEvent>

#include "inspector/panels/tensor/slice_bar.h"
#include "inspector/panels/tensor/statistics_panel.h"
#include "tensor_window.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::inspector;
using namespace tapedeck::test;

Q_DECLARE_METATYPE(tapedeck::inspector::ColorScale)

class TensorViewTest : public QObject {
  Q_OBJECT
 private slots:
  void init() { qApp->setPalette(lightPalette()); }

  void numbersStandWhereTheirIndexSays() {
    TensorWindow window({{784, 196}, wave, {}});
    QVERIFY(window.settled());
    const std::vector<NumberCell>& cells = window.canvas()->numbers().visibleCells();
    QVERIFY(cells.size() > 100);
    for (const NumberCell& cell : cells)
      QCOMPARE(cell.text, QString::number(wave(cell.row * 196 + cell.column), 'f', 5));
    QCOMPARE(cells.front().row, std::int64_t(0));
    QCOMPARE(window.view->title(), QStringLiteral("W:0 · matmul, output 0 · 784×196 · float32 · /cpu:0"));
  }

  void numbersScrollOverAnySize() {
    const auto value = [](std::int64_t i) { return static_cast<double>(i % 1000003); };
    TensorWindow window({{1000000, 5000}, value, {}, "int32"});
    QVERIFY(window.settled());
    const auto shows = [&](std::int64_t row, std::int64_t column) {
      return waitFor(
          [&] {
            for (const NumberCell& cell : window.canvas()->numbers().visibleCells())
              if (cell.row == row && cell.column == column)
                return cell.text == QString::number(value(row * 5000 + column), 'f', 0);
            return false;
          },
          tapedeck::patience);
    };
    QTest::keyClick(window.canvas(), Qt::Key_End, Qt::ControlModifier);
    QVERIFY(shows(999999, 4999));
    // Scroll bars cover no number.
    const NumberCell corner = window.canvas()->numbers().visibleCells().back();
    QVERIFY(corner.row == 999999 && corner.column == 4999);
    QVERIFY(corner.rect.right() < window.canvas()->width() - 9);
    const double bottom = window.canvas()->numbers().topRow();
    QTest::mouseClick(window.canvas(), Qt::LeftButton, {},
                      QPoint(window.canvas()->width() - 3, static_cast<int>(corner.rect.top()) - 30));
    QCOMPARE(window.canvas()->numbers().selection(), (CellRange{999999, 4999, 999999, 4999}));
    QVERIFY(window.canvas()->numbers().topRow() < bottom - 10);  // a page before
    QTest::keyClick(window.canvas(), Qt::Key_PageUp);
    QVERIFY(!window.canvas()->numbers().selection()->contains(999999, 4999));
    QTest::keyClick(window.canvas(), Qt::Key_Home, Qt::ControlModifier);
    QVERIFY(shows(0, 0));
    QWheelEvent event({200, 200}, window.canvas()->mapToGlobal(QPointF(200, 200)), {}, {0, -1200},
                      Qt::NoButton, Qt::NoModifier, Qt::NoScrollPhase, false);
    QApplication::sendEvent(window.canvas(), &event);
    QCOMPARE(window.canvas()->numbers().topRow(), 30.0);
    QVERIFY(shows(32, 1));
    // The thumb of the scroll bar, dragged to the end.
    const QPoint thumb(window.canvas()->width() - 5, 28);
    QTest::mousePress(window.canvas(), Qt::LeftButton, Qt::NoModifier, thumb);
    QTest::mouseMove(window.canvas(), thumb + QPoint(0, 2000));
    QTest::mouseRelease(window.canvas(), Qt::LeftButton, Qt::NoModifier, thumb + QPoint(0, 2000));
    QVERIFY(shows(999999, 1));
    for (const GetTile& asked : window.source.tiles_asked) QVERIFY(asked.rows * asked.columns <= 262144);
  }

  void whatIsNotFiniteIsMarked() {
    const auto value = [](std::int64_t i) {
      return i == 1 ? std::nan("") : i == 2 ? -std::numeric_limits<double>::infinity() : 0.5;
    };
    TensorWindow window({{2, 3}, value, {}});
    QVERIFY(window.settled());
    const std::vector<NumberCell>& cells = window.canvas()->numbers().visibleCells();
    QCOMPARE(cells.size(), std::size_t(6));
    QCOMPARE(cells[1].text, QStringLiteral("nan"));
    QCOMPARE(cells[2].text, QStringLiteral("-inf"));
    QVERIFY(cells[1].unusual && cells[2].unusual && !cells[0].unusual);
    const QImage image = window.canvas()->grab().toImage();
    const auto corner = [](const NumberCell& cell) { return cell.rect.topLeft().toPoint() + QPoint(4, 4); };
    QCOMPARE(image.pixelColor(corner(cells[1])), window.canvas()->theme().error.fill);
    QCOMPARE(image.pixelColor(corner(cells[2])), window.canvas()->theme().warning.fill);
    QCOMPARE(image.pixelColor(corner(cells[0])), window.canvas()->theme().background);
    QCOMPARE(window.view->statistics()->text(QStringLiteral("NaN")), QStringLiteral("1 (16.7 %)"));
    QCOMPARE(window.view->statistics()->text(QStringLiteral("−inf")), QStringLiteral("1 (16.7 %)"));
    QCOMPARE(window.view->statistics()->text(QStringLiteral("mean")), QStringLiteral("0.5"));
  }

  void theSelectionIsCopiedWithAllDigits() {
    TensorWindow window({{784, 196}, wave, {}});
    QVERIFY(window.settled());
    const auto cell = [&](std::int64_t row, std::int64_t column) {
      for (const NumberCell& found : window.canvas()->numbers().visibleCells())
        if (found.row == row && found.column == column) return found.rect.center().toPoint();
      return QPoint();
    };
    QTest::mousePress(window.canvas(), Qt::LeftButton, Qt::NoModifier, cell(2, 1));
    QTest::mouseMove(window.canvas(), cell(3, 3));
    QTest::mouseRelease(window.canvas(), Qt::LeftButton, Qt::NoModifier, cell(3, 3));
    QGuiApplication::clipboard()->clear();
    QTest::keyClick(window.canvas(), Qt::Key_C, Qt::ControlModifier);
    QTRY_VERIFY(!QGuiApplication::clipboard()->text().isEmpty());
    const QStringList rows =
        QGuiApplication::clipboard()->text().split(QLatin1Char('\n'), Qt::SkipEmptyParts);
    QCOMPARE(rows.size(), qsizetype(2));
    for (int row = 0; row < 2; ++row) {
      const QStringList fields = rows[row].split(QLatin1Char('\t'));
      QCOMPARE(fields.size(), qsizetype(3));
      for (int column = 0; column < 3; ++column)
        QCOMPARE(fields[column].toFloat(), static_cast<float>(wave((row + 2) * 196 + column + 1)));
    }
    // More than what is on the screen.
    QTest::keyClick(window.canvas(), Qt::Key_A, Qt::ControlModifier);
    QTest::keyClick(window.canvas(), Qt::Key_C, Qt::ControlModifier);
    QTRY_COMPARE(QGuiApplication::clipboard()->text().count(QLatin1Char('\n')), qsizetype(784));
    QVERIFY(QGuiApplication::clipboard()->text().startsWith(QLatin1String("0\t")));
  }

  void tooMuchToCopyIsSaid() {
    TensorWindow window({{1000, 1000}, wave, {}});
    QVERIFY(window.settled());
    QSignalSpy said(window.canvas(), &TensorCanvas::copied);
    QTest::keyClick(window.canvas(), Qt::Key_A, Qt::ControlModifier);
    QTest::keyClick(window.canvas(), Qt::Key_C, Qt::ControlModifier);
    QCOMPARE(said.count(), 1);
    QCOMPARE(said[0][0].toString(),
             QStringLiteral("1000×1000 values are too many to copy: at most 262,144."));
  }

  void theHeatMapHasTheColoursOfTheMap_data() {
    QTest::addColumn<ColorScale>("scale");
    QTest::newRow("automatic") << ColorScale::automatic;
    QTest::newRow("sequential") << ColorScale::sequential;
    QTest::newRow("diverging") << ColorScale::diverging;
  }
  void theHeatMapHasTheColoursOfTheMap() {
    QFETCH(ColorScale, scale);
    const auto value = [](std::int64_t i) {
      return i == 11 ? std::nan("") : static_cast<double>(i % 37) - 12;
    };
    TensorWindow window({{40, 50}, value, {}});
    QTest::keyClick(window.canvas(), Qt::Key_2, Qt::AltModifier);
    QVERIFY(window.settled());
    window.canvas()->heatMap().setScale(scale);
    QVERIFY(window.painted());
    const ColorMap expected(-12, 24, scale, false);
    QCOMPARE(expected.diverging(), scale != ColorScale::sequential);
    const QImage image = window.canvas()->grab().toImage();
    for (std::int64_t row = 0; row < 40; row += 3) {
      for (std::int64_t column = 0; column < 50; column += 7) {
        const QPoint at = window.canvas()->heatMap().cellRect(row, column).center().toPoint();
        QCOMPARE(image.pixelColor(at), QColor(expected.color(value(row * 50 + column))));
      }
    }
    const QRectF nan = window.canvas()->heatMap().cellRect(0, 11);
    int marked = 0, hatched = 0;
    for (int x = 1; x < nan.width() - 1; ++x)
      for (int y = 1; y < nan.height() - 1; ++y) {
        const QColor color = image.pixelColor(nan.topLeft().toPoint() + QPoint(x, y));
        marked += color == QColor(ColorMap::nan_color);
        hatched += color.lightness() < QColor(ColorMap::nan_color).lightness() - 20;
      }
    QVERIFY(marked > 10);
    QVERIFY(hatched > 10);
  }

  void hugeTensorsAreAskedForInSteps() {
    const auto value = [](std::int64_t i) { return static_cast<double>(i / 10000 + i % 10000); };
    TensorWindow window({{10000, 10000}, value, {}});
    QTest::keyClick(window.canvas(), Qt::Key_2, Qt::AltModifier);
    QVERIFY(window.settled());
    const protocol::Tile& tile = *window.model()->tile();
    QVERIFY(tile.row_step >= 8 && tile.column_step >= 8);
    for (const GetTile& asked : window.source.tiles_asked) QVERIFY(asked.rows * asked.columns <= 262144);
    const HeatPane& heat = window.canvas()->heatMap();
    const QImage image = window.canvas()->grab().toImage();
    for (const std::int64_t at : {500, 3000, 9000}) {
      const std::int64_t first = at / tile.row_step * tile.row_step;
      const QColor seen = image.pixelColor(heat.cellRect(at, at).center().toPoint());
      const QColor expected(heat.colorMap().color(static_cast<double>(2 * first)));
      // Neighbouring blocks differ by a shade, and the pixel may lie on the edge of two.
      QVERIFY(std::abs(seen.red() - expected.red()) < 6 && std::abs(seen.green() - expected.green()) < 6);
    }
    const QPoint pointer = window.canvas()->rect().center();
    QTest::mouseMove(window.canvas(), pointer);
    QTRY_VERIFY(window.canvas()->readout().contains(QStringLiteral(" largest ")));
    QVERIFY(window.canvas()->readout().contains(QLatin1Char(':')));
    for (int i = 0; i < 40; ++i) QTest::keyClick(window.canvas(), Qt::Key_Plus);
    QVERIFY(window.settled());
    QCOMPARE(window.model()->tile()->row_step, std::int64_t(1));
    QTest::mouseMove(window.canvas(), pointer + QPoint(3, 3));
    const QRegularExpression line(QStringLiteral("^\\[(\\d+), (\\d+)\\] = (\\d+)$"));
    QTRY_VERIFY2(line.match(window.canvas()->readout()).hasMatch(), qPrintable(window.canvas()->readout()));
    const QRegularExpressionMatch match = line.match(window.canvas()->readout());
    QCOMPARE(match.captured(1).toInt() + match.captured(2).toInt(), match.captured(3).toInt());
    QTest::keyClick(window.canvas(), Qt::Key_F);
    QVERIFY(window.settled());
    QVERIFY(window.model()->tile()->row_step >= 8);
  }

  void theOldPictureIsDimmedWhileTheNextIsFetched() {
    TensorWindow window({{4000, 4000}, [](std::int64_t i) { return static_cast<double>(i % 97); }, {}});
    QTest::keyClick(window.canvas(), Qt::Key_2, Qt::AltModifier);
    QVERIFY(window.settled());
    const auto darkness = [&] {
      const QImage image = window.canvas()->grab().toImage();
      double sum = 0;
      const QPoint centre = window.canvas()->rect().center();
      for (int x = -40; x < 40; ++x) sum += 255 - image.pixelColor(centre + QPoint(x, 0)).lightness();
      return sum / 80;
    };
    const double before = darkness();
    window.source.silent = true;
    for (int i = 0; i < 12; ++i) QTest::keyClick(window.canvas(), Qt::Key_Plus);
    QTRY_VERIFY(window.model()->loading());
    QVERIFY(window.painted());
    const double dimmed = darkness();
    QVERIFY2(dimmed > 10 && dimmed < before * 0.85,
             qPrintable(QStringLiteral("%1 %2").arg(before).arg(dimmed)));
    window.source.release();
    QVERIFY(window.settled());
    QVERIFY(darkness() > dimmed * 1.2);
  }

  void imagesStandInAGrid() {
    TensorWindow window({{784, 196}, wave, {}});
    QTest::keyClick(window.canvas(), Qt::Key_2, Qt::AltModifier);
    QVERIFY(window.settled());
    QTest::keyClick(window.canvas(), Qt::Key_R, Qt::AltModifier);
    QVERIFY(window.view->reshapeBox()->hasFocus());
    QTest::keyClicks(window.view->reshapeBox(), QStringLiteral("28,28"));
    QVERIFY(window.settled());
    QVERIFY(window.model()->images());
    QTRY_VERIFY(window.model()->imageTile() && window.model()->imageTile()->count == 196);
    QVERIFY(window.painted());
    const HeatPane& heat = window.canvas()->heatMap();
    const ImageSheet& sheet = heat.sheet();
    const QImage image = window.canvas()->grab().toImage();
    for (const std::int64_t picture : {0, 17, 100, 195}) {
      const QRect pixels = sheet.imageRect(picture).toRect();
      for (const int offset : {0, 9, 27}) {
        const QPoint at = middle(heat.cellRect(pixels.y() + offset, pixels.x() + offset));
        const double value = wave((offset * 28 + offset) * 196 + picture);
        QCOMPARE(image.pixelColor(at), QColor(heat.colorMap().color(value)));
      }
      const QPoint between = middle(heat.cellRect(pixels.y() - 1, pixels.x() + 5));
      QCOMPARE(image.pixelColor(between), window.canvas()->theme().background);
    }
    const QRectF pixel = sheet.imageRect(17);
    QTest::mouseMove(window.canvas(), heat.cellRect(static_cast<std::int64_t>(pixel.y()) + 4,
                                                    static_cast<std::int64_t>(pixel.x()) + 6)
                                          .center()
                                          .toPoint());
    QTRY_VERIFY2(window.canvas()->readout().startsWith(QStringLiteral("image 17 [4, 6] = ")),
                 qPrintable(window.canvas()->readout()));
  }

  void theReshapeBoxSaysWhatIsWrong() {
    TensorWindow window({{784, 196}, wave, {}});
    QVERIFY(window.settled());
    QTest::keyClicks(window.view->reshapeBox(), QStringLiteral("28x28x5"));
    QVERIFY2(window.view->reshapeError().contains(QStringLiteral("153,664")) ||
                 window.view->reshapeError().contains(QStringLiteral("153664")),
             qPrintable(window.view->reshapeError()));
    window.view->reshapeBox()->selectAll();
    QTest::keyClicks(window.view->reshapeBox(), QStringLiteral("14x56x196"));
    QCOMPARE(window.view->reshapeError(), QString());
    QVERIFY(window.settled());
    QCOMPARE(window.model()->shape(), (std::vector<std::int64_t>{14, 56, 196}));
    QVERIFY(window.view->slices()->isVisible());
  }

  void slicesCutTheOtherAxes() {
    const auto value = [](std::int64_t i) { return static_cast<double>(i); };
    TensorWindow window({{4, 5, 6}, value, {}, "int32"});
    QVERIFY(window.settled());
    QSpinBox* box = window.view->slices()->indexOf(0);
    QVERIFY(box && box->maximum() == 3);
    QVERIFY(!window.view->slices()->indexOf(1));
    box->setFocus();
    QTest::keyClick(box, Qt::Key_Up);
    QTest::keyClick(box, Qt::Key_Up);
    QTRY_COMPARE(window.model()->slice(), (std::vector<std::int64_t>{2, -1, -1}));
    QVERIFY(window.settled());
    QCOMPARE(window.canvas()->numbers().visibleCells()[7].text, QStringLiteral("67"));  // [2, 1, 1]
    window.view->slices()->rowAxis()->setFocus();
    QTest::keyClick(window.view->slices()->rowAxis(), Qt::Key_Up);
    QTRY_COMPARE(window.model()->slice()[0], std::int64_t(-1));
    QVERIFY(window.settled());
    QCOMPARE(window.model()->totalRows(), std::int64_t(4));
    QVERIFY(window.view->slices()->indexOf(1));
    const std::int64_t columns = window.model()->totalColumns();
    QCOMPARE(columns, std::int64_t(6));
    QCOMPARE(window.canvas()->numbers().visibleCells()[7].text, QStringLiteral("31"));  // [1, 0, 1]
  }

  void scalarsAreLarge() {
    TensorWindow window({{}, [](std::int64_t) { return 2.53; }, {}}, {500, 350}, "2.53");
    QVERIFY(window.settled());
    QVERIFY(window.canvas()->showsScalar());
    QCOMPARE(window.canvas()->scalarText(), QStringLiteral("2.53"));
    QGuiApplication::clipboard()->clear();
    QTest::keyClick(window.canvas(), Qt::Key_C, Qt::ControlModifier);
    QTRY_COMPARE(QGuiApplication::clipboard()->text(), QStringLiteral("2.53"));
  }

  void emptyTensorsSaySo() {
    TensorWindow window({{0, 3}, [](std::int64_t) { return 0.0; }, {}});
    QTRY_COMPARE(window.canvas()->sentence(),
                 QStringLiteral("This tensor is empty: its shape 0×3 has no elements."));
    for (const Qt::Key key : {Qt::Key_2, Qt::Key_3, Qt::Key_1}) {
      QTest::keyClick(window.canvas(), key, Qt::AltModifier);
      QTest::mouseClick(window.canvas(), Qt::LeftButton);
      QVERIFY(window.painted());
    }
  }

  void goneValuesAreExplained() {
    FakeTensor tensor{{3, 3}, [](std::int64_t) { return 0.0; }, {}};
    tensor.gone = "The value of W:0 is gone: the budget of 2 GB is used up.";
    TensorWindow window(tensor);
    QTRY_COMPARE(window.canvas()->sentence(),
                 QStringLiteral("The value of W:0 is gone: the budget of 2 GB is used up."));
    QVERIFY(window.painted());
    QTRY_COMPARE(window.canvas()->accessibleDescription(), window.canvas()->sentence());
  }

  void chipsChooseTheTensor() {
    TensorWindow window({{2, 2}, [](std::int64_t) { return 9.0; }, {}, "int32"});
    QVERIFY(window.settled());
    QCOMPARE(window.view->chips()->count(), 3);
    QCOMPARE(window.canvas()->numbers().visibleCells()[3].text, QStringLiteral("9"));
    QTest::mouseClick(window.view->chips(), Qt::LeftButton, Qt::NoModifier,
                      window.view->chips()->tabRect(0).center());
    QTRY_COMPARE(window.model()->tensor()->id, std::uint64_t(2));
    QVERIFY(window.settled());
    QCOMPARE(window.canvas()->numbers().visibleCells().size(), std::size_t(9));
    QCOMPARE(window.canvas()->numbers().visibleCells()[5].text, QStringLiteral("5"));
    QVERIFY(window.view->title().startsWith(QStringLiteral("matmul, input 0")));
  }

  void theHistogramCountsWhatTheStatisticsSay() {
    TensorWindow window({{64, 64}, [](std::int64_t i) { return i % 4 == 0 ? 1.0 : 0.0; }, {}});
    QTest::keyClick(window.canvas(), Qt::Key_3, Qt::AltModifier);
    QVERIFY(window.settled());
    HistogramPane& histogram = window.canvas()->histogram();
    const QRectF first = histogram.barRect(0), last = histogram.barRect(63);
    QVERIFY(std::abs(first.height() / last.height() - 3) < 1e-9);
    QTest::mouseMove(window.canvas(), QPointF(last.center().x(), last.top() + 20).toPoint());
    QTRY_COMPARE(window.canvas()->readout(), QStringLiteral("0.984 to 1.000: 1,024 values, 25.0 %"));
    const QImage image = window.canvas()->grab().toImage();
    QCOMPARE(image.pixelColor(last.center().toPoint()), window.canvas()->theme().accent);
    QTest::keyClick(window.canvas(), Qt::Key_L, Qt::AltModifier);
    QVERIFY(histogram.logarithmic());
    QVERIFY(histogram.barRect(0).height() / histogram.barRect(63).height() < 1.5);
  }

  void statisticsFitTheNarrowPanelToo() {
    TensorWindow window({{784, 196}, wave, {}}, {500, 350});
    QVERIFY(window.settled());
    QVERIFY(!window.view->statistics()->isVisible());
    QVERIFY(statisticsLine(*window.model()).startsWith(QStringLiteral("-0.3 … 0.3 · mean ")));
    window.view->resize(1000, 600);
    QTRY_VERIFY(window.view->statistics()->isVisible());
    QCOMPARE(window.view->statistics()->text(QStringLiteral("count")), QStringLiteral("153,664"));
    QCOMPARE(window.view->statistics()->text(QStringLiteral("shape")), QStringLiteral("784×196"));
  }

  void figuresAreNeverSqueezed() {
    TensorWindow window({{784, 196}, wave, {}}, {1000, 600});
    QVERIFY(window.settled());
    const auto* statistics = window.view->statistics();
    QTRY_VERIFY(statistics->isVisible());
    window.view->layout()->setSizeConstraint(QLayout::SetNoConstraint);  // as in a dock
    window.view->setMinimumSize(1, 1);
    for (int height = 600; height >= 200; height -= 7) {
      window.view->resize(1000, height);
      QCoreApplication::processEvents();
      if (statistics->isVisible())
        for (const QLabel* label : statistics->findChildren<QLabel*>())
          QVERIFY2(label->isHidden() || label->height() >= label->fontMetrics().height(),
                   qPrintable(QString::number(height)));
    }
    QVERIFY(!statistics->isVisible());
    window.view->resize(1000, 600);
    QTRY_VERIFY(statistics->isVisible());
  }

  void everyActionHasAKey() {
    TensorWindow window({{2, 2}, wave, {}});
    QList<QAction*> actions = window.view->actions() + window.canvas()->actions();
    QVERIFY(actions.size() >= 9);
    for (const QAction* action : actions) QVERIFY(!action->shortcut().isEmpty());
  }
};

TAPEDECK_TEST(TensorViewTest)
#include "tst_tensor_view.moc"
