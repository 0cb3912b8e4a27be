// A session process that only records its calls; the test decides what happens.
#pragma once

#include "app/kernel/kernel.h"

namespace tapedeck::test {

class FakeKernel : public app::Kernel {
 public:
  QStringList calls;  ///< "start", "execute a", …
  app::Runs what = app::Runs::cells;

  app::KernelState state() const override { return state_; }
  app::Engine engine() const override { return engine_; }
  app::Runs runs() const override { return what; }
  QString title() const override { return what == app::Runs::cells ? "session" : "train.py (pid 7)"; }
  void start(const QString&) override {
    calls << "start";
    become(app::KernelState::starting);
  }
  void interrupt() override { calls << "interrupt"; }
  void restart() override {
    calls << "restart";
    become(app::KernelState::starting);
  }
  void shutdown() override { become(app::KernelState::stopped); }
  void execute(const QString& cellId, const QString&) override { calls << "execute " + cellId; }
  void sendInput(const QString& text) override { calls << "input " + text; }

  void become(app::KernelState state, const QString& sentence = {}) {
    state_ = state;
    if (state != app::KernelState::idle && state != app::KernelState::busy) engine_ = app::Engine::unknown;
    emit stateChanged(state, sentence);
  }
  void becomeReady(app::Engine engine) {
    engine_ = engine;
    become(app::KernelState::idle);
    emit ready(nlohmann::json::object());
  }
  void beginCell(const QString& cellId, int count) {
    become(app::KernelState::busy);
    emit executionStarted(cellId, count);
  }
  void endCell(const QString& cellId, const QString& status, int count) {
    become(app::KernelState::idle);
    emit executionFinished(cellId, status, count);
  }

 private:
  app::KernelState state_ = app::KernelState::stopped;
  app::Engine engine_ = app::Engine::unknown;
};

}  // namespace tapedeck::test
