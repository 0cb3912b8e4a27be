// An idle session, and one that waits at the gate, leave the machine alone: neither its process nor the
// window's threads wake up to look whether something has happened. Counted, with room for the heartbeats and
// for what Python does by itself.
#include <QtTest>

#include "tests/kernel/session_probe.h"
#include "tests/test_program.h"
#include "tests/wakeups.h"

using namespace tapedeck::app;

namespace {

constexpr int looked_at = 6000;  // milliseconds
// Thirty looks a second at the status would be 180 of the session alone, a beat a second some 40 of the
// client.
constexpr qint64 most_of_session = 60, most_of_client = 30;

}  // namespace

class TestIdleSession : public QObject {
  Q_OBJECT

  std::unique_ptr<Probe> probe_;

  /// Of the session, and of the threads that speak to it.
  std::pair<qint64, qint64> wakeupsInAWhile() {
    const qint64 session = probe_->session.processId(), own = QCoreApplication::applicationPid();
    const auto now = [&] { return std::pair(tapedeck::wakeups(session), tapedeck::wakeups(own, own)); };
    nothingMayHappenFor(2000);  // what the cell left to do
    const auto before = now();
    nothingMayHappenFor(looked_at);
    const auto after = now();
    return {after.first - before.first, after.second - before.second};
  }

 private slots:
  void initTestCase() {
    probe_ = std::make_unique<Probe>();
    QVERIFY2(startAndWait(*probe_), qPrintable(probe_->sentence));
    QTRY_VERIFY_WITH_TIMEOUT(probe_->session.debugSource()->connected(), generous);
    QCOMPARE(run(*probe_, "ops", "import tapedeck as tf\nx = tf.ones([64, 64]) @ tf.ones([64, 64])"),
             QString("ok"));
  }
  void cleanupTestCase() { probe_.reset(); }

  void nobodyWakesUpWhileNothingRuns() {
    const auto [session, client] = wakeupsInAWhile();
    QVERIFY2(session < most_of_session, qPrintable(QString("the session %1 times").arg(session)));
    QVERIFY2(client < most_of_client, qPrintable(QString("the window's threads %1 times").arg(client)));
  }

  void aThreadAtTheGateLooksRarely() {
    auto* source = probe_->session.debugSource();
    source->request(tapedeck::protocol::SetGate{tapedeck::protocol::GateCommand::pause});
    probe_->session.execute("waits", "tf.exp(tf.constant(2.));");
    bool stopped = false;
    const auto connection =
        connect(source, &tapedeck::inspector::Source::received, this,
                [&](quint64, const tapedeck::protocol::Reply& reply) {
                  if (const auto* status = tapedeck::protocol::get_if<tapedeck::protocol::Status>(&reply))
                    stopped = status->gate == tapedeck::protocol::GateState::stopped;
                });
    QTRY_VERIFY_WITH_TIMEOUT(stopped, generous);
    const auto [session, client] = wakeupsInAWhile();
    disconnect(connection);
    source->request(tapedeck::protocol::SetGate{tapedeck::protocol::GateCommand::run});
    QTRY_COMPARE_WITH_TIMEOUT(probe_->finished.value("waits"), QString("ok"), generous);
    // The gate's thread looks four times a second for an interrupt, and a beat a second is sent while a cell
    // runs.
    QVERIFY2(session < 2 * most_of_session, qPrintable(QString("the session %1 times").arg(session)));
    QVERIFY2(client < 4 * most_of_client, qPrintable(QString("the window's threads %1 times").arg(client)));
  }
};

TAPEDECK_TEST(TestIdleSession, .alone = "it counts what the threads of its process do")
#include "tst_idle_session.moc"
