// The user's options for the session: kept until there is a process, and for the next one.
#pragma once

#include <QObject>
#include <optional>

#include "inspector/model/session/session.h"

namespace tapedeck::app {

class SessionOptions : public QObject {
  Q_OBJECT
 public:
  explicit SessionOptions(inspector::Session* session, QObject* parent = nullptr);

  /// The options in effect: the session's where there is one, else those that the next one will start with.
  bool recording() const;
  bool breakAtCellStart() const;
  bool replayOnCpu() const;
  bool functionsEagerly() const;
  /// What was chosen has not been confirmed by the session: a cell that starts now may run without it.
  bool onTheirWay() const;

 public slots:
  void setRecording(bool on);
  void setBreakAtCellStart(bool on);
  void setReplayOnCpu(bool on);
  /// Until the program calls tf.config.run_functions_eagerly itself.
  void setFunctionsEagerly(bool on);
  void setBudget(quint64 bytes);

 signals:
  void changed();
  void arrived();  ///< the session accepted them, refused them, or is gone

 private:
  void send();
  void sendChosen();  ///< nothing where nothing was chosen
  inspector::Session* session_;
  std::optional<bool> recording_, breakAtCellStart_, replayOnCpu_, functionsEagerly_;
  /// A program may have set it otherwise since: it is sent once, not with every other option.
  bool functionsOnTheirWay_ = false;
  std::optional<quint64> budget_;
};

}  // namespace tapedeck::app
