// What appears at the text cursor: completions, and help on the name before it.
#pragma once

#include <QFrame>
#include <functional>

#include "app/notebook/output/notebook_theme.h"

class QKeyEvent;
class QListWidget;
class QTextEdit;

namespace tapedeck::app {

class CodeEditor;

/// A list that follows what is typed. The editor keeps the focus and hands its keys over.
class CompletionPopup : public QFrame {
  Q_OBJECT
 public:
  CompletionPopup(const NotebookTheme& theme, QWidget* parent);

  /// A match replaces the text from `start` to `after` behind the text cursor, in code points.
  void open(CodeEditor* editor, const QStringList& matches, int start, int after);
  /// Opened while typing: nothing is accepted automatically. Enter and Tab accept the chosen one, as in VS
  /// Code and JupyterLab; where what is typed is a name already nothing is chosen, and Enter is a new line
  /// until Down chooses.
  void offer(CodeEditor* editor, const QStringList& matches, int start);
  /// Whether that is a name as it is.
  std::function<bool(const QString&)> isName;
  bool handleKey(QKeyEvent* event);
  void setTheme(const NotebookTheme& theme);
  QStringList shown() const;

 private:
  void filter();
  void accept();

  QListWidget* list_;
  CodeEditor* editor_ = nullptr;
  QStringList matches_;
  int start_ = 0;
  int after_ = 0;
  bool offered_ = false;
};

class HelpPopup : public QFrame {
  Q_OBJECT
 public:
  explicit HelpPopup(QWidget* parent);
  void open(CodeEditor* editor, const QString& text, const NotebookTheme& theme);
  QString shown() const;

 private:
  QTextEdit* view_;
};

}  // namespace tapedeck::app
