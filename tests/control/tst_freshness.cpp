// Which cells are marked, where a run stopped, and interrupts that are ignored: with a session that is not
// real.
#include "app/control/cell_freshness.h"
#include "app/control/interrupt_watch.h"
#include "app/notebook/document/execution_times.h"
#include "tests/control/control_world.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::app;
using namespace tapedeck::test;

namespace {

/// Code cells "0", "1", …
QByteArray notebookOfCode(const QStringList& sources) {
  nlohmann::json cells = nlohmann::json::array();
  for (int i = 0; i < sources.size(); ++i)
    cells.push_back({{"cell_type", "code"},
                     {"id", std::to_string(i)},
                     {"metadata", nlohmann::json::object()},
                     {"outputs", nlohmann::json::array()},
                     {"execution_count", nullptr},
                     {"source", sources[i].toStdString()}});
  return QByteArray::fromStdString(nlohmann::json{
      {"nbformat", 4},
      {"nbformat_minor", 5},
      {"metadata", nlohmann::json::object()},
      {"cells", cells}}.dump());
}

struct Marked {
  ControlWorld world;
  CellFreshness freshness{&world.document, &world.runner, &world.kernel};
  QList<RunStop> stops;
  int count = 0;

  explicit Marked(const QStringList& sources) {
    QObject::connect(&world.runner, &CellRunner::stopped, [this](const RunStop& stop) { stops << stop; });
    world.document.parse(notebookOfCode(sources), "marks.ipynb");
    world.kernel.becomeReady(Engine::missing);
  }
  void run(const QString& id) {
    world.runner.run({id});
    world.kernel.beginCell(id, ++count);
    world.kernel.endCell(id, "ok", count);
  }
  void runAll() {
    for (int i = 0; i < world.document.cellCount(); ++i) run(QString::number(i));
  }
  QList<CellMark> marks() {
    QList<CellMark> list;
    for (int i = 0; i < world.document.cellCount(); ++i) list << freshness.mark(QString::number(i));
    return list;
  }
};

using M = CellMark;

}  // namespace

class TestFreshness : public QObject {
  Q_OBJECT

 private slots:
  void aRunFromTheTopLeavesNoMark() {
    Marked notebook({"x = 1", "y = x + 1", "x = x + y", "for i in range(3): x = x + i", "print(x, y)"});
    notebook.runAll();
    QCOMPARE(notebook.marks(), QList<M>(5, M::none));
    notebook.runAll();
    QCOMPARE(notebook.marks(), QList<M>(5, M::none));
    QVERIFY(notebook.freshness.marked().isEmpty());
  }

  void anEditIsMarkedUntilItIsTakenBack() {
    Marked notebook({"x = 1", "y = 2"});
    notebook.runAll();
    notebook.world.document.setSource(0, "x = 10");
    QCOMPARE(notebook.marks(), (QList<M>{M::edited, M::none}));
    QCOMPARE(notebook.freshness.marked(), QStringList{"0"});
    notebook.world.document.setSource(0, "x = 1");
    QCOMPARE(notebook.marks(), (QList<M>{M::none, M::none}));
    notebook.world.document.setSource(0, "x = 10");
    notebook.run("0");
    QCOMPARE(notebook.marks(), (QList<M>{M::none, M::none}));
  }

  void anEditWhileTheCellRunsIsMarked() {
    Marked notebook({"x = 1"});
    notebook.world.runner.run({"0"});
    notebook.world.document.setSource(0, "x = 2");
    notebook.world.kernel.beginCell("0", 1);
    notebook.world.kernel.endCell("0", "ok", 1);
    QCOMPARE(notebook.marks(), QList<M>{M::edited});
  }

  void whoReadTheNameMayBeOutOfDate() {
    Marked notebook({"rate = 0.1", "w = 3", "step = rate * 2", "print(w)", "def f(): return rate", "f()"});
    notebook.runAll();
    notebook.world.document.setSource(0, "rate = 0.5");
    notebook.run("0");
    QCOMPARE(notebook.marks(), (QList<M>{M::none, M::none, M::outdated, M::none, M::none, M::none}));
    QCOMPARE(notebook.freshness.why("2"),
             QString("May be out of date: it reads rate, which cell [7] assigned after this cell ran."));
    QCOMPARE(notebook.freshness.marked(), QStringList{"2"});
    notebook.run("2");
    QCOMPARE(notebook.marks(), QList<M>(6, M::none));
  }

  /// A cell below goes on with a name; but what a cell had from below, it had from there.
  void cellsBelowCountWhereTheNameCameFromThem() {
    Marked notebook({"print(x)", "x = 1"});
    notebook.run("1");
    notebook.run("0");
    QCOMPARE(notebook.marks(), (QList<M>{M::none, M::none}));
    notebook.run("1");
    QCOMPARE(notebook.marks(), (QList<M>{M::outdated, M::none}));
  }

  void importsChangeNothing() {
    Marked notebook({"import numpy as np", "np.ones(3)"});
    notebook.runAll();
    notebook.run("0");
    QCOMPARE(notebook.marks(), (QList<M>{M::none, M::none}));
  }

  void anEarlierSessionIsMarked() {
    Marked notebook({"x = 1", "y = 2", "z = 3"});
    notebook.run("0");
    notebook.run("1");
    notebook.world.kernel.restart();
    QCOMPARE(notebook.marks(), (QList<M>{M::earlier, M::earlier, M::none}));
    notebook.world.kernel.becomeReady(Engine::missing);
    notebook.run("1");
    QCOMPARE(notebook.marks(), (QList<M>{M::earlier, M::none, M::none}));
    // And what a file has.
    const QByteArray bytes = notebook.world.document.serialize();
    notebook.world.document.parse(bytes, "again.ipynb");
    QCOMPARE(notebook.marks(), (QList<M>{M::earlier, M::earlier, M::none}));
    notebook.world.document.clearOutputs("0");
    QCOMPARE(notebook.marks(), (QList<M>{M::none, M::earlier, M::none}));
  }

  void aFailureNamesWhatItSkipped() {
    Marked notebook({"1", "1 / 0", "3", "4"});
    notebook.world.runner.run({"0", "1", "2", "3"});
    notebook.world.kernel.beginCell("0", 1);
    notebook.world.kernel.endCell("0", "ok", 1);
    notebook.world.kernel.beginCell("1", 2);
    emit notebook.world.kernel.outputReceived(
        "1", {{"output_type", "error"}, {"ename", "ZeroDivisionError"}, {"evalue", ""}});
    notebook.world.kernel.endCell("1", "error", 2);
    notebook.world.kernel.endCell("2", "aborted", 0);
    notebook.world.kernel.endCell("3", "aborted", 0);
    QVERIFY(notebook.stops.isEmpty());  // told once, when all is known
    notebook.world.settle();
    QCOMPARE(notebook.stops,
             (QList<RunStop>{{RunStop::Why::failed, "1", "ZeroDivisionError", {"2", "3"}, true}}));
  }

  void anInterruptIsToldWhenTheCellHasEnded() {
    Marked notebook({"1", "2"});
    notebook.world.runner.run({"0", "1"});
    notebook.world.kernel.beginCell("0", 1);
    notebook.world.kernel.endCell("1", "aborted", 0);
    notebook.world.settle();
    QVERIFY(notebook.stops.isEmpty());
    emit notebook.world.kernel.outputReceived(
        "0", {{"output_type", "error"}, {"ename", "KeyboardInterrupt"}, {"evalue", ""}});
    notebook.world.kernel.endCell("0", "error", 1);
    notebook.world.settle();
    QCOMPARE(notebook.stops,
             (QList<RunStop>{{RunStop::Why::interrupted, "0", "KeyboardInterrupt", {"1"}, true}}));
  }

  /// The cell may end well all the same: what was cancelled is reported then.
  void whatAnInterruptSkippedIsToldAlsoWhereItIsIgnored() {
    Marked notebook({"1", "2"});
    notebook.world.runner.run({"0", "1"});
    notebook.world.kernel.beginCell("0", 1);
    notebook.world.kernel.endCell("1", "aborted", 0);
    notebook.world.settle();
    notebook.world.kernel.endCell("0", "ok", 1);
    notebook.world.settle();
    QCOMPARE(notebook.stops, (QList<RunStop>{{RunStop::Why::interrupted, "", "", {"1"}, false}}));
  }

  void aRestartThatWasAskedForIsNoFailure() {
    Marked notebook({"1", "2"});
    notebook.world.runner.run({"0", "1"});
    notebook.world.kernel.beginCell("0", 1);
    notebook.world.kernel.restart();
    emit notebook.world.kernel.executionFinished("0", "ended", 0);
    emit notebook.world.kernel.executionFinished("1", "aborted", 0);
    notebook.world.settle();
    QVERIFY(notebook.stops.isEmpty());
    // The next stop does not report it.
    notebook.world.kernel.becomeReady(Engine::missing);
    notebook.world.runner.run({"1"});
    notebook.world.kernel.beginCell("1", 1);
    notebook.world.kernel.endCell("1", "error", 1);
    notebook.world.settle();
    QCOMPARE(notebook.stops, (QList<RunStop>{{RunStop::Why::failed, "1", "", {}, false}}));
  }

  void anInterruptThatIsIgnoredIsNoticed() {
    Marked notebook({"1"});
    InterruptWatch watch(&notebook.world.runner, &notebook.world.kernel);
    watch.setPatience(1);
    QSignalSpy ignored(&watch, &InterruptWatch::ignored), over(&watch, &InterruptWatch::over);
    notebook.world.runner.run({"0"});
    notebook.world.kernel.beginCell("0", 1);
    watch.interrupt();
    QVERIFY(notebook.world.kernel.calls.contains("interrupt"));
    QTRY_COMPARE(ignored.size(), 1);
    QCOMPARE(ignored[0][0].toString(), QString("0"));
    watch.wait();
    QTRY_COMPARE(ignored.size(), 2);
    notebook.world.kernel.endCell("0", "ok", 1);
    QCOMPARE(over.size(), 1);
  }

  void timesAreReadAsJupyterLabWritesThem() {
    const auto times = [](const char* started, const char* ended) {
      nlohmann::ordered_json members;
      members["metadata"]["execution"]["iopub.execute_input"] = started;
      members["metadata"]["execution"]["shell.execute_reply"] = ended;
      return executionTimes(members);
    };
    const auto run = times("2026-03-04T10:41:03.250113Z", "2026-03-04T10:41:04.570113Z");
    QVERIFY(run);
    QCOMPARE(run->duration(), QString("1.3 s"));
    QVERIFY2(run->text().contains(":41:03, ended "), qPrintable(run->text()));
    QVERIFY(run->text().startsWith("started 2026-03-04 "));
    QVERIFY(times("2026-03-04T10:41:03Z", "")->duration().isEmpty());
    QVERIFY(times("2026-03-04T10:41:03Z", "2026-03-04T10:41:02Z")->duration().isEmpty());
    QVERIFY(!times("yesterday", "2026-03-04T10:41:02Z"));
    QCOMPARE(durationText(4), QString("4 ms"));
    QCOMPARE(durationText(214), QString("0.21 s"));
    QCOMPARE(durationText(42'999), QString("42 s"));
    QCOMPARE(durationText(200'000), QString("3 min 20 s"));
    QCOMPARE(durationText(7'500'000), QString("2 h 5 min"));
  }
};

TAPEDECK_TEST(TestFreshness)
#include "tst_freshness.moc"
