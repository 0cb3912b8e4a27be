// Tells the user when a program that was asked to pause reaches no op: one long op, or code without ops.
#pragma once

#include <QObject>
#include <QTimer>

#include "inspector/model/session/session.h"

namespace tapedeck::app {

class PauseWatch : public QObject {
  Q_OBJECT
 public:
  /// `title`: the program's name in messages.
  PauseWatch(inspector::Session* session, const QString& title, QObject* parent = nullptr);
  void setPatience(int milliseconds) { patience_.setInterval(milliseconds); }

 signals:
  void waits(const QString& sentence);
  void over();  ///< it reached an op, or is no longer asked to pause

 private:
  void look();
  void tell();

  inspector::Session* session_;
  QString title_;
  QTimer patience_;
  bool told_ = false;
};

}  // namespace tapedeck::app
