// A program that was asked to pause and comes to no op: one long op, or code without any. The user is told.
#pragma once

#include <QObject>
#include <QTimer>

#include "inspector/model/session/session.h"

namespace tapedeck::app {

class PauseWatch : public QObject {
  Q_OBJECT
 public:
  /// `title`: what people call the program.
  PauseWatch(inspector::Session* session, const QString& title, QObject* parent = nullptr);
  void setPatience(int milliseconds) { patience_.setInterval(milliseconds); }

 signals:
  void waits(const QString& sentence);
  void over();  ///< it came to an op, or is no longer asked to

 private:
  void look();
  void tell();

  inspector::Session* session_;
  QString title_;
  QTimer patience_;
  bool told_ = false;
};

}  // namespace tapedeck::app
