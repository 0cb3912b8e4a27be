// A running program that the window attaches to: nothing is started or ended here.
#pragma once

#include <QSocketNotifier>
#include <memory>

#include "app/kernel/debug/guest_kernel.h"
#include "app/kernel/debug/program_list.h"

namespace tapedeck::app {

/// starting: it does not answer yet. busy: attached; its ops are recorded. stopped: detached, it keeps
/// running. dead: it has ended, or refused.
class AttachedProgram : public GuestKernel {
  Q_OBJECT
 public:
  explicit AttachedProgram(Program program, QObject* parent = nullptr);
  /// Detaches; the program keeps running.
  ~AttachedProgram() override;

  const Program& program() const { return program_; }
  /// Connects; from then on the program records.
  void attach();
  /// Opens the gate, so that the program runs on. Views keep what they have fetched.
  void detach();

  Runs runs() const override { return Runs::program; }
  QString title() const override { return program_.title(); }
  QString whyNoCells() const override;
  void shutdown() override { detach(); }

 private:
  void watchProcess();
  void ended();
  void connectionChanged(bool connected);

  Program program_;
  int process_ = -1;  ///< a descriptor, readable when it has ended
  std::unique_ptr<QSocketNotifier> end_;
  bool answered_ = false;
};

}  // namespace tapedeck::app
