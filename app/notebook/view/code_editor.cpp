#include "app/notebook/view/code_editor.h"

#include <Qsci/qscilexer.h>

#include <QApplication>
#include <QKeyEvent>
#include <QLabel>
#include <QRegularExpression>
#include <QScrollBar>
#include <QWheelEvent>

#include "app/notebook/view/editor_lexers.h"

namespace tapedeck::app {
namespace {

constexpr int numbers_margin = 0;
constexpr int symbol_margin = 1;
constexpr int padding = 5;
constexpr int extra_leading = 1;

enum Marker { pending_arrow = 1, pending_line, cursor_arrow, cursor_line };

}  // namespace

CodeEditor::CodeEditor(Language language, const NotebookTheme& theme, QWidget* parent)
    : QsciScintilla(parent), language_(language), markLabel_(new QLabel(viewport())) {
  setUtf8(true);
  setEolMode(EolUnix);
  setFrameShape(QFrame::NoFrame);
  setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setAutoIndent(false);  // newLine() does, without waiting for the colouring
  setIndentationWidth(4);
  setTabWidth(4);
  setIndentationsUseTabs(false);
  setBackspaceUnindents(true);
  setBraceMatching(language == Language::python ? SloppyBraceMatch : NoBraceMatch);
  setScrollWidth(1);
  setScrollWidthTracking(true);
  // Wrapping is right for prose; code keeps its lines and scrolls sideways.
  setWrapMode(language == Language::python ? WrapNone : WrapWord);
  SendScintilla(SCI_SETEXTRAASCENT, extra_leading);
  SendScintilla(SCI_SETEXTRADESCENT, extra_leading);
  setMarginType(numbers_margin, NumberMargin);
  setMarginType(symbol_margin, SymbolMargin);
  setMarginWidth(symbol_margin, language == Language::python ? 16 : 0);
  setMarginWidth(2, 0);
  setMarginSensitivity(numbers_margin, true);
  setMarginSensitivity(symbol_margin, true);
  setMarginMarkerMask(symbol_margin, 1 << pending_arrow | 1 << cursor_arrow);
  markerDefine(RightArrow, pending_arrow);
  markerDefine(RightTriangle, cursor_arrow);
  markerDefine(Background, pending_line);
  markerDefine(Background, cursor_line);
  markLabel_->hide();
  setTheme(theme);
  connect(this, &QsciScintilla::marginClicked, this, [this](int, int line) { emit lineClicked(line + 1); });
  connect(this, &QsciScintilla::linesChanged, this, &CodeEditor::checkHeight);
  connect(this, &QsciScintilla::textChanged, this, &CodeEditor::checkHeight);
  connect(this, &QsciScintillaBase::SCN_PAINTED, this, &CodeEditor::checkHeight);
  connect(this, &QsciScintillaBase::SCN_UPDATEUI, this, [this] {
    placeMarkLabel();
    // Brackets are matched at the text cursor: where that is not, none are.
    if (!hasFocus()) SendScintilla(SCI_BRACEHIGHLIGHT, ~0UL, -1L);
  });
  connect(horizontalScrollBar(), &QScrollBar::rangeChanged, this, &CodeEditor::checkHeight);
  // Commands of the editor whose keys mean something else in a notebook.
  for (const int key : {Qt::Key_D, Qt::Key_L, Qt::Key_T, Qt::Key_U}) {
    SendScintilla(SCI_CLEARCMDKEY, static_cast<unsigned long>(key + (SCMOD_CTRL << 16)));
    SendScintilla(SCI_CLEARCMDKEY, static_cast<unsigned long>(key + ((SCMOD_CTRL | SCMOD_SHIFT) << 16)));
  }
}

void CodeEditor::setTheme(const NotebookTheme& theme) {
  theme_ = theme;
  QsciLexer* old = lexer();
  setFont(theme.codeFont);
  setColor(theme.text);
  setPaper(theme.editor);
  if (language_ == Language::python) setLexer(makePythonLexer(theme, this));
  if (language_ == Language::markdown) setLexer(makeMarkdownLexer(theme, this));
  delete old;
  setCaretForegroundColor(theme.text);
  setCaretWidth(2);
  QColor selection = theme_.accent;
  selection.setAlpha(255);
  setSelectionBackgroundColor(theme.dark ? selection.darker(230) : selection.lighter(185));
  resetSelectionForegroundColor();
  setMarginsBackgroundColor(theme.editor);
  setMarginsForegroundColor(theme.muted);
  setMarginBackgroundColor(symbol_margin, theme.editor);
  QFont numbers = theme.codeFont;
  numbers.setPointSize(std::max(5, numbers.pointSize() - 1));
  setMarginsFont(numbers);
  setMarginWidth(numbers_margin, language_ == Language::python
                                     ? QFontMetrics(numbers).horizontalAdvance("000") + 6
                                     : padding);
  setMatchedBraceBackgroundColor(theme.hover);
  setMatchedBraceForegroundColor(theme.accent);
  setUnmatchedBraceForegroundColor(theme.failure);
  setUnmatchedBraceBackgroundColor(theme.editor);
  setMarkerForegroundColor(theme.paused, pending_arrow);
  setMarkerBackgroundColor(theme.paused, pending_arrow);
  setMarkerBackgroundColor(theme.pausedLine, pending_line);
  // Hollow: told from the other by its form as well.
  setMarkerForegroundColor(theme.cursor, cursor_arrow);
  setMarkerBackgroundColor(theme.editor, cursor_arrow);
  setMarkerBackgroundColor(theme.cursorLine, cursor_line);
  if (markHandle_ >= 0) setMark(markedLine(), markPending_);
  checkHeight();
}

void CodeEditor::showSource(const QString& source) {
  if (this->source() == source) return;
  QString shown = source;
  setText(shown.replace(QChar(0), QChar(0x2400)));
}

QString CodeEditor::source() const {
  return text();
}

int CodeEditor::lineHeight() const {
  return static_cast<int>(SendScintilla(SCI_TEXTHEIGHT, 0UL));
}

int CodeEditor::heightOfLines(int lines, const NotebookTheme& theme) {
  return lines * (QFontMetrics(theme.codeFont).lineSpacing() + 2 * extra_leading) + 2 * padding;
}

int CodeEditor::contentHeight() const {
  long rows = lines();
  if (wrapMode() != WrapNone) {
    const long last = lines() - 1;
    rows = SendScintilla(SCI_VISIBLEFROMDOCLINE, static_cast<unsigned long>(last)) +
           SendScintilla(SCI_WRAPCOUNT, static_cast<unsigned long>(last));
  }
  const bool bar = horizontalScrollBar()->maximum() > 0 && wrapMode() == WrapNone;
  return static_cast<int>(rows) * lineHeight() + (bar ? horizontalScrollBar()->sizeHint().height() : 0);
}

void CodeEditor::checkHeight() {
  const int height = contentHeight();
  if (height == reportedHeight_) return;
  reportedHeight_ = height;
  emit heightChanged();
}

// ---- the mark ----

void CodeEditor::setMark(int line, bool pending) {
  for (const int marker : {pending_arrow, pending_line, cursor_arrow, cursor_line}) markerDeleteAll(marker);
  markHandle_ = -1;
  markPending_ = pending;
  if (line >= 1 && line <= lines()) {
    markerAdd(line - 1, pending ? pending_line : cursor_line);
    markHandle_ = markerAdd(line - 1, pending ? pending_arrow : cursor_arrow);
    const QColor color = pending ? theme_.paused : theme_.cursor;
    markLabel_->setText(pending ? "◀ paused" : "◁ cursor");
    markLabel_->setToolTip(pending ? "The session waits before the next op of this line"
                                   : "The record at the cursor ran in this line");
    QFont small = theme_.textFont;
    small.setPointSize(std::max(5, small.pointSize() - 1));
    markLabel_->setFont(small);
    markLabel_->setStyleSheet(QString("color: %1; background: %2; padding: 0 6px;")
                                  .arg((theme_.dark ? color : color.darker(125)).name(),
                                       (pending ? theme_.pausedLine : theme_.cursorLine).name()));
    markLabel_->adjustSize();
  }
  placeMarkLabel();
}

int CodeEditor::markedLine() const {
  return markHandle_ < 0 ? 0 : markerLine(markHandle_) + 1;
}

void CodeEditor::placeMarkLabel() {
  const int line = markedLine();
  markLabel_->hide();
  if (line <= 0) return;
  const long end = SendScintilla(SCI_GETLINEENDPOSITION, static_cast<unsigned long>(line - 1));
  const int x = static_cast<int>(SendScintilla(SCI_POINTXFROMPOSITION, 0UL, end));
  const int right = viewport()->width() - markLabel_->width() - 4;
  // Where the line leaves no room for words, its colour and the arrow in the margin say it.
  if (x + 8 > right) return;
  markLabel_->setFixedHeight(lineHeight());
  markLabel_->move(std::min(x + 16, right), yOfLine(line));
  markLabel_->show();
}

int CodeEditor::yOfLine(int line) const {
  const long position =
      SendScintilla(SCI_POSITIONFROMLINE, static_cast<unsigned long>(std::max(0, line - 1)));
  return static_cast<int>(SendScintilla(SCI_POINTYFROMPOSITION, 0UL, position));
}

// ---- text ----

int CodeEditor::cursorPosition() const {
  const long position = SendScintilla(SCI_GETCURRENTPOS);
  return static_cast<int>(SendScintilla(SCI_COUNTCHARACTERS, 0UL, position));
}

int CodeEditor::byteOffset(int codePoints) const {
  return static_cast<int>(SendScintilla(SCI_POSITIONRELATIVE, 0UL, static_cast<long>(codePoints)));
}

QString CodeEditor::textInRange(int start, int end) const {
  if (start >= end) return {};
  const int length = static_cast<int>(SendScintilla(SCI_GETLENGTH));
  const int last = byteOffset(end);
  return text(byteOffset(start), last == 0 && end > 0 ? length : last);
}

void CodeEditor::replaceRange(int start, int end, const QString& text) {
  const QByteArray bytes = text.toUtf8();
  const int first = byteOffset(start);
  int last = end > start ? byteOffset(end) : first;
  if (last < first) last = static_cast<int>(SendScintilla(SCI_GETLENGTH));
  SendScintilla(SCI_SETTARGETRANGE, static_cast<unsigned long>(first), static_cast<long>(last));
  SendScintilla(SCI_REPLACETARGET, static_cast<uintptr_t>(bytes.size()), bytes.constData());
  SendScintilla(SCI_GOTOPOS, static_cast<unsigned long>(first + bytes.size()));
}

QPoint CodeEditor::cursorPoint() const {
  const long position = SendScintilla(SCI_GETCURRENTPOS);
  const int x = static_cast<int>(SendScintilla(SCI_POINTXFROMPOSITION, 0UL, position));
  const int y = static_cast<int>(SendScintilla(SCI_POINTYFROMPOSITION, 0UL, position));
  return viewport()->mapToGlobal(QPoint(x, y + lineHeight()));
}

void CodeEditor::toggleComment() {
  int first = 0;
  int last = 0;
  int ignored = 0;
  getCursorPosition(&first, &ignored);
  last = first;
  if (hasSelectedText()) {
    int end_column = 0;
    getSelection(&first, &ignored, &last, &end_column);
    if (end_column == 0 && last > first) --last;
  }
  bool all = true;
  for (int i = first; i <= last; ++i) {
    const QString line = text(i).trimmed();
    all = all && (line.isEmpty() || line.startsWith('#'));
  }
  beginUndoAction();
  for (int i = first; i <= last; ++i) {
    const QString line = text(i);
    if (line.trimmed().isEmpty()) continue;
    int indent = 0;
    while (indent < line.size() && line[indent].isSpace()) ++indent;
    if (!all) {
      insertAt("# ", i, indent);
    } else {
      setSelection(i, indent, i, indent + (line.mid(indent, 2) == "# " ? 2 : 1));
      removeSelectedText();
    }
  }
  endUndoAction();
}

void CodeEditor::newLine() {
  int line = 0;
  int column = 0;
  beginUndoAction();
  removeSelectedText();
  getCursorPosition(&line, &column);
  const QString before = text(line).left(column);
  int spaces = 0;
  while (spaces < before.size() && (before[spaces] == ' ' || before[spaces] == '\t')) ++spaces;
  QString indent = before.left(spaces);
  if (language_ == Language::python) {
    const QString code = before.section('#', 0, 0).trimmed();
    static const QRegularExpression ends_block("^(return|pass|break|continue|raise)\\b");
    // Inside brackets the statement goes on all the same.
    const bool open = code.count('(') + code.count('[') > code.count(')') + code.count(']');
    if (code.endsWith(':')) {
      indent += QString(indentationWidth(), ' ');
    } else if (code.contains(ends_block) && !open) {
      indent.chop(std::min<qsizetype>(indent.size(), indentationWidth()));
    }
  }
  insert("\n" + indent);
  setCursorPosition(line + 1, static_cast<int>(indent.size()));
  ensureCursorVisible();
  endUndoAction();
  emit typed();
}

// ---- events ----

bool CodeEditor::atTextStart() const {
  int line = 0;
  int column = 0;
  getCursorPosition(&line, &column);
  return text(line).left(column).trimmed().isEmpty();
}

bool CodeEditor::handleKey(QKeyEvent* event) {
  const Qt::KeyboardModifiers modifiers = event->modifiers() & ~Qt::KeypadModifier;
  int line = 0;
  int column = 0;
  getCursorPosition(&line, &column);
  switch (event->key()) {
    case Qt::Key_Escape:
      emit leaveRequested();
      return true;
    case Qt::Key_Return:
    case Qt::Key_Enter:
      if (modifiers == Qt::NoModifier) {
        newLine();
      } else {
        emit runRequested(modifiers);
      }
      return true;
    case Qt::Key_Tab:
      if (modifiers != Qt::NoModifier || hasSelectedText() || atTextStart()) return false;
      if (language_ != Language::python) return false;
      emit completionWanted();
      return true;
    case Qt::Key_Backtab:
      if (language_ != Language::python || hasSelectedText() || atTextStart()) return false;
      emit helpWanted();
      return true;
    case Qt::Key_Up:
      if (modifiers == (Qt::ControlModifier | Qt::ShiftModifier)) {
        emit moveRequested(-1);
        return true;
      }
      if (modifiers != Qt::NoModifier || line > 0) return false;
      emit leftUpwards();
      return true;
    case Qt::Key_Down:
      if (modifiers == (Qt::ControlModifier | Qt::ShiftModifier)) {
        emit moveRequested(1);
        return true;
      }
      if (modifiers != Qt::NoModifier || line + 1 < lines()) return false;
      emit leftDownwards();
      return true;
    case Qt::Key_Slash:
      if (modifiers != Qt::ControlModifier || language_ != Language::python) return false;
      toggleComment();
      return true;
    default:
      return false;
  }
}

void CodeEditor::keyPressEvent(QKeyEvent* event) {
  if (keyFilter && keyFilter(event)) return;
  if (handleKey(event)) return;
  QsciScintilla::keyPressEvent(event);
  emit typed();
}

bool CodeEditor::event(QEvent* event) {
  // Keys that mean something here come here, also where a menu has them as its shortcut.
  if (event->type() == QEvent::ShortcutOverride) {
    auto* key = static_cast<QKeyEvent*>(event);
    const bool plain = (key->modifiers() & ~(Qt::ShiftModifier | Qt::KeypadModifier)) == 0;
    if (plain && !key->text().isEmpty() && key->text()[0].isPrint()) {
      key->accept();
      return true;
    }
    if (key->key() == Qt::Key_Escape) {
      key->accept();
      return true;
    }
  }
  return QsciScintilla::event(event);
}

void CodeEditor::focusOutEvent(QFocusEvent* event) {
  QsciScintilla::focusOutEvent(event);
  SendScintilla(SCI_BRACEHIGHLIGHT, ~0UL, -1L);
}

void CodeEditor::wheelEvent(QWheelEvent* event) {
  const bool sideways = event->angleDelta().x() != 0 || event->modifiers().testFlag(Qt::ShiftModifier);
  if (sideways && horizontalScrollBar()->maximum() > 0) {
    QsciScintilla::wheelEvent(event);
  } else {
    event->ignore();
  }
}

void CodeEditor::resizeEvent(QResizeEvent* event) {
  QsciScintilla::resizeEvent(event);
  placeMarkLabel();
  checkHeight();
}

}  // namespace tapedeck::app
