// The code field: history, completion, several lines.
#pragma once

#include <QPlainTextEdit>

class QCompleter;
class QStringListModel;

namespace tapedeck::inspector {

/// Enter submits complete code, else begins a new line. Up and Down at its edge go through earlier input. Tab
/// completes; in an empty line it moves the focus.
class ConsoleInput : public QPlainTextEdit {
  Q_OBJECT
 public:
  explicit ConsoleInput(QWidget* parent = nullptr);

  void setHistory(const QStringList& history);
  void showCompletions(int start, int position, const QStringList& matches);
  /// While code runs Esc stops it; else Esc is left to the field's parent.
  void setRunning(bool running) { running_ = running; }

 signals:
  void entered(const QString& code);
  void completionWanted(const QString& code, int position);
  void stopWanted();

 protected:
  void keyPressEvent(QKeyEvent* event) override;
  bool focusNextPrevChild(bool next) override;

 private:
  void fit();
  bool recall(int by);
  void complete(const QString& match);
  bool tab();

  QStringList history_;
  int at_ = -1;  ///< in the history; -1: what is typed now
  QString typed_;
  QCompleter* completer_;
  QStringListModel* matches_;
  int start_ = 0;  ///< where the completion begins
  bool running_ = false;
};

}  // namespace tapedeck::inspector
