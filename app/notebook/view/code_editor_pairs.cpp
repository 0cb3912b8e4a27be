// Brackets and quotes that close by themselves.
#include <QKeyEvent>

#include "app/notebook/view/code_editor.h"
#include "app/notebook/view/python_place.h"

namespace tapedeck::app {
namespace {

QChar closingOf(QChar c) {
  switch (c.unicode()) {
    case u'(':
      return u')';
    case u'[':
      return u']';
    case u'{':
      return u'}';
    case u'"':
    case u'\'':
      return c;
    default:
      return {};
  }
}

bool isQuote(QChar c) {
  return c == u'"' || c == u'\'';
}

/// How many of `c` stand side by side from `at` on, in the direction.
int runOf(const QString& text, qsizetype at, QChar c, int direction) {
  int count = 0;
  for (qsizetype i = at; i >= 0 && i < text.size() && text[i] == c; i += direction) ++count;
  return count;
}

/// The letters before a quote that are a string's own: rb"…", f'…'.
bool isStringPrefix(QStringView word) {
  if (word.size() > 2) return false;
  for (const QChar c : word)
    if (!QStringView(u"rRbBfFuU").contains(c)) return false;
  return true;
}

}  // namespace

bool CodeEditor::handlePair(const QKeyEvent& event) {
  if (!closesBrackets_ || language_ != Language::python || plain_ || isReadOnly()) return false;
  if (event.modifiers() & (Qt::ControlModifier | Qt::AltModifier | Qt::MetaModifier)) return false;
  if (SendScintilla(SCI_GETSELECTIONS) > 1 || SendScintilla(SCI_SELECTIONISRECTANGLE) != 0) return false;
  if (event.key() == Qt::Key_Backspace) return event.modifiers() == Qt::NoModifier && deletePair();
  if (event.text().size() != 1) return false;
  const QChar typed = event.text()[0];
  if (hasSelectedText()) return wrapSelection(typed);
  if (typed == u')' || typed == u']' || typed == u'}') return typeOver(typed);
  if (isQuote(typed)) return typeQuote(typed);
  if (closingOf(typed).isNull()) return false;
  const QString text = source();
  const qsizetype at = selectedRange().first;
  if (pythonPlace(QStringView(text).left(at)).kind != PythonPlace::Kind::code || !roomAt(text, at))
    return false;
  insertPair(QString(typed), QString(closingOf(typed)));
  return true;
}

/// Before a name, or whatever else goes on, a closing bracket would be in the way.
bool CodeEditor::roomAt(const QString& text, qsizetype at) {
  return at >= text.size() || text[at].isSpace() || QStringView(u")]},:;").contains(text[at]);
}

void CodeEditor::insertPair(const QString& open, const QString& close) {
  beginUndoAction();
  const QByteArray both = (open + close).toUtf8();
  const long position = SendScintilla(SCI_GETCURRENTPOS);
  SendScintilla(SCI_INSERTTEXT, static_cast<unsigned long>(position), both.constData());
  SendScintilla(SCI_GOTOPOS, static_cast<unsigned long>(position + open.toUtf8().size()));
  endUndoAction();
}

bool CodeEditor::wrapSelection(QChar open) {
  const QChar close = closingOf(open);
  if (close.isNull()) return false;
  const long start = SendScintilla(SCI_GETSELECTIONSTART);
  const long end = SendScintilla(SCI_GETSELECTIONEND);
  const QByteArray before = QString(open).toUtf8();
  const QByteArray after = QString(close).toUtf8();
  beginUndoAction();
  SendScintilla(SCI_INSERTTEXT, static_cast<unsigned long>(end), after.constData());
  SendScintilla(SCI_INSERTTEXT, static_cast<unsigned long>(start), before.constData());
  SendScintilla(SCI_SETSEL, static_cast<unsigned long>(start + 1), end + 1);
  endUndoAction();
  return true;
}

// Only while all that was opened is closed: else the bracket is one that is missing.
bool CodeEditor::typeOver(QChar close) {
  const QString text = source();
  const qsizetype at = selectedRange().first;
  if (at >= text.size() || text[at] != close) return false;
  if (pythonPlace(QStringView(text).left(at)).kind != PythonPlace::Kind::code) return false;
  if (pythonPlace(text).open > 0) return false;
  stepOver();
  return true;
}

void CodeEditor::stepOver() {
  const long position = SendScintilla(SCI_GETCURRENTPOS);
  SendScintilla(SCI_GOTOPOS, static_cast<unsigned long>(
                                 SendScintilla(SCI_POSITIONAFTER, static_cast<unsigned long>(position))));
}

bool CodeEditor::typeQuote(QChar quote) {
  const QString text = source();
  const qsizetype at = selectedRange().first;
  const PythonPlace place = pythonPlace(QStringView(text).left(at));
  if (place.kind == PythonPlace::Kind::comment) return false;
  const int behind = runOf(text, at, quote, 1);
  const int before = runOf(text, at - 1, quote, -1);
  if (place.kind == PythonPlace::Kind::string) {
    if (place.quote != quote || behind == 0) return false;
    const bool escaped = at > 0 && text[at - 1] == u'\\';
    // Of the three that close a string each is typed over.
    if (escaped || (place.triple && behind + before < 3)) return false;
    stepOver();
    return true;
  }
  if (behind > 0 && before > 0 && before + behind == 3) {
    stepOver();
    return true;
  }
  // The third in a row opens a string of many lines.
  if (before == 2 && behind == 0 && roomAt(text, at)) {
    insertPair(QString(quote), QString(3, quote));
    return true;
  }
  qsizetype word = at;
  while (word > 0 && (text[word - 1].isLetterOrNumber() || text[word - 1] == u'_')) --word;
  const QStringView prefix = QStringView(text).mid(word, at - word);
  if (!isStringPrefix(prefix) || before > 0 || !roomAt(text, at)) return false;
  insertPair(QString(quote), QString(quote));
  return true;
}

bool CodeEditor::deletePair() {
  if (hasSelectedText()) return false;
  const QString text = source();
  const qsizetype at = selectedRange().first;
  if (at == 0 || at >= text.size() || closingOf(text[at - 1]) != text[at] || text[at].isNull()) return false;
  if (pythonPlace(QStringView(text).left(at - 1)).kind != PythonPlace::Kind::code) return false;
  if (!isQuote(text[at]) && pythonPlace(text).open != 0) return false;
  // Of "" in a row of more quotes one alone goes.
  if (isQuote(text[at]) && (runOf(text, at - 1, text[at], -1) != 1 || runOf(text, at, text[at], 1) != 1))
    return false;
  const long position = SendScintilla(SCI_GETCURRENTPOS);
  beginUndoAction();
  SendScintilla(SCI_DELETERANGE, static_cast<unsigned long>(position - 1), 2L);
  endUndoAction();
  return true;
}

}  // namespace tapedeck::app
