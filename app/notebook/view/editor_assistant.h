// Completion and help for the editors: asks the session, and shows what it answers at the text cursor.
#pragma once

#include <QObject>
#include <QPointer>
#include <QTimer>
#include <functional>

#include "app/notebook/output/notebook_theme.h"

class QKeyEvent;

namespace tapedeck::app {

class CodeEditor;
class CompletionPopup;
class HelpPopup;

class EditorAssistant : public QObject {
  Q_OBJECT
 public:
  EditorAssistant(const NotebookTheme& theme, QWidget* parent);

  void askCompletions(CodeEditor* editor);
  void askHelp(CodeEditor* editor);
  /// A key came to the text: after a dot or a few letters of a name, and a short pause, what it may become is
  /// offered, from `words` and from the session where it is free.
  void lettersTyped(CodeEditor* editor);
  void setCompletesWhileTyping(bool on);
  /// All texts in which names are looked for.
  std::function<QStringList()> sources;
  /// Answers; ignored where they came too late: for another editor, or the text before `start` has changed.
  void showCompletions(quint64 request, const QStringList& matches, int start, int end);
  void showHelp(quint64 request, const QString& text);

  /// What is open sees the editor's keys first; returns whether it took the key.
  bool handleKey(QKeyEvent* event);
  void hide();
  void hideHelp();
  void setTheme(const NotebookTheme& theme);

 signals:
  void completionRequested(quint64 request, const QString& code, int cursorPosition);
  void completionWhileTyping(quint64 request, const QString& code, int cursorPosition);
  void helpRequested(quint64 request, const QString& code, int cursorPosition);

 private:
  struct Request {
    quint64 number = 0;
    QPointer<CodeEditor> editor;
    QString code;
    int cursor = 0;
    QStringList words;  ///< of the notebook, that fit
    bool whileTyping = false;
  };
  Request ask(CodeEditor* editor);
  /// The editor that the answer is for, where it still has the focus.
  static CodeEditor* asker(const Request& request, quint64 answered);

  void offer();

  NotebookTheme theme_;
  QTimer pause_;
  QPointer<CodeEditor> typedIn_;
  bool whileTyping_ = true;
  CompletionPopup* completions_;
  HelpPopup* help_;
  quint64 lastNumber_ = 0;
  Request completion_;
  Request helping_;
};

}  // namespace tapedeck::app
