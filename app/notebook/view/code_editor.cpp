#include "app/notebook/view/code_editor.h"

#include <Qsci/qscilexer.h>

#include <QApplication>
#include <QKeyEvent>
#include <QLabel>
#include <QScrollBar>

#include "app/notebook/output/wheel.h"
#include "app/notebook/view/editor_lexers.h"
#include "app/notebook/view/editor_margins.h"
#include "inspector/ui/plain_text.h"

namespace tapedeck::app {
namespace {

constexpr int padding = 5;
constexpr int extra_leading = 1;

}  // namespace

CodeEditor::CodeEditor(Language language, const NotebookTheme& theme, QWidget* parent)
    : QsciScintilla(parent),
      language_(language),
      longLines_([this](const QString& character, const QString& name) { drawAs(character, name); }),
      markLabel_(inspector::plainLabel(viewport())) {
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
  // A continuation line is indented further than any block of the code.
  setWrapIndentMode(language == Language::python ? WrapIndentDeeplyIndented : WrapIndentFixed);
  if (language == Language::python) setWrapVisualFlags(WrapFlagNone, WrapFlagByBorder);
  SendScintilla(SCI_SETEXTRAASCENT, extra_leading);
  SendScintilla(SCI_SETEXTRADESCENT, extra_leading);
  // Prose has no numbers: its margin is the room before the text.
  setMarginType(numbers_margin, language == Language::python ? NumberMargin : SymbolMargin);
  if (language != Language::python) setMarginMarkerMask(numbers_margin, 0);
  setMarginType(symbol_margin, SymbolMargin);
  setMarginWidth(2, 0);
  setMarginSensitivity(numbers_margin, true);
  setMarginSensitivity(symbol_margin, true);
  setMarginMarkerMask(symbol_margin, 1 << pending_arrow | 1 << cursor_arrow | breakpoint_mask);
  markerDefine(Circle, plain_breakpoint);
  markerDefine(CircledPlus, conditional_breakpoint);
  markerDefine(Circle, disabled_breakpoint);
  markerDefine(Rectangle, log_breakpoint);
  markerDefine(RightArrow, pending_arrow);
  markerDefine(RightTriangle, cursor_arrow);
  markerDefine(Background, pending_line);
  markerDefine(Background, cursor_line);
  markLabel_->hide();
  passWheelOn(this);
  setFocusPolicy(Qt::StrongFocus);  // the wheel alone leaves the focus where it is
  setTheme(theme);
  connect(this, &QsciScintilla::marginClicked, this, [this](int, int line) { emit lineClicked(line + 1); });
  connect(this, &QsciScintilla::linesChanged, this, &CodeEditor::checkHeight);
  connect(this, &QsciScintilla::textChanged, this, &CodeEditor::applyWrapping);
  connect(this, &QsciScintilla::textChanged, this, &CodeEditor::checkHeight);
  connect(this, &QsciScintilla::textChanged, this, &CodeEditor::followBreakpoints);
  connect(this, &QsciScintillaBase::SCN_PAINTED, this, &CodeEditor::checkHeight);
  connect(this, &QsciScintillaBase::SCN_UPDATEUI, this, [this] {
    placeMarkLabel();
    // Brackets are matched at the text cursor: where that is not, none are.
    if (!hasFocus()) SendScintilla(SCI_BRACEHIGHLIGHT, ~0UL, -1L);
  });
  connect(horizontalScrollBar(), &QScrollBar::rangeChanged, this, &CodeEditor::checkHeight);
  // Commands of the editor whose keys mean something else in a notebook.
  freeKeys();
}

void CodeEditor::setTheme(const NotebookTheme& theme) {
  theme_ = theme;
  QsciLexer* old = lexer();
  setFont(theme.codeFont);
  setColor(theme.text);
  setPaper(theme.editor);
  if (language_ == Language::python && !plain_) setLexer(makePythonLexer(theme, this));
  if (language_ == Language::markdown && !plain_) setLexer(makeMarkdownLexer(theme, this));
  delete old;
  setCaretForegroundColor(theme.text);
  setCaretWidth(2);
  QColor selection = theme_.accent;
  selection.setAlpha(255);
  setSelectionBackgroundColor(theme.dark ? selection.darker(230) : selection.lighter(185));
  resetSelectionForegroundColor();
  setMarginsBackgroundColor(theme.editor);
  setMarginsForegroundColor(theme.faintText);
  for (const int margin : {numbers_margin, symbol_margin}) setMarginBackgroundColor(margin, theme.editor);
  QFont numbers = theme.codeFont;
  numbers.setPointSize(std::max(5, numbers.pointSize() - 1));
  setMarginsFont(numbers);
  setMarginWidth(numbers_margin, language_ == Language::python
                                     ? QFontMetrics(numbers).horizontalAdvance("000") + 6
                                     : padding);
  setMarginWidth(symbol_margin, language_ == Language::python ? symbolMarginWidth() : 0);
  applyWrapping();
  setMatchedBraceBackgroundColor(theme.hover);
  setMatchedBraceForegroundColor(theme.accent);
  setUnmatchedBraceForegroundColor(theme.failure);
  setUnmatchedBraceBackgroundColor(theme.editor);
  for (const int marker : {plain_breakpoint, conditional_breakpoint, disabled_breakpoint, log_breakpoint}) {
    setMarkerForegroundColor(theme.failure, marker);
    setMarkerBackgroundColor(marker == disabled_breakpoint ? theme.editor : theme.failure, marker);
  }
  setMarkerForegroundColor(theme.editor, conditional_breakpoint);
  setMarkerForegroundColor(theme.paused, pending_arrow);
  setMarkerBackgroundColor(theme.paused, pending_arrow);
  setMarkerBackgroundColor(theme.pausedLine, pending_line);
  // Hollow: told from the other by its form as well.
  setMarkerForegroundColor(theme.cursor, cursor_arrow);
  setMarkerBackgroundColor(theme.editor, cursor_arrow);
  setMarkerBackgroundColor(theme.cursorLine, cursor_line);
  if (markHandle_ >= 0) setMark(markedLine(), markPending_);
  setUpHits();
  checkHeight();
  QMetaObject::invokeMethod(this, &CodeEditor::remeasure, Qt::QueuedConnection);
}

void CodeEditor::showSource(const QString& source) {
  if (this->source() == source) return;
  QString shown = longLines_.fold(source);
  setText(shown.replace(QChar(0), QChar(0x2400)));
  scrollsSideways_ = !wrapsWell(shown);
  applyWrapping();
  // Else the width is known, and the scroll bar there, only when the line was painted: the cell would grow
  // then.
  if (wrapMode() != WrapNone) return;
  qsizetype longest = 0;
  for (const QStringView line : QStringView(shown).tokenize(u'\n')) longest = std::max(longest, line.size());
  setScrollWidth(static_cast<int>(1 + std::min<qsizetype>(longest, 10'000'000) *
                                          QFontMetrics(theme_.codeFont).horizontalAdvance('0')));
}

QString CodeEditor::source() const {
  return longLines_.whole(text());
}

int CodeEditor::lineHeight() const {
  return static_cast<int>(SendScintilla(SCI_TEXTHEIGHT, 0UL));
}

void CodeEditor::setPlain() {
  if (plain_) return;
  plain_ = true;
  QsciLexer* old = lexer();
  setLexer(nullptr);
  delete old;
  setBraceMatching(NoBraceMatch);
  setTheme(theme_);
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
    markLabel_->setToolTip(pending ? "The session waits before the next op on this line"
                                   : "The record at the cursor ran on this line");
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
  const auto y = static_cast<int>(SendScintilla(SCI_POINTYFROMPOSITION, 0UL, end));  // of its last row
  markLabel_->move(std::min(x + 16, right), y);
  markLabel_->show();
}

int CodeEditor::yOfLine(int line) const {
  const long position =
      SendScintilla(SCI_POSITIONFROMLINE, static_cast<unsigned long>(std::max(0, line - 1)));
  return static_cast<int>(SendScintilla(SCI_POINTYFROMPOSITION, 0UL, position));
}

int CodeEditor::yOfCursor() const {
  const long position = SendScintilla(SCI_GETCURRENTPOS);
  return static_cast<int>(SendScintilla(SCI_POINTYFROMPOSITION, 0UL, position));
}

// ---- events ----

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

void CodeEditor::resizeEvent(QResizeEvent* event) {
  QsciScintilla::resizeEvent(event);
  applyWrapping();
  placeMarkLabel();
  checkHeight();
}

}  // namespace tapedeck::app
