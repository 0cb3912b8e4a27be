#include "app/notebook/view/editor_assistant.h"

#include <QKeyEvent>

#include "app/notebook/view/code_editor.h"
#include "app/notebook/view/popups.h"

namespace tapedeck::app {

EditorAssistant::EditorAssistant(const NotebookTheme& theme, QWidget* parent)
    : QObject(parent),
      theme_(theme),
      completions_(new CompletionPopup(theme, parent)),
      help_(new HelpPopup(parent)) {}

EditorAssistant::Request EditorAssistant::ask(CodeEditor* editor) {
  return {++lastNumber_, editor, editor->source(), editor->cursorPosition()};
}

CodeEditor* EditorAssistant::asker(const Request& request, quint64 answered) {
  return request.number == answered && request.editor && request.editor->hasFocus() ? request.editor.data()
                                                                                    : nullptr;
}

void EditorAssistant::askCompletions(CodeEditor* editor) {
  completion_ = ask(editor);
  emit completionRequested(completion_.number, completion_.code, completion_.cursor);
}

void EditorAssistant::askHelp(CodeEditor* editor) {
  helping_ = ask(editor);
  emit helpRequested(helping_.number, helping_.code, helping_.cursor);
}

void EditorAssistant::showCompletions(quint64 request, const QStringList& matches, int start, int end) {
  CodeEditor* editor = asker(completion_, request);
  if (editor == nullptr || matches.isEmpty()) return;
  // One may have typed on, but elsewhere the positions would mean other text.
  if (!completion_.code.startsWith(editor->textInRange(0, start))) return;
  completions_->open(editor, matches, start, std::max(0, end - completion_.cursor));
}

void EditorAssistant::showHelp(quint64 request, const QString& text) {
  CodeEditor* editor = asker(helping_, request);
  if (editor == nullptr) return;
  help_->open(editor, text.trimmed().isEmpty() ? "No help was found for this name." : text, theme_);
}

bool EditorAssistant::handleKey(QKeyEvent* event) {
  if (help_->isVisible() && event->key() == Qt::Key_Escape) {
    help_->hide();
    return true;
  }
  return completions_->handleKey(event);
}

void EditorAssistant::hide() {
  completions_->hide();
  help_->hide();
}

void EditorAssistant::hideHelp() {
  help_->hide();
}

void EditorAssistant::setTheme(const NotebookTheme& theme) {
  theme_ = theme;
  completions_->setTheme(theme);
}

}  // namespace tapedeck::app
