// Programs that do not get to their end must not look as if they had passed. check_bad_ends.cmake runs each
// function alone.
#include <QtTest>
#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <thread>

#include "tests/test_program.h"

class BadEnds : public QObject {
  Q_OBJECT
 private slots:
  void a_crash() { std::raise(SIGSEGV); }
  void an_abort() { std::abort(); }
  void an_exit() { std::exit(0); }
  void an_exception() { throw std::runtime_error("thrown on purpose"); }
  void an_exception_in_a_thread() {
    std::thread([] { throw std::runtime_error("thrown on purpose"); }).join();
  }
  void no_rows_data() { QTest::addColumn<int>("number"); }
  void no_rows() {
    QFETCH(int, number);
    QCOMPARE(number, 1);
  }
  void another_type_data() {
    QTest::addColumn<int>("number");
    QTest::newRow("one") << 1.0;
  }
  void another_type() {
    QFETCH(int, number);
    QCOMPARE(number, 1);
  }
};

TAPEDECK_TEST(BadEnds)
#include "bad_ends.moc"
