// The C++ sample prints what mathematics says.
#include <QProcess>
#include <QtTest>
#include <cmath>

class TestCppSample : public QObject {
  Q_OBJECT

 private slots:
  void the_sample_prints_the_right_numbers() {
    QProcess sample;
    sample.start(TAPEDECK_BUILD_DIR "/samples/cpp/tapedeck_cpp_sample", {});
    QVERIFY2(sample.waitForStarted(), qPrintable(sample.errorString()));
    QVERIFY(sample.waitForFinished());
    QVERIFY2(sample.exitCode() == 0, sample.readAllStandardError().constData());
    const QStringList lines =
        QString::fromUtf8(sample.readAllStandardOutput()).split('\n', Qt::SkipEmptyParts);
    QCOMPARE(lines.size(), 7);
    QCOMPARE(lines[0], "x^3 at 2: value 8, first derivative 12, second derivative 12");
    QCOMPARE(lines[1], "log(1 + e^x) at 0: naive gradient 0.5, custom gradient 0.5");
    QVERIFY2(QRegularExpression("^log\\(1 \\+ e\\^x\\) at 100: naive gradient -?nan, custom gradient 1$")
                 .match(lines[2])
                 .hasMatch(),
             qPrintable(lines[2]));
    // The mean of (3x + 2)² over the points: 4 + 9 · 0.34, and the noise.
    QVERIFY2(lines[3].startsWith("step  0: loss "), qPrintable(lines[3]));
    QVERIFY2(std::abs(lines[3].section(' ', -1).toDouble() - 7.06) < 0.01, qPrintable(lines[3]));
    QCOMPARE(lines[5], "step 60: loss 0.000");
    QCOMPARE(lines[6], "fitted line: 3.00 x + 2.00");
  }
};

QTEST_GUILESS_MAIN(TestCppSample)
#include "tst_cpp_sample.moc"
