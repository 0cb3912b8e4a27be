// How tests wait for what must come: as long as it takes on a machine that has much else to do, and no
// longer.
#pragma once

#include <QDeadlineTimer>
#include <QTimer>
#include <QtTest>
#include <utility>

namespace tapedeck {

constexpr int patience = 60000;  // milliseconds: a bound for a hang, not a measurement

/// Handles events as they come, until the condition holds; false: the time is up. QTest::qWaitFor sleeps for
/// 10 ms between two looks at the queue, and QTRY_VERIFY for 50 ms between two looks at the condition.
template <class Condition>
bool waitFor(Condition condition, int milliseconds = patience) {
  if (condition()) return true;
  const QDeadlineTimer end(milliseconds);
  QTimer look;  // at what no event tells of: a file, another process
  look.start(10);
  do {
    QCoreApplication::processEvents(QEventLoop::WaitForMoreEvents);
    QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
    if (condition()) return true;
  } while (!end.hasExpired());
  return false;
}

/// Handles events for that time, in which what the test looks at next must not happen. The time only has to
/// be longer than what would make it happen takes: a test that is too fast here passes without a reason.
inline void nothingMayHappenFor(int milliseconds) {
  QTest::qWait(milliseconds);
}

/// What `look` gives once that stays the same: what a window lays out moves in several turns of its event
/// loop.
template <class Look>
auto settled(Look look, int longEnough = 20) {
  auto seen = look();
  int turns = 0;
  (void)QTest::qWaitFor(
      [&] {
        auto now = look();
        turns = now == seen ? turns + 1 : 0;
        seen = std::move(now);
        return turns > longEnough;
      },
      patience);
  return seen;
}

}  // namespace tapedeck

// Qt's own look at the condition every 50 ms, and have a limit of 5 seconds, which a busy machine may take to
// start one process.
#undef QTRY_VERIFY_WITH_TIMEOUT
#undef QTRY_VERIFY
#undef QTRY_VERIFY2_WITH_TIMEOUT
#undef QTRY_VERIFY2
#undef QTRY_COMPARE_WITH_TIMEOUT
#undef QTRY_COMPARE
#define QTRY_VERIFY_WITH_TIMEOUT(condition, milliseconds)                               \
  do {                                                                                  \
    (void)::tapedeck::waitFor([&]() -> bool { return bool(condition); }, milliseconds); \
    QVERIFY(condition);                                                                 \
  } while (false)
#define QTRY_VERIFY2_WITH_TIMEOUT(condition, message, milliseconds)                     \
  do {                                                                                  \
    (void)::tapedeck::waitFor([&]() -> bool { return bool(condition); }, milliseconds); \
    QVERIFY2(condition, message);                                                       \
  } while (false)
#define QTRY_COMPARE_WITH_TIMEOUT(actual, expected, milliseconds)                              \
  do {                                                                                         \
    (void)::tapedeck::waitFor([&]() -> bool { return (actual) == (expected); }, milliseconds); \
    QCOMPARE(actual, expected);                                                                \
  } while (false)
#define QTRY_VERIFY(condition) QTRY_VERIFY_WITH_TIMEOUT(condition, ::tapedeck::patience)
#define QTRY_VERIFY2(condition, message) QTRY_VERIFY2_WITH_TIMEOUT(condition, message, ::tapedeck::patience)
#define QTRY_COMPARE(actual, expected) QTRY_COMPARE_WITH_TIMEOUT(actual, expected, ::tapedeck::patience)
