// Places and labels on the plots' axes: at least three for any range, alike, and each saying where it is.
#include <QSet>
#include <QTest>
#include <cmath>
#include <random>

#include "plots/ticks.h"
#include "tests/test_program.h"

using namespace tapedeck::plots;

class TestTicks : public QObject {
  Q_OBJECT

  static QString told(const std::vector<Tick>& ticks) {
    QStringList texts;
    for (const Tick& tick : ticks) texts << tick.label;
    return texts.join(QStringLiteral(" | "));
  }

  /// What holds for the ticks of any range.
  static void check(const std::vector<Tick>& ticks, Range range, int most, bool logarithmic) {
    const QString context = QStringLiteral("%1 … %2, at most %3%4: %5")
                                .arg(range.from, 0, 'g', 17)
                                .arg(range.to, 0, 'g', 17)
                                .arg(most)
                                .arg(logarithmic ? " logarithmic" : "", told(ticks));
    QVERIFY2(ticks.size() >= 3, qPrintable(context));
    QVERIFY2(static_cast<int>(ticks.size()) <= std::max(most, logarithmic ? 5 : 4), qPrintable(context));
    QSet<QString> labels;
    for (std::size_t i = 0; i < ticks.size(); ++i) {
      const double slack = range.width() * 1e-6;
      QVERIFY2(ticks[i].at >= range.from - slack && ticks[i].at <= range.to + slack, qPrintable(context));
      QVERIFY2(i == 0 || ticks[i].at > ticks[i - 1].at, qPrintable(context));
      QVERIFY2(ticks[i].label == "0" || ticks[i].label.contains('e') == ticks.back().label.contains('e') ||
                   ticks.back().label == "0",
               qPrintable(context));
      labels << ticks[i].label;
      const double read = ticks[i].label.toDouble(), at = logarithmic ? std::log10(read) : read;
      QVERIFY2(std::abs(at - ticks[i].at) <= range.width() * 1e-3, qPrintable(context));
    }
    QVERIFY2(labels.size() == static_cast<qsizetype>(ticks.size()), qPrintable(context));
  }

 private slots:
  void anyRangeHasThreeLabels() {
    std::mt19937 random(3);
    std::uniform_real_distribution<double> exponent(-30, 30), fraction(-1, 1), narrow(-11, 0);
    for (int round = 0; round < 20'000; ++round) {
      const double middle = fraction(random) * std::pow(10, exponent(random));
      const double width = round % 3 == 0 ? std::pow(10, exponent(random))
                                          : std::max(std::abs(middle), 1e-30) * std::pow(10, narrow(random));
      const Range range{middle - width / 2, middle + width / 2};
      if (range.width() < 1e-12 * std::abs(middle)) continue;
      const int most = 3 + round % 6;
      check(linearTicks(range, most), range, most, false);
      if (QTest::currentTestFailed()) return;
    }
  }

  void anyRangeOfALogAxisHasThreeLabels() {
    std::mt19937 random(4);
    std::uniform_real_distribution<double> middle(-20, 20), size(-9, 1.5);
    for (int round = 0; round < 20'000; ++round) {
      const double at = middle(random), width = std::pow(10, size(random));
      const Range range{at - width / 2, at + width / 2};
      const int most = 3 + round % 6;
      check(logTicks(range, most), range, most, true);
      if (QTest::currentTestFailed()) return;
    }
  }

  void constantSeriesHaveARangeAroundThem_data() {
    QTest::addColumn<double>("value");
    for (const double value : {0.0, 1.0, -3.5, 1e-300, 5e-324, 1e300, -1.7e308, 0.1 + 0.2, 123456789.125})
      QTest::addRow("%g", value) << value;
  }
  void constantSeriesHaveARangeAroundThem() {
    QFETCH(double, value);
    for (const double last : {value, std::nextafter(value, 1e308)}) {
      const Range range = padded({value, last});
      QVERIFY((range.from < value || value < -7e307) && range.to > value);
      QVERIFY(std::isfinite(range.width()));
      check(linearTicks(range, 3), range, 3, false);
      check(linearTicks(range, 8), range, 8, false);
    }
  }

  void labelsAreAlike() {
    const auto labels = [](const std::vector<Tick>& ticks) { return told(ticks); };
    QCOMPARE(labels(linearTicks({-0.1, 1.05}, 4)), QStringLiteral("0.0 | 0.5 | 1.0"));
    QCOMPARE(labels(linearTicks({0, 2.1e-5}, 4)), QStringLiteral("0 | 1e-05 | 2e-05"));
    QCOMPARE(labels(linearTicks({7e5, 1.25e6}, 3)), QStringLiteral("8.0e+05 | 1.0e+06 | 1.2e+06"));
    QCOMPARE(labels(linearTicks({-950, -480}, 5)), QStringLiteral("-900 | -800 | -700 | -600 | -500"));
    QCOMPARE(labels(logTicks({-2.2, 2.1}, 6)), QStringLiteral("0.01 | 0.1 | 1 | 10 | 100"));
    QCOMPARE(labels(logTicks({-5.1, -1.9}, 6)), QStringLiteral("1e-05 | 1e-04 | 1e-03 | 1e-02"));
    QCOMPARE(labels(logTicks({-0.8, 0.5}, 6)), QStringLiteral("0.2 | 0.5 | 1 | 2"));
  }
};

TAPEDECK_TEST(TestTicks)
#include "tst_ticks.moc"
