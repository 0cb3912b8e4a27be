// Number formats and colours: no window.
#include <QTest>
#include <cmath>
#include <limits>

#include "inspector/model/tensor/number_format.h"
#include "inspector/panels/heat_picture.h"
#include "inspector/ui/color_map.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::inspector;

class TensorNumbersTest : public QObject {
  Q_OBJECT
 private slots:
  void formats_data() {
    QTest::addColumn<QList<double>>("values");
    QTest::addColumn<QByteArray>("dtype");
    QTest::addColumn<QStringList>("texts");
    const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
    QTest::newRow("bool") << QList<double>{0, 1} << QByteArray("bool") << QStringList{"False", "True"};
    QTest::newRow("int64") << QList<double>{-3, 4e9} << QByteArray("int64")
                           << QStringList{"-3", "4000000000"};
    QTest::newRow("uint32") << QList<double>{1, 4e9} << QByteArray("uint32")
                            << QStringList{"1", "4000000000"};
    QTest::newRow("whole floats") << QList<double>{1, -2, 0} << QByteArray("float32")
                                  << QStringList{"1", "-2", "0"};
    QTest::newRow("weights") << QList<double>{0.25, -0.5} << QByteArray("float32")
                             << QStringList{"0.25", "-0.50"};
    QTest::newRow("a small one is not zero")
        << QList<double>{0.25, 3e-9} << QByteArray("float32") << QStringList{"2.5000e-01", "3.0000e-09"};
    QTest::newRow("large") << QList<double>{1e9, 2.5} << QByteArray("float32")
                           << QStringList{"1.0000e+09", "2.5000e+00"};
    QTest::newRow("tiny") << QList<double>{1e-9} << QByteArray("float64") << QStringList{"1.0000e-09"};
    QTest::newRow("not finite") << QList<double>{nan, inf, -inf, 1.5} << QByteArray("float32")
                                << QStringList{"nan", "inf", "-inf", "1.5"};
  }
  void formats() {
    QFETCH(QList<double>, values);
    QFETCH(QByteArray, dtype);
    QFETCH(QStringList, texts);
    const NumberFormat format = NumberFormat::choose(
        std::span(values.constData(), static_cast<std::size_t>(values.size())), dtype.toStdString());
    qsizetype widest = 0;
    for (qsizetype i = 0; i < values.size(); ++i) {
      QCOMPARE(format.text(values[i]), texts[i]);
      widest = std::max(widest, texts[i].size());
    }
    QCOMPARE(format.widest(std::span(values.constData(), static_cast<std::size_t>(values.size()))), widest);
  }

  void exactTextReadsBackAsTheSame() {
    for (const float value : {0.1f, 1.0f / 3, 1e-38f, 3.4e38f, -0.0f})
      QCOMPARE(exactText(value, "float32").toFloat(), value);
    QCOMPARE(exactText(0.1f, "float32"), QStringLiteral("0.1"));
    QCOMPARE(exactText(1.0 / 3, "float64").toDouble(), 1.0 / 3);
    QCOMPARE(exactText(std::nan(""), "float32"), QStringLiteral("nan"));
    QCOMPARE(exactText(1, "bool"), QStringLiteral("True"));
  }

  void okLabRoundTrips() {
    for (const QRgb color : {qRgb(255, 0, 0), qRgb(12, 200, 90), qRgb(255, 255, 255), qRgb(0, 0, 0)}) {
      const auto back = fromOkLab(toOkLab(color));
      QVERIFY(back);
      QVERIFY(std::abs(qRed(*back) - qRed(color)) <= 1 && std::abs(qGreen(*back) - qGreen(color)) <= 1 &&
              std::abs(qBlue(*back) - qBlue(color)) <= 1);
    }
    QVERIFY(std::abs(toOkLab(qRgb(255, 255, 255)).lightness - 1) < 1e-3);
    QVERIFY(!fromOkLab({0.5, 0.4, 0.4}));
  }

  void equalStepsLookEqual() {
    const ColorMap map(0, 1, ColorScale::sequential, false);
    const double whole = toOkLab(map.color(1)).lightness - toOkLab(map.color(0)).lightness;
    QVERIFY(whole > 0.6);
    for (int i = 0; i < 16; ++i) {
      const double step =
          toOkLab(map.color((i + 1) / 16.0)).lightness - toOkLab(map.color(i / 16.0)).lightness;
      QVERIFY2(std::abs(step - whole / 16) < 0.006, qPrintable(QString::number(i)));
    }
  }

  void zeroIsTheMiddleOfADivergingMap() {
    for (const bool dark : {false, true}) {
      const ColorMap map(-1, 3, ColorScale::automatic, dark);
      QVERIFY(map.diverging());
      QCOMPARE(map.low(), -3.0);
      const OkLab zero = toOkLab(map.color(0));
      QVERIFY(std::hypot(zero.a, zero.b) < 0.03);
      for (const double value : {0.5, 1.5, 3.0}) {
        const OkLab above = toOkLab(map.color(value)), below = toOkLab(map.color(-value));
        QVERIFY(std::abs(above.lightness - below.lightness) < 0.02);
        QVERIFY(above.a > 0.02 && below.b < -0.02);  // reddish, bluish
      }
    }
    QVERIFY(!ColorMap(0, 3, ColorScale::automatic, false).diverging());
  }

  void oddRangesHaveColours() {
    const double inf = std::numeric_limits<double>::infinity(), most = std::numeric_limits<double>::max();
    QCOMPARE(ColorMap(5, 5, ColorScale::sequential, false).color(5), ColorMap().color(0.5));
    QCOMPARE(ColorMap(inf, -inf, ColorScale::sequential, false).color(1), ColorMap().color(0.5));
    const ColorMap wide(-most, most, ColorScale::sequential, false);
    QCOMPARE(wide.color(most), ColorMap().color(1));
    QCOMPARE(wide.color(0), ColorMap().color(0.5));
    QCOMPARE(wide.color(std::nan("")), ColorMap::nan_color);
    QCOMPARE(wide.color(-inf), ColorMap::negative_infinity_color);
  }

  void aPixelOfASheetBelongsToOneImage() {
    const ImageSheet sheet = ImageSheet::fitting({28, 28, 196, true}, {1000, 700});
    QVERIFY(sheet.across >= 14 && sheet.across <= 20);
    std::int64_t image = -1, row = -1, column = -1;
    for (const std::int64_t wanted : {0, 16, 195}) {
      const QRectF rect = sheet.imageRect(wanted);
      QVERIFY(sheet.pixelAt(rect.topLeft() + QPointF(3.5, 5.5), image, row, column));
      QCOMPARE(image, wanted);
      QCOMPARE(row, std::int64_t(5));
      QCOMPARE(column, std::int64_t(3));
      QVERIFY(!sheet.pixelAt(rect.topLeft() - QPointF(0.5, 0), image, row, column));
    }
    QVERIFY(!sheet.pixelAt({-1, 4}, image, row, column));
    QVERIFY(!sheet.pixelAt({3, sheet.size().height() + 40}, image, row, column));
  }
};

TAPEDECK_TEST(TensorNumbersTest)
#include "tst_tensor_numbers.moc"
