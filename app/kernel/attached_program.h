// A program that runs by itself and that the window looks into: nothing is started or ended here.
#pragma once

#include <QSocketNotifier>
#include <QTimer>
#include <memory>

#include "app/kernel/debug_client.h"
#include "app/kernel/kernel.h"
#include "app/kernel/program_list.h"

namespace tapedeck::app {

/// starting: it does not answer yet. busy: attached; its ops are recorded. stopped: detached, it goes on.
/// dead: it has ended, or refused.
class AttachedProgram : public Kernel {
  Q_OBJECT
 public:
  explicit AttachedProgram(Program program, QObject* parent = nullptr);
  /// Lets the program go, which runs on.
  ~AttachedProgram() override;

  const Program& program() const { return program_; }
  /// Connects; the program records from then on.
  void attach();
  /// Opens the gate; what was fetched stays with who has it.
  void detach();

  KernelState state() const override { return state_; }
  Engine engine() const override;
  Runs runs() const override { return Runs::program; }
  QString title() const override { return program_.title(); }
  QString whyNoCells() const override;
  inspector::Source* debugSource() override { return &debug_; }

  /// A program is not the window's to start, interrupt or end.
  void start(const QString&) override {}
  void interrupt() override {}
  void restart() override {}
  void shutdown() override { detach(); }
  void execute(const QString& cellId, const QString& code) override;
  void sendInput(const QString&) override {}

 private:
  void watchProcess();
  void ended();
  void connectionChanged(bool connected);
  void setState(KernelState state, const QString& sentence = {});

  Program program_;
  KernelState state_ = KernelState::stopped;
  DebugClient debug_;
  QTimer patience_;   ///< for an answer
  int process_ = -1;  ///< a descriptor, readable when it has ended
  std::unique_ptr<QSocketNotifier> end_;
  bool answered_ = false;
};

}  // namespace tapedeck::app
