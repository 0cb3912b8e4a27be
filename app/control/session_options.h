// What the user chose for the session: kept where there is no process yet, and for the next one.
#pragma once

#include <QObject>
#include <optional>

#include "inspector/model/session/session.h"

namespace tapedeck::app {

class SessionOptions : public QObject {
  Q_OBJECT
 public:
  explicit SessionOptions(inspector::Session* session, QObject* parent = nullptr);

  /// What holds: of the session where there is one, else what the next one will begin with.
  bool recording() const;
  bool breakAtCellStart() const;
  bool replayOnCpu() const;
  /// What was chosen has not been confirmed by the session: a cell that starts now may run without it.
  bool onTheirWay() const;

 public slots:
  void setRecording(bool on);
  void setBreakAtCellStart(bool on);
  void setReplayOnCpu(bool on);
  void setBudget(quint64 bytes);

 signals:
  void changed();
  void arrived();  ///< the session has them, refused them, or is gone

 private:
  void send();
  void sendChosen();  ///< nothing where nothing was chosen
  inspector::Session* session_;
  std::optional<bool> recording_, breakAtCellStart_, replayOnCpu_;
  std::optional<quint64> budget_;
};

}  // namespace tapedeck::app
