// How long tests wait for what must come: long enough for a machine that has much else to do.
#pragma once

#include <QtTest>
#include <utility>

namespace tapedeck {

constexpr int patience = 60000;  // milliseconds: a bound for a hang, not a measurement

/// What `look` gives once that stays the same: what a window lays out moves in several turns of its event
/// loop.
template <class Look>
auto settled(Look look) {
  auto seen = look();
  int turns = 0;
  (void)QTest::qWaitFor(
      [&] {
        auto now = look();
        turns = now == seen ? turns + 1 : 0;
        seen = std::move(now);
        return turns > 20;
      },
      patience);
  return seen;
}

}  // namespace tapedeck

// Qt's own limit is 5 seconds, which a busy machine may take to start one process.
#undef QTRY_VERIFY
#undef QTRY_VERIFY2
#undef QTRY_COMPARE
#define QTRY_VERIFY(condition) QTRY_VERIFY_WITH_TIMEOUT(condition, ::tapedeck::patience)
#define QTRY_VERIFY2(condition, message) QTRY_VERIFY2_WITH_TIMEOUT(condition, message, ::tapedeck::patience)
#define QTRY_COMPARE(actual, expected) QTRY_COMPARE_WITH_TIMEOUT(actual, expected, ::tapedeck::patience)
