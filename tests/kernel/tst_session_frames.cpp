// Variables, frames and code at a stop, from the app's own session process.
#include "engine/protocol/codec.h"
#include "tests/kernel/session_probe.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::app;
using protocol::ValueScope;

class TestSessionFrames : public QObject {
  Q_OBJECT
 private slots:
  void initTestCase();
  void cleanup();
  void cleanupTestCase() { probe_.reset(); }

  void variablesOfTheNotebookAreThereAfterACell();
  void aFunctionsLocalsAndItsCallersAreThereAtAStop();
  void evaluationsAreNeitherRecordedNorStopped();
  void anEditedVariableIsWhatTheCellGoesOnWith();
  void anEditThatTheProgramOutrunsSaysSo();
  void thePastIsNotAssignedTo();
  void anEditedVariableDoesNotStopTheDebuggerAtItsOwnBreakpoint();
  void anEndlessExpressionEndsAtItsLimit();
  void anEndlessStatementEndsWhenItIsCancelled();
  void aReprThatTakesLongHoldsUpNoOther();
  void whileACellRunsTheAnswerIsThatItRuns();
  void aStopThatIsOverIsGone();
  void anArrayAndAResultCanBeHeldAndShown();
  void statisticsAreOfTheValueAsItIs();

 private:
  protocol::Reply reply(const protocol::Request& request) {
    std::optional<protocol::Reply> answer;
    auto* source = probe_->session.debugSource();
    const quint64 wanted = source->request(request);
    const auto connection =
        connect(source, &inspector::Source::received, this, [&](quint64 id, const protocol::Reply& reply) {
          if (id == wanted) answer = reply;
        });
    (void)waitFor([&] { return answer.has_value(); }, generous);
    disconnect(connection);
    return answer ? *answer : protocol::Failure{"there was no answer", "none"};
  }
  template <class Reply>
  Reply ask(const protocol::Request& request) {
    const protocol::Reply answer = reply(request);
    if (const auto* failure = protocol::get_if<protocol::Failure>(&answer))
      throw std::runtime_error(failure->reason);
    return protocol::get<Reply>(answer);
  }
  std::string failureCode(const protocol::Request& request) {
    const protocol::Reply answer = reply(request);
    const auto* failure = protocol::get_if<protocol::Failure>(&answer);
    return failure ? failure->code : "none: " + protocol::type_name(answer);
  }
  protocol::Status status() { return ask<protocol::Status>(protocol::GetStatus{}); }
  /// Runs a cell up to its first op.
  void stopIn(const QString& code) {
    ask<protocol::Status>(protocol::SetGate{protocol::GateCommand::step_op});
    probe_->session.execute("stopped", code);
    QTRY_COMPARE_WITH_TIMEOUT(status().gate, protocol::GateState::stopped, generous);
    stop_ = status().stopped_before;
  }
  protocol::Evaluation evaluate(const std::string& code, bool statements = false) {
    return ask<protocol::Evaluation>(protocol::Evaluate{stop_, 0, code, statements, 10000});
  }
  std::map<std::string, protocol::ValueInfo> rows(ValueScope scope, std::uint32_t frame = 0) {
    std::map<std::string, protocol::ValueInfo> found;
    for (auto& one :
         ask<protocol::Variables>(protocol::GetVariables{{stop_, frame, scope, {}, {}}, 0, 500}).variables)
      found[one.name] = one;
    return found;
  }

  std::unique_ptr<Probe> probe_;
  std::optional<std::uint64_t> stop_;
};

void TestSessionFrames::initTestCase() {
  probe_ = std::make_unique<Probe>();
  QVERIFY2(startAndWait(*probe_), qPrintable(probe_->sentence));
  QTRY_VERIFY_WITH_TIMEOUT(probe_->session.debugSource()->connected(), generous);
  QCOMPARE(run(*probe_, "imports", "import tapedeck as tf\nimport numpy as np"), QString("ok"));
}

/// Ends what the test began: a cell of the next one would wait behind it.
void TestSessionFrames::cleanup() {
  ask<protocol::Status>(protocol::SetGate{protocol::GateCommand::run});
  QTRY_VERIFY_WITH_TIMEOUT(probe_->session.state() == KernelState::idle, generous);
  stop_.reset();
}

void TestSessionFrames::variablesOfTheNotebookAreThereAfterACell() {
  const auto ended = status().cells_ended;
  QCOMPARE(run(*probe_, "plain", "a = 1\nw = tf.Variable([1., 2.])\n_hidden = 3\ndef f(): pass\na"),
           QString("ok"));
  QTRY_COMPARE_WITH_TIMEOUT(status().cells_ended, ended + 1, generous);
  const auto found = rows(ValueScope::globals);
  QCOMPARE(found.at("a").edit, std::string("1"));
  QCOMPARE(found.at("w").shape, std::vector<std::int64_t>{2});
  QVERIFY(found.at("w").tensor.value_or(0) != 0);
  QCOMPARE(found.at("f").kind, protocol::ValueKind::code);
  for (const char* ours :
       {"In", "Out", "_", "_i", "_i1", "exit", "get_ipython", "__builtins__", "_oh", "open"})
    QVERIFY2(!found.contains(ours), ours);
  QVERIFY(found.contains("_hidden"));
}

void TestSessionFrames::aFunctionsLocalsAndItsCallersAreThereAtAStop() {
  stopIn(
      "def inner(h):\n    k = 2\n    return h * k\ndef outer(x):\n    y = [x]\n    return inner(x)\n"
      "out = outer(tf.constant([1., 2.]))");
  const auto frames = ask<protocol::Frames>(protocol::GetFrames{stop_.value_or(0), 0, 100});
  QCOMPARE(frames.total, std::uint32_t{3});
  QCOMPARE(frames.frames[0].function, std::string("inner"));
  QCOMPARE(frames.frames[0].cell, std::string("stopped"));
  QCOMPARE(frames.frames[0].line, std::uint32_t{3});
  QCOMPARE(frames.frames[2].function, std::string("<module>"));
  QVERIFY(!frames.frames[2].has_locals);
  QCOMPARE(rows(ValueScope::locals).at("k").text, std::string("2"));
  QCOMPARE(rows(ValueScope::locals, 1).at("y").items, std::uint64_t{1});
  const auto items =
      ask<protocol::Variables>(protocol::GetVariables{{stop_, 1, ValueScope::locals, "y", {}}, 0, 10});
  QCOMPARE(items.variables.at(0).text, std::string("[1., 2.]"));
}

void TestSessionFrames::evaluationsAreNeitherRecordedNorStopped() {
  stopIn("def f(h):\n    return h * 2.\nf(tf.constant([1., 2.]))");
  const auto before = status();
  QCOMPARE(evaluate("tf.reduce_sum(h * h + 1.)").value.value().text, std::string("7."));
  QCOMPARE(evaluate("print(f(h))\nf(h) + h", true).text.value_or("").substr(0, 10),
           std::string("<tf.Tensor"));
  const auto after = status();
  QCOMPARE(after.records, before.records);
  QCOMPARE(after.stopped_before.value_or(0), before.stopped_before.value_or(0));
  QVERIFY(evaluate("h @ h").error);
  QCOMPARE(evaluate("print('seen')", true).printed, std::string("seen\n"));
  QVERIFY(probe_->printed("stopped").isEmpty());
}

void TestSessionFrames::anEditedVariableIsWhatTheCellGoesOnWith() {
  QCOMPARE(run(*probe_, "variable", "v = tf.Variable([1., 2.], name='v')"), QString("ok"));
  stopIn("def f(h):\n    h * 1.\n    return h + v\nout = f(tf.constant([1., 2.]))\nprint(out.numpy())");
  const auto local =
      ask<protocol::Evaluation>(protocol::Assign{{stop_, 0, ValueScope::locals, "h", {}}, "[10., 20.]"});
  QVERIFY(!local.error);
  const auto variable =
      ask<protocol::Evaluation>(protocol::Assign{{stop_, 0, ValueScope::globals, "v", {}}, "[5., 5.]"});
  QCOMPARE(variable.value.value().text, std::string("[5., 5.]"));
  const auto wrong =
      ask<protocol::Evaluation>(protocol::Assign{{stop_, 0, ValueScope::globals, "v", {}}, "[5., 5., 5.]"});
  const std::string error = wrong.error.value_or("");
  QVERIFY2(error.find("shape") != std::string::npos, error.c_str());
  ask<protocol::Status>(protocol::SetGate{protocol::GateCommand::run});
  QTRY_COMPARE_WITH_TIMEOUT(probe_->printed("stopped"), QString("[15. 25.]\n"), generous);
  // The recorder knows the new value as one of the variable's.
  const auto records = ask<protocol::Records>(protocol::GetRecords{status().records, 1, true});
  QCOMPARE(records.records.at(0).op, std::string("add"));
  QCOMPARE(records.records.at(0).inputs.at(1).name, std::string("v:0"));
}

// Continue comes while the new value is computed: here it does so itself.
void TestSessionFrames::anEditThatTheProgramOutrunsSaysSo() {
  stopIn("k = 1.\nprint((tf.constant([1., 2.]) * 2.).numpy())");
  const auto edited = ask<protocol::Evaluation>(
      protocol::Assign{{stop_, 0, ValueScope::globals, "k", {}}, "[tf._engine.debug.gate('run'), 5.][1]"});
  QVERIFY(!edited.error);
  QCOMPARE(
      edited.note,
      std::string(
          "It was assigned while the program went on: what it read meanwhile may be what was there before."));
  QTRY_VERIFY_WITH_TIMEOUT(probe_->printed("stopped").endsWith("[2. 4.]\n"), generous);
}

void TestSessionFrames::thePastIsNotAssignedTo() {
  stopIn("k = 1.\na = tf.constant([1., 2.]) * 2.\nb = a + k\n");
  QCOMPARE(failureCode(protocol::Assign{{stop_, 0, ValueScope::globals, "k", {}, *stop_}, "5."}),
           std::string("bad_request"));
  QCOMPARE(rows(ValueScope::globals).at("k").text, std::string("1.0"));
}

void TestSessionFrames::anEditedVariableDoesNotStopTheDebuggerAtItsOwnBreakpoint() {
  QCOMPARE(run(*probe_, "watched", "u = tf.Variable([1., 2.], name='u')"), QString("ok"));
  protocol::Breakpoint write;
  write.id = 1;
  write.kind = protocol::BreakpointKind::write;
  write.target = "u";
  ask<protocol::Breakpoints>(protocol::SetBreakpoints{{write}});
  const auto removed = qScopeGuard([this] { reply(protocol::SetBreakpoints{}); });
  stopIn("out = tf.constant([1., 2.]) + u");
  const auto edited =
      ask<protocol::Evaluation>(protocol::Assign{{stop_, 0, ValueScope::globals, "u", {}}, "[5., 5.]"});
  QCOMPARE(edited.value.value().text, std::string("[5., 5.]"));
  QCOMPARE(rows(ValueScope::globals).at("u").text, std::string("[5., 5.]"));
  QCOMPARE(status().stopped_before, stop_);
  QVERIFY(!status().stopped_after);
}

void TestSessionFrames::anEndlessExpressionEndsAtItsLimit() {
  QCOMPARE(run(*probe_, "forever",
               "def forever():\n    while True:\n        try:\n            pass\n"
               "        except Exception:\n            pass"),
           QString("ok"));
  const auto answer = ask<protocol::Evaluation>(protocol::Evaluate{{}, 0, "forever()", false, 200});
  QCOMPARE(answer.error, std::string("It took longer than it may, and was ended."));
  QCOMPARE(evaluate("1 + 1").value.value().text, std::string("2"));
}

void TestSessionFrames::anEndlessStatementEndsWhenItIsCancelled() {
  auto* source = probe_->session.debugSource();
  const QTemporaryDir folder;
  const QString sign = folder.filePath("begun");
  const std::string code = "begun = True\nopen('" + sign.toStdString() + "', 'w').close()\nwhile True: pass";
  std::map<quint64, protocol::Reply> answers;
  const auto connection = connect(source, &inspector::Source::received, this,
                                  [&](quint64 id, const protocol::Reply& reply) { answers[id] = reply; });
  const auto heard = qScopeGuard([&] { disconnect(connection); });
  const quint64 endless = source->request(protocol::Evaluate{{}, 0, code, true, {}});
  // A cell that begins before it would have it refused.
  QTRY_VERIFY_WITH_TIMEOUT(QFile::exists(sign), generous);
  const auto ended = qScopeGuard([&] { source->request(protocol::Cancel{endless}); });
  const quint64 waits = source->request(protocol::GetVariables{{}, 0, 500});
  status();  // the question before it has come, too: one that comes while a cell runs is refused
  // The server answers meanwhile, and another cell could run.
  QCOMPARE(run(*probe_, "beside", "print('beside')"), QString("ok"));
  for (const quint64 asked : {endless, waits}) {
    const auto* failure =
        answers.contains(asked) ? protocol::get_if<protocol::Failure>(&answers[asked]) : nullptr;
    QVERIFY2(!answers.contains(asked), failure ? failure->reason.c_str() : "it was answered");
  }
  source->request(protocol::Cancel{endless});
  QTRY_VERIFY_WITH_TIMEOUT(answers.contains(waits), generous);
  QVERIFY(protocol::holds_alternative<protocol::Variables>(answers[waits]));
  QCOMPARE(evaluate("begun").value.value().text, std::string("True"));
}

void TestSessionFrames::aReprThatTakesLongHoldsUpNoOther() {
  QCOMPARE(run(*probe_, "slow",
               "class Slow:\n    def __repr__(self):\n        while True: pass\nslow = Slow(); zz = 5"),
           QString("ok"));
  const auto found = rows(ValueScope::globals);
  QCOMPARE(found.at("slow").problem, std::string("its repr took longer than 0.3 s"));
  QCOMPARE(found.at("zz").text, std::string("5"));
  QCOMPARE(run(*probe_, "slow", "del slow"), QString("ok"));
}

void TestSessionFrames::whileACellRunsTheAnswerIsThatItRuns() {
  probe_->session.execute("runs", "print('runs', flush=True)\nwhile True: pass");
  QTRY_VERIFY_WITH_TIMEOUT(probe_->printed("runs").contains("runs"), generous);
  QCOMPARE(status().running_cell, std::string("runs"));
  QCOMPARE(failureCode(protocol::GetVariables{{}, 0, 10}), std::string("running"));
  QCOMPARE(failureCode(protocol::Evaluate{{}, 0, "1", false, 100}), std::string("running"));
  probe_->session.interrupt();
  // It takes the cells that wait behind it along.
  QTRY_COMPARE_WITH_TIMEOUT(probe_->finished.value("runs"), QString("error"), generous);
}

void TestSessionFrames::aStopThatIsOverIsGone() {
  stopIn("def f(h):\n    g = h * 2.\n    return g * 2.\nf(tf.constant([1., 2.]))");
  const std::uint64_t before = stop_.value();
  ask<protocol::Status>(protocol::SetGate{protocol::GateCommand::step_op});
  QTRY_VERIFY_WITH_TIMEOUT(status().stopped_before.value_or(0) > before, generous);
  QCOMPARE(failureCode(protocol::GetFrames{before, 0, 10}), std::string("gone"));
  QCOMPARE(failureCode(protocol::GetVariables{{before, 0, ValueScope::locals, "", {}}, 0, 10}),
           std::string("gone"));
  stop_ = status().stopped_before;
  QCOMPARE(failureCode(protocol::GetVariables{{stop_, 7, ValueScope::locals, {}, {}}, 0, 10}),
           std::string("gone"));
  QCOMPARE(failureCode(protocol::GetVariables{{stop_, 0, ValueScope::locals, "nothing", {}}, 0, 10}),
           std::string("gone"));
  QCOMPARE(rows(ValueScope::locals).at("g").text, std::string("[2., 4.]"));
}

void TestSessionFrames::anArrayAndAResultCanBeHeldAndShown() {
  QCOMPARE(run(*probe_, "array", "array = np.arange(6.).reshape(2, 3)"), QString("ok"));
  const auto held = ask<protocol::HeldValue>(protocol::HoldValue{{{}, 0, ValueScope::globals, "array", {}}});
  QCOMPARE(held.tensor.name, std::string("array"));
  const auto tile = ask<protocol::Tile>(protocol::GetTile{held.tensor.id, {}, {}, 0, 0, 2, 3, 1, 1});
  QCOMPARE(tile.values, (std::vector<double>{0, 1, 2, 3, 4, 5}));
  const auto result =
      ask<protocol::Evaluation>(protocol::Evaluate{{}, 0, "tf.constant(array) * 2.", false, 1000});
  const auto shown = ask<protocol::HeldValue>(
      protocol::HoldValue{{{}, 0, ValueScope::result, std::to_string(result.result.value()), {}}});
  QCOMPARE(ask<protocol::Tile>(protocol::GetTile{shown.tensor.id, {}, {}, 1, 0, 1, 3, 1, 1}).values,
           (std::vector<double>{6, 8, 10}));
  QCOMPARE(failureCode(protocol::HoldValue{{{}, 0, ValueScope::globals, "np", {}}}),
           std::string("bad_request"));
}

void TestSessionFrames::statisticsAreOfTheValueAsItIs() {
  QCOMPARE(run(*probe_, "big", "big = tf.Variable(tf.range(1000.))"), QString("ok"));
  const auto statistics =
      ask<protocol::Statistics>(protocol::SummarizeValue{{{}, 0, ValueScope::globals, "big", {}}, 10});
  QCOMPARE(statistics.histogram, (std::vector<std::uint64_t>(10, 100)));
  QCOMPARE(failureCode(protocol::SummarizeValue{{{}, 0, ValueScope::globals, "big", {}}, 5000}),
           std::string("bad_request"));
}

TAPEDECK_TEST(TestSessionFrames)
#include "tst_session_frames.moc"
