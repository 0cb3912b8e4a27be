// The debug server's thread sleeps while nothing happens, and tells what then happens all the same.
#include <QtTest>
#include <atomic>
#include <thread>

#include "tests/engine/debug/served.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace test_ops;
using namespace tapedeck::protocol;
using std::chrono::milliseconds;

namespace {

/// Whether no turn is made any more; waits until that is so.
bool falls_asleep(const Served& served) {
  return wait_for([&] {
    const std::uint64_t before = served.server->turns();
    std::this_thread::sleep_for(milliseconds(200));  // six intervals between two looks
    return served.server->turns() == before;
  });
}

/// The turns that it makes within a second and a half.
std::uint64_t turns_in_a_while(const Served& served) {
  const std::uint64_t before = served.server->turns();
  std::this_thread::sleep_for(milliseconds(1500));
  return served.server->turns() - before;
}

/// The next status that comes unasked and of which the condition holds.
template <class Condition>
bool is_told(RawClient& client, Condition&& condition) {
  while (const auto reply = client.receive(milliseconds(20000)))
    if (const auto* status = protocol::get_if<Status>(&reply->message); status && condition(*status))
      return true;
  return false;
}

}  // namespace

class TestServerSleep : public QObject {
  Q_OBJECT
 private slots:
  void an_idle_session_wakes_nobody() {
    Served served;
    RawClient client = served.client();
    client.greet();
    multiply(scalar(2), scalar(3));
    QVERIFY(falls_asleep(served));
    QCOMPARE(turns_in_a_while(served), std::uint64_t{0});
  }

  void neither_does_one_that_waits_at_the_gate() {
    Served served;
    RawClient client = served.client();
    client.greet();
    client.ask<Status>(SetGate{GateCommand::pause});
    std::thread session([] { multiply(scalar(2), scalar(3)); });
    QVERIFY(is_told(client, [](const Status& status) { return status.gate == GateState::stopped; }));
    const bool asleep = falls_asleep(served);
    const std::uint64_t turns = turns_in_a_while(served);
    client.ask<Status>(SetGate{GateCommand::run});
    session.join();
    QVERIFY(asleep);
    QCOMPARE(turns, std::uint64_t{0});
  }

  void a_question_is_answered_and_sleep_goes_on() {
    Served served;
    RawClient client = served.client();
    client.greet();
    QVERIFY(falls_asleep(served));
    const std::uint64_t before = served.server->turns();
    client.ask<Status>(GetStatus{});
    QVERIFY(falls_asleep(served));
    // One for the question, one for each of the looks that follow, and what ZeroMQ itself signals.
    QVERIFY2(served.server->turns() - before <= 8,
             qPrintable(QString::number(served.server->turns() - before)));
  }

  void an_op_wakes_it() {
    Served served;
    RawClient client = served.client();
    client.greet();
    for (std::uint64_t number = 1; number <= 3; ++number) {
      QVERIFY(falls_asleep(served));
      multiply(scalar(2), scalar(3));
      QVERIFY(is_told(client, [number](const Status& status) { return status.finished == number; }));
    }
  }

  void so_do_cells_curves_and_the_switch_of_the_recording() {
    Served served;
    RawClient client = served.client();
    client.greet();
    QVERIFY(falls_asleep(served));
    served.recorder.begin_cell("first");
    QVERIFY(is_told(client, [](const Status& status) { return status.running_cell == "first"; }));
    QVERIFY(falls_asleep(served));
    served.recorder.add_scalar("loss", 1, 0.5);
    QVERIFY(is_told(client, [](const Status& status) { return status.series_points == 1; }));
    QVERIFY(falls_asleep(served));
    served.recorder.end_cell();
    QVERIFY(is_told(client, [](const Status& status) { return status.cells_ended == 1; }));
    QVERIFY(falls_asleep(served));
    served.recorder.set_recording(false);
    QVERIFY(is_told(client, [](const Status& status) { return !status.recording; }));
  }

  // The last op of a burst may end at the very moment at which the server decides to sleep.
  void no_last_op_goes_untold() {
    Served served;
    RawClient client = served.client();
    client.greet();
    std::uint64_t number = 0;
    for (int burst = 0; burst < 40; ++burst) {
      std::this_thread::sleep_for(milliseconds(150 + 3 * burst));
      multiply(scalar(2), scalar(3));
      ++number;
      QVERIFY(is_told(client, [number](const Status& status) { return status.finished == number; }));
    }
  }
};

TAPEDECK_TEST(TestServerSleep)
#include "tst_server_sleep.moc"
