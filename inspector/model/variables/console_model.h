// A console in the current frame: its input and output.
#pragma once

#include <QObject>
#include <QStringList>
#include <optional>

#include "inspector/model/variables/frames_model.h"

namespace tapedeck::inspector {

/// One evaluation at a time, without a limit of time: stop() ends it.
class ConsoleModel : public QObject {
  Q_OBJECT
 public:
  enum class Part { input, printed, value, error, note };

  ConsoleModel(Session* session, FramesModel* frames, QObject* parent = nullptr);

  bool running() const { return running_; }
  /// Earlier input, the oldest first.
  QStringList history() const { return history_; }
  /// False: it runs something, or there is nothing to run it in (then a part says why).
  bool evaluate(const QString& code);
  void complete(const QString& code, int position);
  /// Ends here where the text is an expression or whole statements; false where a block is open.
  static bool isWhole(const QString& code);

 public slots:
  void stop();

 signals:
  void said(tapedeck::inspector::ConsoleModel::Part part, const QString& text);
  void runningChanged();
  /// The text between `start` and `position` would be replaced; in code points.
  void completed(int start, int position, const QStringList& matches);

 private:
  void take(const protocol::Evaluation& answer);
  void setRunning(bool running);

  Session* session_;
  FramesModel* frames_;
  QStringList history_;
  bool running_ = false;
};

}  // namespace tapedeck::inspector
