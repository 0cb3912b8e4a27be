// The app's own session process, engine and debug server in it, as the inspector sees it.
#include "tests/kernel/session_probe.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::app;

class TestSessionDebug : public QObject {
  Q_OBJECT
 private slots:
  void initTestCase();
  void cleanupTestCase() { probe_.reset(); }

  void recordsNameCellAndLine();
  void codeOfAnEarlierCellKeepsThatCell();
  void theGateStopsAndStepsAndGoesOn();
  void interruptAtTheGateEndsTheCellAndTheSessionLives();
  void interruptBetweenOpsEndsTheCell();
  void interruptEndsALongOpInItsMiddle();
  void aListAtTheEndOfACellIsASeries();
  void seriesOfACellRestartWithIt();
  void restartConnectsAgainAndStartsOver();
  void theDeathOfTheProcessDisconnects();

 private:
  /// The reply to a request; waits for it.
  template <class Reply>
  Reply ask(const protocol::Request& request) {
    std::optional<protocol::Reply> answer;
    auto* source = probe_->session.debugSource();
    const quint64 wanted = source->request(request);
    const auto connection =
        connect(source, &inspector::Source::received, this, [&](quint64 id, const protocol::Reply& reply) {
          if (id == wanted) answer = reply;
        });
    (void)waitFor([&] { return answer.has_value(); }, generous);
    disconnect(connection);
    if (!answer) throw std::runtime_error("no answer");
    if (const auto* failure = protocol::get_if<protocol::Failure>(&*answer))
      throw std::runtime_error(failure->reason);
    return protocol::get<Reply>(*answer);
  }
  std::vector<protocol::Record> recordsOf(const QString& cell) {
    std::vector<protocol::Record> found;
    for (auto& record : ask<protocol::Records>(protocol::GetRecords{1, 1000, true}).records)
      if (record.cell == cell.toStdString()) found.push_back(record);
    return found;
  }
  bool waitForGate(protocol::GateState state) {
    return waitFor([&] { return ask<protocol::Status>(protocol::GetStatus{}).gate == state; }, generous);
  }

  std::unique_ptr<Probe> probe_;
};

void TestSessionDebug::initTestCase() {
  probe_ = std::make_unique<Probe>();
  QVERIFY2(startAndWait(*probe_), qPrintable(probe_->sentence));
  QTRY_VERIFY_WITH_TIMEOUT(probe_->session.debugSource()->connected(), generous);
  QCOMPARE(run(*probe_, "imports", "import tapedeck as tf"), QString("ok"));
}

void TestSessionDebug::recordsNameCellAndLine() {
  QCOMPARE(run(*probe_, "lines", "x = tf.constant(3.)\n\ny = tf.multiply(x, x)\nprint(float(y))"),
           QString("ok"));
  QCOMPARE(probe_->printed("lines"), QString("9.0\n"));
  const auto records = recordsOf("lines");
  QCOMPARE(records.size(), std::size_t{1});
  QCOMPARE(records[0].op, std::string("multiply"));
  QCOMPARE(records[0].line, std::uint32_t{3});
}

void TestSessionDebug::codeOfAnEarlierCellKeepsThatCell() {
  QCOMPARE(run(*probe_, "defines", "def negated(x):\n    return tf.negative(x)"), QString("ok"));
  QCOMPARE(run(*probe_, "calls", "negated(tf.constant(1.));"), QString("ok"));
  const auto records = recordsOf("defines");
  QCOMPARE(records.size(), std::size_t{1});
  QCOMPARE(records[0].line, std::uint32_t{2});
}

void TestSessionDebug::theGateStopsAndStepsAndGoesOn() {
  ask<protocol::Status>(protocol::SetGate{protocol::GateCommand::step_op});
  probe_->session.execute("stepped", "a = tf.constant(2.)\nb = tf.exp(a)\nc = tf.sin(b)");
  QVERIFY(waitForGate(protocol::GateState::stopped));
  auto status = ask<protocol::Status>(protocol::GetStatus{});
  QCOMPARE(status.cell, std::string("stepped"));
  QCOMPARE(status.line, std::uint32_t{2});
  const auto first = status.stopped_before.value_or(0);
  QCOMPARE(probe_->session.state(), KernelState::busy);
  ask<protocol::Status>(protocol::SetGate{protocol::GateCommand::step_op});
  const auto atSecond = [&] {
    status = ask<protocol::Status>(protocol::GetStatus{});
    return status.gate == protocol::GateState::stopped && status.stopped_before.value_or(0) > first;
  };
  QTRY_VERIFY_WITH_TIMEOUT(atSecond(), generous);
  QCOMPARE(status.line, std::uint32_t{3});
  QVERIFY(!probe_->finished.contains("stepped"));
  ask<protocol::Status>(protocol::SetGate{protocol::GateCommand::run});
  QTRY_COMPARE_WITH_TIMEOUT(probe_->finished.value("stepped"), QString("ok"), generous);
}

void TestSessionDebug::interruptAtTheGateEndsTheCellAndTheSessionLives() {
  ask<protocol::Status>(protocol::SetGate{protocol::GateCommand::step_op});
  probe_->session.execute("waits", "tf.exp(tf.constant(2.))\nprint('not reached')");
  QVERIFY(waitForGate(protocol::GateState::stopped));
  probe_->session.interrupt();
  QTRY_COMPARE_WITH_TIMEOUT(probe_->finished.value("waits"), QString("error"), generous);
  QCOMPARE(probe_->output("waits", "error")["ename"], "KeyboardInterrupt");
  ask<protocol::Status>(protocol::SetGate{protocol::GateCommand::run});
  QCOMPARE(run(*probe_, "after", "print(float(tf.exp(tf.constant(0.))))"), QString("ok"));
  QCOMPARE(probe_->printed("after"), QString("1.0\n"));
}

void TestSessionDebug::interruptBetweenOpsEndsTheCell() {
  probe_->session.execute(
      "long", "m = tf.ones((1500, 1500))\nprint('runs', flush=True)\nwhile True: n = tf.matmul(m, m)");
  QTRY_VERIFY_WITH_TIMEOUT(probe_->printed("long").contains("runs"), generous);
  probe_->session.interrupt();
  QTRY_COMPARE_WITH_TIMEOUT(probe_->finished.value("long"), QString("error"), generous);
  QCOMPARE(probe_->output("long", "error")["ename"], "KeyboardInterrupt");
  QCOMPARE(run(*probe_, "after", "1"), QString("ok"));
}

void TestSessionDebug::interruptEndsALongOpInItsMiddle() {
  probe_->session.execute(
      "op", "a = tf.ones((3500, 50000), tf.float64)\ngiven_up = tf.matmul(a, a, transpose_b=True)");
  const auto newest = [this] { return ask<protocol::Status>(protocol::GetStatus{}).records; };
  const auto record = [this](std::uint64_t number) {
    const auto page = ask<protocol::Records>(protocol::GetRecords{number, 1, false});
    return page.records.empty() ? protocol::Record{} : page.records[0];
  };
  const auto runs = [&] {
    const auto last = record(newest());
    return last.op == "matmul" && last.state == protocol::RecordState::running;
  };
  QTRY_VERIFY_WITH_TIMEOUT(runs(), generous);
  const auto number = newest();
  probe_->session.interrupt();
  QTRY_COMPARE_WITH_TIMEOUT(probe_->finished.value("op"), QString("error"), generous);
  QCOMPARE(probe_->output("op", "error")["ename"], "KeyboardInterrupt");
  // The op itself was given up; it did not run to its end first.
  QCOMPARE(record(number).state, protocol::RecordState::failed);
  QCOMPARE(run(*probe_, "given up", "print('given_up' in globals())\ndel a"), QString("ok"));
  QCOMPARE(probe_->printed("given up"), QString("False\n"));
}

void TestSessionDebug::aListAtTheEndOfACellIsASeries() {
  const auto before = ask<protocol::Series>(protocol::GetSeries{0}).next;
  QCOMPARE(run(*probe_, "curve", "losses = [4., tf.constant(2.), 1]\nlosses"), QString("ok"));
  const auto series = ask<protocol::Series>(protocol::GetSeries{before});
  QCOMPARE(series.points.size(), std::size_t{3});
  for (std::size_t i = 0; i < 3; ++i) {
    QCOMPARE(series.points[i].series, protocol::drawn_key("losses", "curve"));
    QCOMPARE(series.points[i].step, double(i));
    QCOMPARE(series.points[i].value, 4. / double(1 << i));
  }
}

void TestSessionDebug::seriesOfACellRestartWithIt() {
  const QString code = "for i in range(3): tf.summary.scalar('loss', 1. / (i + 1), i)";
  QCOMPARE(run(*probe_, "scalars", code), QString("ok"));
  const auto before = ask<protocol::Series>(protocol::GetSeries{0}).next;
  QCOMPARE(run(*probe_, "scalars", code), QString("ok"));
  const auto series = ask<protocol::Series>(protocol::GetSeries{before});
  const std::string loss = protocol::drawn_key("loss", "scalars");
  QVERIFY(std::find(series.restarted.begin(), series.restarted.end(), loss) != series.restarted.end());
  QCOMPARE(series.points.size(), std::size_t{3});
  // One that draws it no more takes it away, one that fails does not.
  const auto steps = [this, &loss] {
    std::vector<double> found;
    for (const auto& point : ask<protocol::Series>(protocol::GetSeries{0}).points)
      if (point.series == loss) found.push_back(point.step);
    return found;
  };
  QCOMPARE(run(*probe_, "scalars", "raise ValueError"), QString("error"));
  QCOMPARE(steps(), (std::vector<double>{0, 1, 2}));
  QCOMPARE(run(*probe_, "scalars", "pass"), QString("ok"));
  QCOMPARE(steps(), std::vector<double>());
}

void TestSessionDebug::restartConnectsAgainAndStartsOver() {
  QVERIFY(ask<protocol::Status>(protocol::GetStatus{}).records > 0);
  probe_->session.restart();
  QVERIFY(!probe_->session.debugSource()->connected());
  QTRY_VERIFY_WITH_TIMEOUT(probe_->session.debugSource()->connected(), generous);
  QCOMPARE(ask<protocol::Status>(protocol::GetStatus{}).records, std::uint64_t{0});
}

void TestSessionDebug::theDeathOfTheProcessDisconnects() {
  probe_->session.execute("dies", "import os\nos._exit(1)");
  QTRY_COMPARE_WITH_TIMEOUT(probe_->session.state(), KernelState::dead, generous);
  QVERIFY(!probe_->session.debugSource()->connected());
  try {
    ask<protocol::Status>(protocol::GetStatus{});
    QFAIL("answered");
  } catch (const std::runtime_error& error) {
    QCOMPARE(error.what(), "The session is not connected.");
  }
}

TAPEDECK_TEST(TestSessionDebug)
#include "tst_session_debug.moc"
