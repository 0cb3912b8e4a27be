// How views write numbers: alike within a view, and nothing that is not zero reads as zero.
#include <QTest>
#include <cmath>
#include <limits>
#include <random>

#include "inspector/model/tensor/notation.h"
#include "tests/test_program.h"

using namespace tapedeck::inspector;

class TestNotation : public QObject {
  Q_OBJECT

  static QStringList texts(const QList<double>& values, int digits = 5) {
    const Notation notation =
        Notation::of({values.constData(), static_cast<std::size_t>(values.size())}, digits);
    QStringList result;
    for (const double value : values) result << notation.text(value);
    return result;
  }

 private slots:
  void numbersOfAViewAreWrittenAlike_data() {
    QTest::addColumn<QList<double>>("values");
    QTest::addColumn<QStringList>("expected");
    const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
    QTest::newRow("small ones beside smaller ones")
        << QList<double>{0.00002, 1.9e-06} << QStringList{"2.0000e-05", "1.9000e-06"};
    QTest::newRow("a very small one takes all along")
        << QList<double>{0.25, 1.9e-06, 0} << QStringList{"2.5000e-01", "1.9000e-06", "0"};
    QTest::newRow("weights") << QList<double>{0.0312512, -0.25} << QStringList{"0.03125", "-0.25000"};
    QTest::newRow("no zeros for nothing")
        << QList<double>{0.5, -0.25, 0} << QStringList{"0.50", "-0.25", "0.00"};
    QTest::newRow("whole") << QList<double>{1, -200, 0} << QStringList{"1", "-200", "0"};
    QTest::newRow("whole and many") << QList<double>{1, 16777216} << QStringList{"1", "16777216"};
    QTest::newRow("large") << QList<double>{1e9, 2.5} << QStringList{"1.0000e+09", "2.5000e+00"};
    QTest::newRow("hundreds") << QList<double>{255, 33.318421} << QStringList{"255.00", "33.32"};
    QTest::newRow("not finite") << QList<double>{nan, inf, -inf, 1.5}
                                << QStringList{"nan", "inf", "-inf", "1.5"};
    QTest::newRow("nothing") << QList<double>{} << QStringList{};
    QTest::newRow("zeros") << QList<double>{0, 0} << QStringList{"0", "0"};
  }
  void numbersOfAViewAreWrittenAlike() {
    QFETCH(QList<double>, values);
    QFETCH(QStringList, expected);
    QCOMPARE(texts(values), expected);
  }

  void whatIsNotZeroNeverReadsAsZeroAndNotationsAreNotMixed() {
    std::mt19937 random(7);
    std::uniform_real_distribution<double> exponent(-12, 8), mantissa(-10, 10);
    for (int round = 0; round < 2000; ++round) {
      QList<double> values;
      for (int i = 0; i < 1 + round % 6; ++i) values << mantissa(random) * std::pow(10, exponent(random));
      const QStringList written = texts(values, 3 + round % 4);
      for (qsizetype i = 0; i < values.size(); ++i) {
        const double read = written[i].toDouble();
        QVERIFY2(std::abs(read - values[i]) <= 0.06 * std::abs(values[i]),
                 qPrintable(written.join(' ') + QString::number(values[i])));
        QCOMPARE(written[i].contains('e'), written[0].contains('e'));
        QCOMPARE(written[i].section('e', 0, 0).section('.', 1).size(),
                 written[0].section('e', 0, 0).section('.', 1).size());
      }
    }
  }

  void stepsOfAnAxisHaveTheDigitsThatTellThemApart() {
    QCOMPARE(Notation::ofSteps(1, 0.25).text(0.5), QStringLiteral("0.50"));
    QCOMPARE(Notation::ofSteps(2e-5, 5e-6).text(1e-5), QStringLiteral("1.0e-05"));
    QCOMPARE(Notation::ofSteps(2e-5, 5e-6).text(0), QStringLiteral("0"));
    QCOMPARE(Notation::ofSteps(1.0000004, 1e-7).text(1.0000003), QStringLiteral("1.0000003"));
    QCOMPARE(Notation::ofSteps(1, 0.1).text(-1e-9), QStringLiteral("0.0"));
    QCOMPARE(Notation::ofSteps(3e6, 1e6).text(2e6), QStringLiteral("2e+06"));
    QCOMPARE(Notation::ofSteps(800, 200).text(-400), QStringLiteral("-400"));
  }

  void trainingStepsAreWrittenInFull() {
    QCOMPARE(stepText(1234567), QStringLiteral("1,234,567"));
    QCOMPARE(stepText(-1200), QStringLiteral("-1,200"));
    QCOMPARE(stepText(0.5), QStringLiteral("0.5"));
    QCOMPARE(stepText(0), QStringLiteral("0"));
  }
};

TAPEDECK_TEST(TestNotation)
#include "tst_notation.moc"
