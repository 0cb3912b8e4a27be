// The look over JSON text before it is parsed.
#include <QtTest>
#include <nlohmann/json.hpp>

#include "engine/protocol/json_check.h"
#include "tests/test_program.h"

using namespace tapedeck::protocol;

class TestJsonCheck : public QObject {
  Q_OBJECT
 private slots:
  void nestingIsThatOfTheDeepestPlace_data() {
    QTest::addColumn<QByteArray>("text");
    QTest::addColumn<int>("nesting");
    QTest::newRow("nothing") << QByteArray() << 0;
    QTest::newRow("number") << QByteArray("7") << 0;
    QTest::newRow("brackets in a string") << QByteArray("\"[[[\"") << 0;
    QTest::newRow("behind an escaped quote") << QByteArray("[\"\\\"[\", \"\\\\\", [1]]") << 2;
    QTest::newRow("side by side") << QByteArray("[[], {}, [[]], {}]") << 3;
    QTest::newRow("objects") << QByteArray("{\"a\": {\"b\": [1]}}") << 3;
    QTest::newRow("more ends") << QByteArray("]]][") << 1;
    QTest::newRow("never ended") << QByteArray::fromStdString(std::string(200'000, '[')) << 200'000;
    QTest::newRow("a string that never ends") << QByteArray("[\"[[\\") << 1;
  }
  void nestingIsThatOfTheDeepestPlace() {
    QFETCH(QByteArray, text);
    QFETCH(int, nesting);
    QCOMPARE(json_nesting(text.toStdString()), nesting);
  }

  void whatIsDeeperIsNull_data() {
    QTest::addColumn<QString>("text");
    QTest::addColumn<QString>("cut");
    QTest::newRow("as it is") << "{\"a\": [1, 2], \"b\": \"[[\"}"
                              << "{\"a\":[1,2],\"b\":\"[[\"}";
    QTest::newRow("a list") << "{\"a\": [1, [2, 3], 4]}"
                            << "{\"a\":[1,null,4]}";
    QTest::newRow("several") << "[[{\"x\": [[]]}, [1], 5], {\"k\": {}}]"
                             << "[[null,null,5],{\"k\":null}]";
    QTest::newRow("strings in it") << "[[[\"]\", \"\\\"]\"], 1]]"
                                   << "[[null,1]]";
  }
  void whatIsDeeperIsNull() {
    QFETCH(QString, text);
    QFETCH(QString, cut);
    const std::string kept = cut_json_nesting(text.toStdString(), 2);
    QVERIFY(json_nesting(kept) <= 2);
    const auto json = nlohmann::json::parse(kept, nullptr, false);
    QVERIFY(!json.is_discarded());
    QCOMPARE(QString::fromStdString(json.dump()), cut);
  }

  void whatIsNoJsonStaysNone() {
    for (const char* text : {"[[[[", "[[[[]]", "[[1 2]]", "]", "[[[]]]]", "[1,[2,[3,[4]]", "[[[\"]]]"})
      QVERIFY2(!nlohmann::json::accept(cut_json_nesting(text, 2)), text);
  }
};

TAPEDECK_TEST(TestJsonCheck)
#include "tst_json_check.moc"
