// Sessions that run, or ran, elsewhere: what keys do there, what the window says, whose lines it shows.
#include <sys/stat.h>

#include <QTemporaryDir>

#include "app/control/pause_watch.h"
#include "app/control/program_sources.h"
#include "app/control/session_text.h"
#include "app/control/trace_document.h"
#include "tests/control/control_world.h"
#include "tests/files.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::app;
using namespace tapedeck::test;

namespace {

QString text(const ControlWorld& world) {
  return sessionText(world.stepper, world.kernel, world.session, world.runner);
}

}  // namespace

class TestGuests : public QObject {
  Q_OBJECT

 private slots:
  void aProgramRunsWithoutCellsAndIsPausedAndStepped() {
    ControlWorld world;
    world.kernel.what = Runs::program;
    world.kernel.become(KernelState::starting);
    QCOMPARE(text(world), QString("train.py (pid 7): waiting for its answer …"));
    world.stepper.pause();  // it is kept until the program answers
    world.kernel.become(KernelState::busy);
    world.source.setUp(true);
    world.settle();
    QCOMPARE(world.stepper.state(), StepperState::running);
    QCOMPARE(world.gateCommands(), QStringList{"gate pause"});
    QCOMPARE(text(world), QString("train.py (pid 7): attached, running"));
    world.gate(protocol::GateState::will_stop);
    QCOMPARE(text(world), QString("train.py (pid 7): pausing before its next op"));
    world.stopBefore(3);
    QCOMPARE(world.stepper.state(), StepperState::stopped);
    QVERIFY2(text(world).startsWith("train.py (pid 7): paused before matmul"), qPrintable(text(world)));
    world.stepper.stepOp();
    world.settle();
    world.stepper.resume();
    world.settle();
    QCOMPARE(world.gateCommands(), (QStringList{"gate pause", "gate step_op", "gate run"}));
    QVERIFY(world.kernel.calls.isEmpty());
    QVERIFY2(world.refusals.isEmpty(), qPrintable(world.refusals.join("; ")));
  }

  void whatIsNotAttachedAnyMoreStartsNothing() {
    ControlWorld world;
    world.kernel.what = Runs::program;
    world.kernel.become(KernelState::busy);
    world.source.setUp(true);
    world.settle();
    world.source.setUp(false);
    world.kernel.become(KernelState::stopped);
    world.settle();
    QCOMPARE(text(world),
             QString("train.py (pid 7): detached and still running; what was fetched is still here"));
    world.stepper.pause();
    world.stepper.stepOp();
    world.stepper.resume();
    QCOMPARE(world.refusals.size(), 3);
    for (const QString& refusal : world.refusals)
      QVERIFY2(refusal.startsWith("The program is no longer attached."), qPrintable(refusal));
    world.kernel.become(KernelState::dead, "train.py (pid 7) has ended.");
    QCOMPARE(text(world), QString("train.py (pid 7): ended; what it showed is still here"));
    QVERIFY(world.kernel.calls.isEmpty());
  }

  void aTraceIsOnlyLookedAt() {
    ControlWorld world;
    world.kernel.what = Runs::nothing;
    world.connectEngine();
    QCOMPARE(world.stepper.state(), StepperState::idle);
    for (const auto key : {&Stepper::stepOp, &Stepper::stepLine, &Stepper::pause, &Stepper::resume})
      (world.stepper.*key)();
    QCOMPARE(world.refusals.size(), 4);
    for (const QString& refusal : world.refusals)
      QVERIFY2(refusal.startsWith("A trace can't be run."), qPrintable(refusal));
    QVERIFY(world.gateCommands().isEmpty());
    QVERIFY(world.kernel.calls.isEmpty());
    QCOMPARE(text(world), QString("train.py (pid 7): 0 records"));
  }

  void aPauseThatDoesNotComeIsTold() {
    ControlWorld world;
    world.kernel.what = Runs::program;
    PauseWatch watch(&world.session, "train.py (pid 7)");
    watch.setPatience(0);
    QSignalSpy waits(&watch, &PauseWatch::waits), over(&watch, &PauseWatch::over);
    world.kernel.become(KernelState::busy);
    world.source.setUp(true);
    world.settle();
    QVERIFY(waits.isEmpty());
    world.gate(protocol::GateState::will_stop);
    QTRY_COMPARE(waits.size(), 1);
    QVERIFY(
        waits[0][0].toString().startsWith("train.py (pid 7) can't pause yet: it has reached no op since."));
    QVERIFY(over.isEmpty());
    world.stopBefore(1);
    QCOMPARE(over.size(), 1);
    // Inside an op it is named.
    world.source.records[0].state = protocol::RecordState::running;
    world.source.status.stopped_before.reset();
    world.source.status.stop.clear();
    emit world.source.received(0, protocol::Records{1, world.source.records});
    world.gate(protocol::GateState::open);
    world.gate(protocol::GateState::will_stop);
    QTRY_COMPARE(waits.size(), 2);
  }

  void filesOfAProgramAreCellsThatCantBeChanged() {
    QTemporaryDir folder;
    const QString main = folder.filePath("train.py"), other = folder.filePath("model.py");
    write(main, "import model\nmodel.f()\n\n");
    write(other, "def f():\r\n  return 1\r\n");
    Document document;
    ProgramSources sources(&document, main, QDateTime::currentDateTime().addSecs(60));
    QCOMPARE(document.cellCount(), 1);
    QCOMPARE(document.cell(0).id, main);
    QCOMPARE(document.cell(0).source, QString("import model\nmodel.f()"));
    sources.show(other);
    sources.show(other);
    sources.show(folder.filePath("nowhere.py"));
    sources.show("not a path");
    QCOMPARE(document.cellCount(), 2);
    QCOMPARE(document.cell(1).source, QString("def f():\n  return 1"));
    QVERIFY(sources.doubt().isEmpty());
    // Nothing changes it.
    document.setSource(0, "other");
    document.removeCell(1);
    document.moveCell(0, 1);
    document.setCellType(0, CellType::markdown);
    document.insertCell(0, CellType::code, "new");
    document.setOwnMetadata(0, {{"breakpoints", nlohmann::ordered_json::array()}});
    QCOMPARE(document.cellCount(), 2);
    QCOMPARE(document.cell(0).source, QString("import model\nmodel.f()"));
    QVERIFY(!document.modified());
    // A file that is newer than the program may say something else than what runs.
    Document late;
    const ProgramSources doubtful(&late, main, QDateTime::currentDateTime().addSecs(-60));
    QVERIFY2(doubtful.doubt().startsWith("train.py was changed after the program started"),
             qPrintable(doubtful.doubt()));
    Document none;
    const ProgramSources unreadable(&none, folder.filePath("gone.py"), {});
    QVERIFY(none.cell(0).source.contains("gone.py can't be read"));
    // Nor is a pipe waited for (python3 <(…)).
    const QString pipe = folder.filePath("pipe");
    QCOMPARE(::mkfifo(QFile::encodeName(pipe).constData(), 0600), 0);
    Document piped;
    const ProgramSources endless(&piped, pipe, {});
    QVERIFY(piped.cell(0).source.contains("pipe can't be read"));
  }

  void aNotebookKeepsItsCellsIdsInATrace() {
    // Of nbformat 4.4, whose cells have no ids.
    const QByteArray old = R"({"nbformat": 4, "nbformat_minor": 4, "metadata": {}, "cells": [
      {"cell_type": "markdown", "metadata": {}, "source": "text"},
      {"cell_type": "code", "metadata": {}, "source": "x = 1", "outputs": [], "execution_count": 3}]})";
    Document document;
    document.parse(old, "old.ipynb");
    const QString id = document.cell(1).id;
    protocol::TraceFileInfo info;
    info.notebook = withCellIds(document.serialize(), {document.cell(0).id, id});
    info.sources = cellSources(document, [](const QString&) { return QString(); });
    QCOMPARE(info.sources.size(), std::size_t{1});
    info.sources.push_back({"gone", "", "y = 2\n"});
    info.sources.push_back({"", "/home/user/model.py", "def f(): pass\n"});
    Document shown;
    showTrace(info, "old.tapetrace", shown);
    QCOMPARE(shown.cellCount(), 4);
    QCOMPARE(shown.cell(1).id, id);
    QCOMPARE(shown.cell(1).executionCount, 3);
    QCOMPARE(shown.cell(2).id, QString("gone"));
    QCOMPARE(shown.cell(3).id, QString("/home/user/model.py"));
    QCOMPARE(shown.cell(3).source, QString("def f(): pass"));
    QVERIFY(shown.locked() && !shown.modified());
    // A cell that changed since it ran: its records come from what ran.
    const auto ran =
        cellSources(document, [&](const QString& cell) { return cell == id ? "x = 0" : QString(); });
    QCOMPARE(ran[0].text, std::string("x = 0"));
    info.notebook = "no JSON";
    QVERIFY_EXCEPTION_THROWN(showTrace(info, "old.tapetrace", shown), NotebookError);
  }
};

TAPEDECK_TEST(TestGuests)
#include "tst_guests.moc"
