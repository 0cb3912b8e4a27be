#include "app/notebook/view/editor_assistant.h"

#include <QKeyEvent>
#include <QSet>

#include "app/notebook/output/html/code_colours.h"
#include "app/notebook/view/code_editor.h"
#include "app/notebook/view/popups.h"
#include "app/notebook/view/python_place.h"

namespace tapedeck::app {
namespace {

constexpr int pause_before_offer = 200;  // milliseconds
constexpr int least_letters = 2;
constexpr qsizetype most_words = 200;
/// Of the notebook's text that is looked through for names.
constexpr qsizetype most_read = 2'000'000;

bool isNameLetter(QChar c) {
  return c.isLetterOrNumber() || c == u'_';
}

/// Names in the texts that begin with `begin` and go on, each once, in their order.
QStringList namesWith(const QStringList& sources, const QString& begin) {
  QStringList names;
  QSet<QString> known;
  qsizetype read = 0;
  for (const QString& source : sources) {
    read += source.size();
    if (read > most_read) break;
    for (qsizetype i = source.indexOf(begin); i >= 0 && names.size() < most_words;
         i = source.indexOf(begin, i + begin.size())) {
      if (i > 0 && isNameLetter(source[i - 1])) continue;
      qsizetype end = i;
      while (end < source.size() && isNameLetter(source[end])) ++end;
      const QString name = source.mid(i, end - i);
      if (name.size() == begin.size() || known.contains(name)) continue;
      known << name;
      names << name;
    }
  }
  return names;
}

/// A keyword, or in the texts more often than where it is typed.
bool isWholeName(const QStringList& sources, const QString& name) {
  if (QByteArray(python_keywords).contains(" " + name.toUtf8() + " ")) return true;
  qsizetype read = 0;
  int times = 0;
  for (const QString& source : sources) {
    read += source.size();
    if (read > most_read) break;
    for (qsizetype i = source.indexOf(name); i >= 0; i = source.indexOf(name, i + name.size())) {
      const qsizetype end = i + name.size();
      if ((i > 0 && isNameLetter(source[i - 1])) || (end < source.size() && isNameLetter(source[end])))
        continue;
      if (++times > 1) return true;
    }
  }
  return false;
}

}  // namespace

EditorAssistant::EditorAssistant(const NotebookTheme& theme, QWidget* parent)
    : QObject(parent),
      theme_(theme),
      completions_(new CompletionPopup(theme, parent)),
      help_(new HelpPopup(parent)) {
  pause_.setSingleShot(true);
  pause_.setInterval(pause_before_offer);
  connect(&pause_, &QTimer::timeout, this, &EditorAssistant::offer);
  completions_->isName = [this](const QString& text) {
    const QString name = text.section(u'.', -1);
    return !name.isEmpty() && sources && isWholeName(sources(), name);
  };
}

EditorAssistant::Request EditorAssistant::ask(CodeEditor* editor) {
  return {++lastNumber_, editor, editor->source(), editor->cursorPosition(), {}};
}

void EditorAssistant::setCompletesWhileTyping(bool on) {
  whileTyping_ = on;
  if (!on) pause_.stop();
}

void EditorAssistant::lettersTyped(CodeEditor* editor) {
  // An open list is cut down by itself.
  if (!whileTyping_ || completions_->isVisible() || editor->language() != CodeEditor::Language::python)
    return;
  typedIn_ = editor;
  pause_.start();
}

void EditorAssistant::offer() {
  CodeEditor* editor = typedIn_;
  if (editor == nullptr || !editor->hasFocus() || editor->isReadOnly() || editor->plain() ||
      editor->hasSelectedText() || completions_->isVisible())
    return;
  Request request = ask(editor);
  request.whileTyping = true;
  const QString before = editor->textInRange(0, request.cursor);
  if (pythonPlace(before).kind != PythonPlace::Kind::code) return;
  // In the middle of a name nothing is to be completed.
  if (request.cursor < request.code.size() && isNameLetter(request.code.mid(before.size(), 1).at(0))) return;
  qsizetype start = before.size();
  while (start > 0 && isNameLetter(before[start - 1])) --start;
  const QString begin = before.mid(start);
  const bool member = start > 0 && before[start - 1] == u'.';
  if (!begin.isEmpty() && begin[0].isDigit()) return;
  if (member && begin.isEmpty() && (start < 2 || before[start - 2].isDigit() || before[start - 2].isSpace()))
    return;
  if (!member && begin.size() < least_letters) return;
  if (begin.size() >= least_letters && sources) request.words = namesWith(sources(), begin);
  completion_ = request;
  const int from = static_cast<int>(QStringView(before).left(start).toUcs4().size());
  if (!request.words.isEmpty()) completions_->offer(editor, request.words, from);
  emit completionWhileTyping(request.number, request.code, request.cursor);
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
  if (!completion_.whileTyping)
    return completions_->open(editor, matches, start, std::max(0, end - completion_.cursor));
  // The session knows more than the words of the notebook, which come behind what it says.
  if (!completions_->isVisible() && !completion_.words.isEmpty()) return;
  QStringList all = matches;
  const int dot = static_cast<int>(matches.first().lastIndexOf(u'.'));
  for (const QString& word : std::as_const(completion_.words))
    if (const QString match = matches.first().left(dot + 1) + word; !all.contains(match)) all << match;
  completions_->offer(editor, all, start);
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
  pause_.stop();
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
