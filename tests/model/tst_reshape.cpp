// The reshape box: what it reads, and the sentences for what it can't.
#include <QRandomGenerator>
#include <QTest>

#include "inspector/model/format.h"
#include "inspector/model/tensor/reshape.h"
#include "tests/test_program.h"

using namespace tapedeck::inspector;
using Shape = std::vector<std::int64_t>;

class TestReshape : public QObject {
  Q_OBJECT
 private slots:
  void readsShapesAsPeopleWriteThem_data();
  void readsShapesAsPeopleWriteThem();
  void namesWhatIsWrong_data();
  void namesWhatIsWrong();
  void seesMatricesAsImages();
  void survivesAnyText();
  void writesNumbersAlike();
};

void TestReshape::readsShapesAsPeopleWriteThem_data() {
  QTest::addColumn<QString>("text");
  QTest::addColumn<QList<qint64>>("expected");
  const QList<qint64> three{28, 28, 196};
  QTest::newRow("x") << "28x28x196" << three;
  QTest::newRow("times") << QStringLiteral("28×28×196") << three;
  QTest::newRow("commas") << "28, 28,196" << three;
  QTest::newRow("spaces") << "  28 28   196 " << three;
  QTest::newRow("tuple") << "(28, 28, 196)" << three;
  QTest::newRow("list") << "[28, 28, 196]" << three;
  QTest::newRow("open axis") << "28x28x-1" << three;
  QTest::newRow("open first axis") << "(-1, 28, 196)" << three;
  QTest::newRow("one axis, as Python writes it") << "(153664,)" << QList<qint64>{153664};
  QTest::newRow("flat") << "-1" << QList<qint64>{153664};
  QTest::newRow("empty") << "  " << QList<qint64>{};
}

void TestReshape::readsShapesAsPeopleWriteThem() {
  QFETCH(QString, text);
  QFETCH(QList<qint64>, expected);
  const Reshape result = parseReshape(text, {784, 196});
  QCOMPARE(result.error, QString());
  QVERIFY(!result.images);
  QCOMPARE(QList<qint64>(result.shape.begin(), result.shape.end()), expected);
}

void TestReshape::namesWhatIsWrong_data() {
  QTest::addColumn<QString>("text");
  QTest::addColumn<QString>("sentence");
  QTest::newRow("count") << "28x27" << QStringLiteral("784×196 has 153,664 elements, 28×27 has 756");
  QTest::newRow("words") << "tall"
                         << QStringLiteral(
                                "“tall” is not a shape: write sizes like 28×28×196 or (28, 28, -1)");
  QTest::newRow("missing size") << "28,,28"
                                << QStringLiteral(
                                       "“28,,28” is not a shape: write sizes like 28×28×196 or (28, 28, -1)");
  QTest::newRow("negative") << "28x-2"
                            << QStringLiteral(
                                   "axis 1 has size -2: sizes are not negative, and one may be -1");
  QTest::newRow("two open") << "-1,28,-1" << QStringLiteral("axes 0 and 2 are both -1: only one may be");
  QTest::newRow("no multiple") << "5,-1"
                               << QStringLiteral(
                                      "784×196 has 153,664 elements, which is not a multiple of 5");
  QTest::newRow("zero beside open") << "0,-1"
                                    << QStringLiteral(
                                           "784×196 has 153,664 elements, which is not a multiple of 0");
  QTest::newRow("huge") << "999999999999999x999999999999999"
                        << QStringLiteral("999999999999999×999999999999999 is too large a shape");
}

void TestReshape::namesWhatIsWrong() {
  QFETCH(QString, text);
  QFETCH(QString, sentence);
  QCOMPARE(parseReshape(text, {784, 196}).error, sentence);
}

void TestReshape::seesMatricesAsImages() {
  const Reshape columns = parseReshape("28,28", {784, 196});
  QVERIFY(columns.images);
  QCOMPARE(columns.images->count, 196);
  QVERIFY(columns.images->alongColumns);
  const Reshape rows = parseReshape("28x28", {10'000, 784});
  QVERIFY(rows.images);
  QCOMPARE(rows.images->count, 10'000);
  QVERIFY(!rows.images->alongColumns);
  // Where it is a plain reshape too, that is what it is.
  QVERIFY(!parseReshape("4,4", {4, 4}).images);
  QVERIFY(!parseReshape("2,2", {4}).images);
  QCOMPARE(parseReshape("1000,1000", {1'000'000, 3}).error,
           QStringLiteral("images of 1,000,000 elements are too large: at most 262,144"));
}

void TestReshape::survivesAnyText() {
  QRandomGenerator random(7);
  const QString alphabet = QStringLiteral("0123456789x×,()[]- *e.٣-\t\n");
  for (int round = 0; round < 20'000; ++round) {
    QString text;
    for (quint32 length = random.bounded(14u); length > 0; --length)
      text += alphabet.at(random.bounded(static_cast<int>(alphabet.size())));
    const Reshape result = parseReshape(text, {6, 4});
    if (result.error.isEmpty() && !result.shape.empty()) QCOMPARE(elementCount(result.shape), 24);
  }
  QVERIFY(!parseReshape(QString(10'000, QLatin1Char('1')), {6, 4}).error.isEmpty());
  QVERIFY(!parseReshape("3x8", {-1, 4}).error.isEmpty());
}

void TestReshape::writesNumbersAlike() {
  QCOMPARE(countText(0), QStringLiteral("0"));
  QCOMPARE(countText(999), QStringLiteral("999"));
  QCOMPARE(countText(1204), QStringLiteral("1,204"));
  QCOMPARE(countText(1'000'000), QStringLiteral("1,000,000"));
  QCOMPARE(ordinalText(1), QStringLiteral("1st"));
  QCOMPARE(ordinalText(2), QStringLiteral("2nd"));
  QCOMPARE(ordinalText(3), QStringLiteral("3rd"));
  QCOMPARE(ordinalText(10), QStringLiteral("10th"));
  QCOMPARE(ordinalText(12), QStringLiteral("12th"));
  QCOMPARE(ordinalText(1'111), QStringLiteral("1,111th"));
  QCOMPARE(ordinalText(1'223), QStringLiteral("1,223rd"));
  QCOMPARE(durationText(350), QStringLiteral("350 ns"));
  QCOMPARE(durationText(12'500), QStringLiteral("12.5 µs"));
  QCOMPARE(durationText(1'200'000'000), QStringLiteral("1.20 s"));
  QCOMPARE(shapeText({}), QStringLiteral("scalar"));
  QCOMPARE(shapeText({784, 196}), QStringLiteral("784×196"));
}

TAPEDECK_TEST(TestReshape)
#include "tst_reshape.moc"
