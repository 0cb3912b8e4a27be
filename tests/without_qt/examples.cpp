// Tests that pass, fail and are skipped on purpose: check_examples.cmake compares what is said of them, by
// QtTest and by the stand-in.
#include <QtTest>
#include <cstdlib>
#include <stdexcept>

#include "tests/test_program.h"

class Examples : public QObject {
  Q_OBJECT
 public:
  int not_a_test() const { return calls_; }

 private slots:
  void initTestCase() { ++calls_; }
  void cleanupTestCase() { QCOMPARE(calls_, inits_ * 100 + 1); }
  void init() { ++inits_; }
  void cleanup() { calls_ += 100; }

  void what_holds_passes() {
    QVERIFY(true);
    QVERIFY2(!false, "not said");
    QCOMPARE(2 * 3, 6);
    QCOMPARE(0.1 + 0.2, 0.3);  // the last digit may differ
    QCOMPARE(0.1F * 3, 0.3F);
    QCOMPARE(std::nan(""), std::nan(""));
    QCOMPARE(std::string("a"), "a");
    QVERIFY_THROWS_EXCEPTION(std::runtime_error, throw std::runtime_error("x"));
    QVERIFY_EXCEPTION_THROWN(throw std::runtime_error("x"), std::exception);
    QTRY_VERIFY_WITH_TIMEOUT(calls_ > 0, 1000);
  }
  void a_false_statement_fails() { QVERIFY(not_a_test() == -1); }
  void a_false_statement_says_why() { QVERIFY2(1 > 2, qPrintable(QString("one is %1").arg("one"))); }
  void other_values_are_shown() {
    QCOMPARE(2 * 3, 7);
    std::abort();
  }
  void other_texts_are_shown() { QCOMPARE(QString("a%1").arg(1), QString("a2")); }
  void numbers_that_are_apart_fail() { QCOMPARE(0.25, 0.5); }
  void fails_by_itself() { QFAIL("on purpose"); }
  void is_skipped() { QSKIP("on purpose"); }
  void may_fail_and_go_on() {
    QEXPECT_FAIL("", "known", Continue);
    QVERIFY(false);
    QVERIFY(true);
  }
  void may_fail_and_end() {
    QEXPECT_FAIL("", "known", Abort);
    QVERIFY(false);
    std::abort();
  }
  void was_expected_to_fail() {
    QEXPECT_FAIL("", "known", Continue);
    QVERIFY(true);
  }
  void another_class_was_thrown() {
    QVERIFY_THROWS_EXCEPTION(std::logic_error, throw std::runtime_error("x"));
  }
  void nothing_was_thrown() { QVERIFY_THROWS_EXCEPTION(std::logic_error, static_cast<void>(0)); }

  void rows_data() {
    QTest::addColumn<int>("number");
    QTest::addColumn<QString>("text");
    QTest::newRow("one") << 1 << "1";
    QTest::newRow("two") << 2 << "3";
    QTest::addRow("number %d", 3) << 3 << "3";
  }
  void rows() {
    QFETCH(int, number);
    QFETCH(QString, text);
    if (number == 3) QSKIP("the third");
    QCOMPARE(QString::number(number), text);
  }
  void is_told() { qInfo("%d and %s", 1, "two"); }

 private:
  int calls_ = 0, inits_ = 0;
};

TAPEDECK_TEST(Examples)
#include "examples.moc"
