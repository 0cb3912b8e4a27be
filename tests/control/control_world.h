// A notebook with a fake session: the world of the tests of app/control.
#pragma once

#include <QtTest>

#include "app/control/stepper.h"
#include "tests/control/fake_kernel.h"
#include "tests/model/fake_source.h"

namespace tapedeck::test {

/// Cells: a text, the code cells a and b with an empty one between them, and a raw cell.
inline QByteArray controlNotebook() {
  nlohmann::json cells = nlohmann::json::array();
  const auto add = [&](const char* id, const char* type, const char* source) {
    nlohmann::json cell = {
        {"cell_type", type}, {"id", id}, {"metadata", nlohmann::json::object()}, {"source", source}};
    if (std::string(type) == "code")
      cell["outputs"] = nlohmann::json::array(), cell["execution_count"] = nullptr;
    cells.push_back(cell);
  };
  add("text", "markdown", "# Title");
  add("a", "code", "x = f(1)");
  add("empty", "code", "  \n");
  add("b", "code", "y = f(2)");
  add("raw", "raw", "raw");
  return QByteArray::fromStdString(nlohmann::json{
      {"nbformat", 4},
      {"nbformat_minor", 5},
      {"metadata", nlohmann::json::object()},
      {"cells", cells}}.dump());
}

struct ControlWorld {
  app::Document document;
  FakeKernel kernel;
  FakeSource source;
  inspector::Session session;
  app::CellRunner runner{&document, &kernel};
  app::Stepper stepper{&session, &runner, &kernel};
  int current = 0;
  QStringList refusals, chosen;

  ControlWorld() {
    document.parse(controlNotebook(), "control.ipynb");
    source.up = false;
    session.setSource(&source);
    stepper.setCurrentCell([this] { return current; });
    QObject::connect(&stepper, &app::Stepper::refused, [this](const QString& text) { refusals << text; });
    QObject::connect(&stepper, &app::Stepper::cellChosen, [this](const QString& id) { chosen << id; });
  }

  /// Lets answers come.
  void settle() {
    for (int i = 0; i < 5; ++i) QCoreApplication::processEvents();
  }
  void connectEngine() {
    kernel.becomeReady(app::Engine::present);
    source.setUp(true);
    settle();
  }
  /// Which process has connected.
  void welcome(quint64 pid) {
    protocol::Welcome message;
    message.pid = pid;
    emit source.received(0, message);
  }
  void gate(protocol::GateState state) {
    source.status.gate = state;
    source.sendStatus();
    settle();
  }
  /// The gate stops before the newest of `count` records, each on a line of its own in cell a.
  void stopBefore(int count) {
    source.records.clear();
    for (int i = 1; i <= count; ++i) {
      protocol::Record record;
      record.number = static_cast<quint64>(i);
      record.op = "matmul";
      record.cell = "a";
      record.line = static_cast<std::uint32_t>((i + 1) / 2);
      record.state = i == count ? protocol::RecordState::pending : protocol::RecordState::done;
      source.records.push_back(record);
    }
    source.status.cell = "a";
    source.status.line = source.records.back().line;
    source.stopAtNewest();
    settle();
  }
  void die(const QString& sentence = "The session process was killed (signal 9).") {
    const QString running = runner.runningCell();
    source.setUp(false);
    kernel.become(app::KernelState::dead, sentence);
    if (!running.isEmpty()) emit kernel.executionFinished(running, "ended", 0);
    settle();
  }

  QStringList gateCommands() const {
    QStringList result;
    for (const auto& asked : source.askedFor<protocol::SetGate>())
      result << "gate " + QString::fromLatin1(
                              protocol::names(asked.command)[static_cast<std::size_t>(asked.command)].data());
    return result;
  }
};

}  // namespace tapedeck::test
