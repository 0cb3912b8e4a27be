// A program that runs, or ran, elsewhere, seen through its debug server: a Kernel without cells.
#pragma once

#include <QTimer>

#include "app/kernel/debug/debug_client.h"
#include "app/kernel/kernel.h"

namespace tapedeck::app {

/// Not the window's to start, interrupt or restart.
class GuestKernel : public Kernel {
  Q_OBJECT
 public:
  ~GuestKernel() override;

  KernelState state() const override { return state_; }
  /// Present where it answers: idle or busy.
  Engine engine() const override;
  inspector::Source* debugSource() override { return &debug_; }
  void setSilenceLimit(std::chrono::milliseconds limit) { debug_.setSilenceLimit(limit); }

  void start(const QString&) override {}
  void interrupt() override {}
  void restart() override {}
  /// Aborts it, as no cell runs here.
  void execute(const QString& cellId, const QString& code) override;
  void sendInput(const QString&) override {}

 protected:
  explicit GuestKernel(QObject* parent);
  void setState(KernelState state, const QString& sentence = {});

  DebugClient debug_;
  QTimer patience_;  ///< for an answer; fires once

 private:
  KernelState state_ = KernelState::stopped;
};

}  // namespace tapedeck::app
