// How much memory the session takes, for the status bar: its process, and the tensors of a PyTorch program.
#pragma once

#include <QObject>
#include <QTimer>
#include <optional>

#include "inspector/model/session/session.h"

namespace tapedeck::app {

/// Looks while ops or cells run, and when they have ended.
class SessionMemory : public QObject {
  Q_OBJECT
 public:
  explicit SessionMemory(inspector::Session* session, QObject* parent = nullptr);
  /// The session's; 0: none runs on this machine.
  void setProcess(qint64 id);
  /// As the system counts what the process has in memory; 0: not known.
  quint64 resident() const { return resident_; }
  /// Of the storages that are alive, as far as records know them, which is the sum that Memory shows.
  /// Nothing: no op of PyTorch was seen, or it is not known yet.
  std::optional<quint64> tensors() const { return tensors_; }

 signals:
  void changed();

 private:
  void look();
  void ask();
  void sample();

  inspector::Session* session_;
  QTimer soon_, sampling_;
  qint64 process_ = 0;
  quint64 resident_ = 0;
  bool sawTorch_ = false;
  quint64 ended_ = 0, cells_ = 0;  ///< of the status that was asked about last
  std::optional<quint64> tensors_;
};

}  // namespace tapedeck::app
