// The Jupyter client against the real ipykernel.
#include "tests/kernel/session_probe.h"
#include "tests/test_program.h"

using namespace tapedeck::app;

class TestJupyterClient : public QObject {
  Q_OBJECT
 private slots:
  void initTestCase();
  void cleanupTestCase() { probe_.reset(); }

  void infoNamesLanguageAndReadyComesOnce();
  void printedTextAndLastValueBelongToTheirCell();
  void countsRiseWithEachCell();
  void anErrorComesWithItsTraceback();
  void cellsBehindAFailedOneAreAborted();
  void aCellRunsRightAfterOneThatFailed();
  void cellsGivenAfterAFailureRun();
  void aSessionIsBusyAsSoonAsItHasACellAndIdleWhenItsEndIsTold();
  void aSyntaxErrorIsTheCellsError();
  void aFigureComesAsPng();
  void displaysAreUpdatedByTheirId();
  void clearOutputIsTold();
  void inputIsAskedAndAnswered();
  void aPasswordIsAskedAsOne();
  void interruptEndsALoopAndAbortsTheQueue();
  void interruptEndsACellThatHasNotBegun();
  void aSecondInterruptReachesACellThatSwallowsTheFirst();
  void interruptEndsAnInput();
  void completionPositionsAreCodePoints();
  void onlyTheNewestCompletionIsAnswered();
  void helpTellsTheDocstring();
  void pagedHelpIsAnOutputOfTheCell();
  void textThatIsNoUnicodeStillArrives();
  void aFloodOfOutputArrivesWholeAndDoesNotFloodTheUi();
  void oneHugePrintArrivesInPieces();
  void anAnimationKeepsItsLastFrame();
  void printsOfAThreadGoToItsCell();
  void restartForgetsAndRunsWhatIsGivenAfterwards();
  void exitInACellEndsTheSessionAndSaysSo();

 private:
  std::unique_ptr<Probe> probe_;
};

void TestJupyterClient::initTestCase() {
  probe_ = std::make_unique<Probe>();
  QVERIFY2(startAndWait(*probe_), qPrintable(probe_->sentence));
}

void TestJupyterClient::infoNamesLanguageAndReadyComesOnce() {
  QCOMPARE(probe_->infos.size(), std::size_t{1});
  QCOMPARE(probe_->infos[0]["language_info"]["name"], "python");
  QCOMPARE(probe_->states, (QList{KernelState::starting, KernelState::idle}));
  QVERIFY(probe_->session.processId() > 0);
}

void TestJupyterClient::printedTextAndLastValueBelongToTheirCell() {
  probe_->session.execute("a", "import sys\nprint('one')\nprint('two', file=sys.stderr)\n6 * 7");
  probe_->session.execute("b", "print('of b')");
  QTRY_COMPARE_WITH_TIMEOUT(probe_->finished.value("b"), QString("ok"), generous);
  QCOMPARE(probe_->finished.value("a"), QString("ok"));
  QCOMPARE(probe_->printed("a", "stdout"), QString("one\n"));
  QCOMPARE(probe_->printed("a", "stderr"), QString("two\n"));
  const auto result = probe_->output("a", "execute_result");
  QCOMPARE(result["data"]["text/plain"], "42");
  QCOMPARE(result["execution_count"].get<int>(), probe_->counts.value("a"));
  QCOMPARE(probe_->printed("b"), QString("of b\n"));
  QTRY_COMPARE(probe_->session.state(), KernelState::idle);
}

void TestJupyterClient::countsRiseWithEachCell() {
  run(*probe_, "a", "1");
  const int first = probe_->counts.value("a");
  run(*probe_, "a", "2");
  QCOMPARE(probe_->counts.value("a"), first + 1);
  QCOMPARE(probe_->started.last(), qMakePair(QString("a"), first + 1));
}

void TestJupyterClient::anErrorComesWithItsTraceback() {
  QCOMPARE(run(*probe_, "a", "def f():\n    return 1 / 0\nf()"), QString("error"));
  const auto error = probe_->output("a", "error");
  QCOMPARE(error["ename"], "ZeroDivisionError");
  QCOMPARE(error["evalue"], "division by zero");
  QVERIFY(error["traceback"].size() > 1);
  QString traceback;
  for (const auto& line : error["traceback"]) traceback += QString::fromStdString(line) + '\n';
  traceback.remove(QRegularExpression("\x1b\\[[0-9;]*m"));
  QVERIFY2(traceback.contains("in f()"), qPrintable(traceback));
}

void TestJupyterClient::cellsBehindAFailedOneAreAborted() {
  probe_->finishOrder.clear();
  probe_->session.execute("a", "1 / 0");
  probe_->session.execute("b", "ran_b = True");
  probe_->session.execute("c", "ran_c = True");
  QTRY_COMPARE_WITH_TIMEOUT(probe_->finishOrder.size(), 3, generous);
  QCOMPARE(probe_->finishOrder, (QStringList{"a", "b", "c"}));
  QCOMPARE(probe_->finished.value("a"), QString("error"));
  QCOMPARE(probe_->finished.value("b"), QString("aborted"));
  QCOMPARE(probe_->finished.value("c"), QString("aborted"));
  run(*probe_, "d", "print('ran_b' in globals() or 'ran_c' in globals())");
  QCOMPARE(probe_->printed("d"), QString("False\n"));
}

void TestJupyterClient::aCellRunsRightAfterOneThatFailed() {
  auto* session = &probe_->session;
  const auto connection =
      connect(session, &KernelSession::executionFinished, this, [session](const QString& cell) {
        if (cell == "fails") session->execute("after", "1");
      });
  const auto over = qScopeGuard([&] { disconnect(connection); });
  for (int i = 0; i < 20; ++i) {
    probe_->finished.clear();
    session->execute("fails", "1 / 0");
    QTRY_VERIFY_WITH_TIMEOUT(probe_->finished.contains("after"), generous);
    QCOMPARE(probe_->finished.value("after"), QString("ok"));
  }
}

void TestJupyterClient::cellsGivenAfterAFailureRun() {
  QCOMPARE(run(*probe_, "a", "1 / 0"), QString("error"));
  QCOMPARE(run(*probe_, "b", "1"), QString("ok"));
}

void TestJupyterClient::aSessionIsBusyAsSoonAsItHasACellAndIdleWhenItsEndIsTold() {
  probe_->finished.clear();
  QList<QPair<QString, KernelState>> told;
  const auto* session = &probe_->session;
  const auto connection =
      connect(session, &KernelSession::executionFinished, this,
              [&, session](const QString& cell) { told << qMakePair(cell, session->state()); });
  const auto over = qScopeGuard([&] { disconnect(connection); });
  QCOMPARE(session->state(), KernelState::idle);
  probe_->session.execute("a", "1");
  QCOMPARE(session->state(), KernelState::busy);
  probe_->session.execute("b", "1 / 0");
  probe_->session.execute("c", "1");
  QTRY_COMPARE_WITH_TIMEOUT(told.size(), 3, generous);
  QCOMPARE(told,
           (QList{qMakePair(QString("a"), KernelState::busy), qMakePair(QString("b"), KernelState::busy),
                  qMakePair(QString("c"), KernelState::idle)}));
}

void TestJupyterClient::aSyntaxErrorIsTheCellsError() {
  QCOMPARE(run(*probe_, "a", "print('x'"), QString("error"));
  QCOMPARE(probe_->output("a", "error")["ename"], "SyntaxError");
}

void TestJupyterClient::aFigureComesAsPng() {
  QCOMPARE(run(*probe_, "a", "import matplotlib.pyplot as plt\nplt.plot([1, 4, 9]);"), QString("ok"));
  const auto display = probe_->output("a", "display_data");
  QVERIFY(display.is_object());
  const auto png = QByteArray::fromBase64(QByteArray::fromStdString(display["data"]["image/png"]));
  QVERIFY(png.startsWith("\x89PNG"));
}

void TestJupyterClient::displaysAreUpdatedByTheirId() {
  QCOMPARE(run(*probe_, "a", "h = display('first', display_id='the-id')\nh.update('second')"), QString("ok"));
  QCOMPARE(probe_->output("a", "display_data")["transient"]["display_id"], "the-id");
  QCOMPARE(probe_->updates.size(), 1);
  QCOMPARE(probe_->updates[0].first, QString("the-id"));
  QVERIFY(probe_->updates[0].second.contains("second"));
}

void TestJupyterClient::clearOutputIsTold() {
  probe_->cleared.clear();
  run(*probe_, "a",
      "from IPython.display import clear_output\nprint('gone')\nclear_output()\nprint('stays')");
  QCOMPARE(probe_->cleared, (QList{qMakePair(QString("a"), false)}));
  QVERIFY(probe_->printed("a").endsWith("stays\n"));
}

void TestJupyterClient::inputIsAskedAndAnswered() {
  probe_->prompts.clear();
  probe_->outputs.clear();
  probe_->finished.clear();
  probe_->session.execute("a", "name = input('Who? ')\nprint('Hello', name)");
  QTRY_COMPARE_WITH_TIMEOUT(probe_->prompts.size(), 1, generous);
  QCOMPARE(probe_->prompts[0], qMakePair(QString("a"), QString("Who? ")));
  QVERIFY(!probe_->passwords.last());
  probe_->session.sendInput(QString::fromUtf8("Zoë 🦉"));
  QTRY_COMPARE_WITH_TIMEOUT(probe_->finished.value("a"), QString("ok"), generous);
  QCOMPARE(probe_->printed("a"), QString::fromUtf8("Hello Zoë 🦉\n"));
}

void TestJupyterClient::aPasswordIsAskedAsOne() {
  probe_->prompts.clear();
  probe_->finished.remove("a");
  probe_->session.execute("a", "import getpass\nprint(len(getpass.getpass('Secret: ')))");
  QTRY_COMPARE_WITH_TIMEOUT(probe_->prompts.size(), 1, generous);
  QVERIFY(probe_->passwords.last());
  probe_->session.sendInput("12345");
  QTRY_COMPARE_WITH_TIMEOUT(probe_->finished.value("a"), QString("ok"), generous);
}

void TestJupyterClient::interruptEndsALoopAndAbortsTheQueue() {
  probe_->finished.clear();
  probe_->outputs.clear();
  probe_->session.execute("a", "print('looping', flush=True)\nwhile True: pass");
  probe_->session.execute("b", "1");
  QTRY_VERIFY_WITH_TIMEOUT(probe_->printed("a").contains("looping"), generous);
  QCOMPARE(probe_->session.state(), KernelState::busy);
  probe_->session.interrupt();
  QTRY_COMPARE_WITH_TIMEOUT(probe_->finished.value("a"), QString("error"), generous);
  QCOMPARE(probe_->output("a", "error")["ename"], "KeyboardInterrupt");
  QCOMPARE(probe_->finished.value("b"), QString("aborted"));
  QCOMPARE(run(*probe_, "c", "print('alive')"), QString("ok"));
}

void TestJupyterClient::interruptEndsACellThatHasNotBegun() {
  for (int round = 0; round < 5; ++round) {
    probe_->finished.clear();
    probe_->outputs.clear();
    probe_->session.execute("a", "while True: pass");
    probe_->session.interrupt();
    QTRY_COMPARE_WITH_TIMEOUT(probe_->finished.value("a"), QString("error"), generous);
    QCOMPARE(probe_->output("a", "error")["ename"], "KeyboardInterrupt");
    QCOMPARE(run(*probe_, "b", "print('alive')"), QString("ok"));
  }
}

void TestJupyterClient::aSecondInterruptReachesACellThatSwallowsTheFirst() {
  probe_->finished.clear();
  probe_->outputs.clear();
  probe_->session.execute("a",
                          "import time\ntry:\n    print('first', flush=True)\n    time.sleep(1000)\n"
                          "except KeyboardInterrupt:\n    print('second', flush=True)\n    time.sleep(1000)");
  probe_->session.execute("b", "1");  // given up by the first
  const auto printed = [&](const char* text) {
    const auto outputs = probe_->outputs.value("a");
    return std::any_of(outputs.begin(), outputs.end(),
                       [&](const auto& output) { return output.dump().find(text) != std::string::npos; });
  };
  QTRY_VERIFY_WITH_TIMEOUT(printed("first"), generous);
  probe_->session.interrupt();
  QTRY_COMPARE_WITH_TIMEOUT(probe_->finished.value("b"), QString("aborted"), generous);
  QTRY_VERIFY_WITH_TIMEOUT(printed("second"), generous);
  probe_->session.interrupt();
  QTRY_COMPARE_WITH_TIMEOUT(probe_->finished.value("a"), QString("error"), generous);
}

void TestJupyterClient::interruptEndsAnInput() {
  probe_->prompts.clear();
  probe_->finished.remove("a");
  probe_->session.execute("a", "input()");
  QTRY_COMPARE_WITH_TIMEOUT(probe_->prompts.size(), 1, generous);
  probe_->session.interrupt();
  QTRY_COMPARE_WITH_TIMEOUT(probe_->finished.value("a"), QString("error"), generous);
}

void TestJupyterClient::completionPositionsAreCodePoints() {
  run(*probe_, "a", "completable_name = 1");
  const QString code = QString::fromUtf8("s = '🦉'; completable_na");
  // The owl is one code point and two of QString's units.
  QCOMPARE(code.size(), 24);
  probe_->session.complete(7, code, 23);
  QTRY_VERIFY_WITH_TIMEOUT(probe_->completions.contains(7), generous);
  QVERIFY(probe_->matches.contains("completable_name"));
  QCOMPARE(probe_->range, qMakePair(9, 23));
}

void TestJupyterClient::onlyTheNewestCompletionIsAnswered() {
  probe_->completions.clear();
  probe_->finished.remove("a");
  probe_->session.execute("a", "import time\ntime.sleep(0.3)");
  for (quint64 request = 11; request <= 15; ++request) probe_->session.complete(request, "pri", 3);
  QTRY_COMPARE_WITH_TIMEOUT(probe_->finished.value("a"), QString("ok"), generous);
  QTRY_VERIFY_WITH_TIMEOUT(!probe_->completions.isEmpty(), generous);
  run(*probe_, "b", "1");
  QCOMPARE(probe_->completions, (QList<quint64>{15}));
}

void TestJupyterClient::helpTellsTheDocstring() {
  run(*probe_, "a", "def helpful():\n    'Says what helpful does.'");
  probe_->session.inspect(3, "helpful()", 7);
  QTRY_VERIFY_WITH_TIMEOUT(probe_->inspections.contains(3), generous);
  QVERIFY(probe_->help.contains("Says what helpful does."));
  probe_->session.inspect(4, "nothing_of_that_name", 5);
  QTRY_VERIFY_WITH_TIMEOUT(probe_->inspections.contains(4), generous);
  QVERIFY(probe_->help.isEmpty());
}

void TestJupyterClient::pagedHelpIsAnOutputOfTheCell() {
  run(*probe_, "a", "def helpful():\n    'Says what helpful does.'");
  QCOMPARE(run(*probe_, "b", "helpful?"), QString("ok"));
  QVERIFY(probe_->output("b", "display_data").dump().find("Says what helpful does.") != std::string::npos);
}

void TestJupyterClient::textThatIsNoUnicodeStillArrives() {
  QCOMPARE(run(*probe_, "a", "print('before \\udc80 after')"), QString("ok"));
  QVERIFY2(probe_->printed("a").contains("before"), qPrintable(probe_->printed("a")));
  QVERIFY(probe_->printed("a").contains("after"));
}

void TestJupyterClient::aFloodOfOutputArrivesWholeAndDoesNotFloodTheUi() {
  probe_->outputSignals = 0;
  QElapsedTimer clock;
  clock.start();
  QCOMPARE(run(*probe_, "a", "for i in range(20_000): print('x' * 1000)\nprint('the end')"), QString("ok"));
  const QString text = probe_->printed("a");
  QCOMPARE(text.size(), qsizetype{20'000 * 1'001 + 8});
  QVERIFY(text.endsWith("the end\n"));
  // One at once and 30 a second, whatever the machine's speed.
  QVERIFY(probe_->outputSignals <= 2 + clock.elapsed() * 31 / 1000);
}

void TestJupyterClient::oneHugePrintArrivesInPieces() {
  QCOMPARE(run(*probe_, "a", "print('begin' + 'y' * 20_000_000 + 'end')"), QString("ok"));
  const QString text = probe_->printed("a");
  QVERIFY(text.startsWith("beginyyy"));
  QVERIFY(text.endsWith("yyyend\n"));
  QCOMPARE(text.size(), qsizetype{20'000'009});
}

void TestJupyterClient::anAnimationKeepsItsLastFrame() {
  probe_->outputs.clear();
  QCOMPARE(run(*probe_, "a",
               "from IPython.display import clear_output\n"
               "for i in range(300):\n    clear_output(wait=True)\n    display(i)"),
           QString("ok"));
  QCOMPARE(probe_->outputs["a"].back()["data"]["text/plain"], "299");
  QVERIFY(probe_->outputs["a"].size() < 300);
}

void TestJupyterClient::printsOfAThreadGoToItsCell() {
  QCOMPARE(run(*probe_, "a",
               "import threading, time\n"
               "def later():\n    time.sleep(0.3)\n    print('late')\n"
               "threading.Thread(target=later).start()"),
           QString("ok"));
  QTRY_COMPARE_WITH_TIMEOUT(probe_->printed("a"), QString("late\n"), generous);
}

void TestJupyterClient::restartForgetsAndRunsWhatIsGivenAfterwards() {
  run(*probe_, "a", "kept = 1");
  const qint64 before = probe_->session.processId();
  probe_->finished.clear();
  probe_->session.execute("b", "import time\ntime.sleep(100)");
  probe_->session.execute("c", "1");
  probe_->session.restart();
  QCOMPARE(probe_->session.state(), KernelState::starting);
  probe_->session.execute("d", "print('kept' in globals())");
  QTRY_COMPARE_WITH_TIMEOUT(probe_->finished.value("d"), QString("ok"), generous);
  QCOMPARE(probe_->finished.value("b"), QString("ended"));
  QCOMPARE(probe_->finished.value("c"), QString("aborted"));
  QCOMPARE(probe_->printed("d"), QString("False\n"));
  QVERIFY(probe_->session.processId() != before);
  QCOMPARE(probe_->counts.value("d"), 1);
  QCOMPARE(probe_->infos.size(), std::size_t{2});
}

void TestJupyterClient::exitInACellEndsTheSessionAndSaysSo() {
  probe_->finished.clear();
  probe_->session.execute("a", "exit()");
  probe_->session.execute("b", "1");
  QTRY_COMPARE_WITH_TIMEOUT(probe_->session.state(), KernelState::dead, generous);
  QVERIFY2(probe_->sentence.startsWith("The session ended: a cell called exit()."),
           qPrintable(probe_->sentence));
  QTRY_COMPARE(probe_->finished.value("b"), QString("aborted"));
  QCOMPARE(run(*probe_, "c", "1"), QString("aborted"));
  QVERIFY(startAndWait(*probe_));
  QCOMPARE(run(*probe_, "c", "1"), QString("ok"));
}

TAPEDECK_TEST(TestJupyterClient)
#include "tst_jupyter_client.moc"
