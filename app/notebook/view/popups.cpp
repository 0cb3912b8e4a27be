#include "app/notebook/view/popups.h"

#include <QKeyEvent>
#include <QListWidget>
#include <QScreen>
#include <QTextEdit>
#include <QVBoxLayout>

#include "app/notebook/output/text/ansi.h"
#include "app/notebook/view/code_editor.h"

namespace tapedeck::app {
namespace {

/// Beside the cursor, and on the screen: above the line where there is no room below.
void moveInSight(QWidget* popup, const CodeEditor* editor) {
  QPoint at = editor->cursorPoint();
  const QRect screen = editor->screen()->availableGeometry();
  if (at.y() + popup->height() > screen.bottom()) at.ry() -= popup->height() + editor->lineHeight();
  at.setX(std::max(screen.left(), std::min(at.x(), screen.right() - popup->width())));
  popup->move(at);
}

void frame(QFrame* popup, const NotebookTheme& theme) {
  popup->setStyleSheet(QString("QFrame { background: %1; color: %2; border: 1px solid %3; }"
                               "QListWidget, QTextEdit { border: none; background: %1; color: %2; }"
                               "QListWidget::item { padding: 1px 6px; }"
                               "QListWidget::item:selected { background: %4; color: %5; }")
                           .arg(theme.background.name(), theme.text.name(), theme.border.name(),
                                theme.accent.name(), QColor(Qt::white).name()));
}

}  // namespace

CompletionPopup::CompletionPopup(const NotebookTheme& theme, QWidget* parent)
    : QFrame(parent, Qt::ToolTip), list_(new QListWidget(this)) {
  setAttribute(Qt::WA_ShowWithoutActivating);
  setFocusPolicy(Qt::NoFocus);
  list_->setFocusPolicy(Qt::NoFocus);
  list_->setUniformItemSizes(true);
  list_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  list_->setAccessibleName("Completions");
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(1, 1, 1, 1);
  layout->addWidget(list_);
  connect(list_, &QListWidget::itemClicked, this, &CompletionPopup::accept);
  setTheme(theme);
}

void CompletionPopup::setTheme(const NotebookTheme& theme) {
  frame(this, theme);
  list_->setFont(theme.codeFont);
}

void CompletionPopup::open(CodeEditor* editor, const QStringList& matches, int start, int after) {
  editor_ = editor;
  matches_ = matches;
  start_ = start;
  after_ = after;
  offered_ = false;
  filter();
  if (list_->count() == 1) accept();
}

void CompletionPopup::offer(CodeEditor* editor, const QStringList& matches, int start) {
  editor_ = editor;
  matches_ = matches;
  start_ = start;
  after_ = 0;
  offered_ = true;
  filter();
}

void CompletionPopup::filter() {
  const int cursor = editor_->cursorPosition();
  const QString typed = editor_->textInRange(start_, std::max(start_, cursor));
  list_->clear();
  for (const QString& match : matches_) {
    // Matches may replace more than they share with the text there: those are offered unchanged.
    if (offered_ && (!match.startsWith(typed) || match == typed)) continue;
    if (match.startsWith(typed) || (cursor >= start_ && match.contains(typed, Qt::CaseInsensitive))) {
      list_->addItem(match);
    }
  }
  if (list_->count() == 0 || cursor < start_) {
    hide();
    return;
  }
  const bool finished = offered_ && (matches_.contains(typed) || (isName && isName(typed)));
  list_->setCurrentRow(finished ? -1 : 0);
  const int rows = std::min(list_->count(), 10);
  const int width = std::clamp(list_->sizeHintForColumn(0) + 34, 160, 480);
  resize(width, rows * list_->sizeHintForRow(0) + 6);
  moveInSight(this, editor_);
  show();
  raise();
}

void CompletionPopup::accept() {
  const QListWidgetItem* item = list_->currentItem();
  if (item == nullptr && offered_) item = list_->item(0);
  hide();
  if (item != nullptr) editor_->replaceRange(start_, editor_->cursorPosition() + after_, item->text());
}

bool CompletionPopup::handleKey(QKeyEvent* event) {
  if (!isVisible()) return false;
  const int rows = list_->count();
  const bool unchosen = offered_ && list_->currentRow() < 0;
  if (unchosen &&
      (event->key() == Qt::Key_Up || event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter ||
       event->key() == Qt::Key_PageUp || event->key() == Qt::Key_PageDown)) {
    hide();
    return false;
  }
  switch (event->key()) {
    case Qt::Key_Escape:
      hide();
      return true;
    case Qt::Key_Up:
      list_->setCurrentRow((list_->currentRow() + rows - 1) % rows);
      return true;
    case Qt::Key_Down:
      list_->setCurrentRow((list_->currentRow() + 1) % rows);
      return true;
    case Qt::Key_PageUp:
      list_->setCurrentRow(std::max(0, list_->currentRow() - 9));
      return true;
    case Qt::Key_PageDown:
      list_->setCurrentRow(std::min(rows - 1, list_->currentRow() + 9));
      return true;
    case Qt::Key_Return:
    case Qt::Key_Enter:
    case Qt::Key_Tab:
      if (event->modifiers() != Qt::NoModifier) break;
      accept();
      return true;
    default:
      break;
  }
  const QString text = event->text();
  const bool goes_on = event->key() == Qt::Key_Backspace ||
                       (!text.isEmpty() && (text[0].isLetterOrNumber() || text[0] == '_'));
  if (!goes_on && !text.isEmpty()) hide();
  // The editor takes the key first; then the list is cut down to what matches.
  if (goes_on)
    QMetaObject::invokeMethod(
        this,
        [this] {
          if (isVisible()) filter();
        },
        Qt::QueuedConnection);
  return false;
}

QStringList CompletionPopup::shown() const {
  QStringList texts;
  for (int i = 0; i < list_->count(); ++i) texts += list_->item(i)->text();
  return texts;
}

HelpPopup::HelpPopup(QWidget* parent) : QFrame(parent, Qt::ToolTip), view_(new QTextEdit(this)) {
  setAttribute(Qt::WA_ShowWithoutActivating);
  setFocusPolicy(Qt::NoFocus);
  view_->setReadOnly(true);
  view_->setFocusPolicy(Qt::NoFocus);
  view_->setAccessibleName("Help");
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(1, 1, 1, 1);
  layout->addWidget(view_);
}

void HelpPopup::open(CodeEditor* editor, const QString& text, const NotebookTheme& theme) {
  frame(this, theme);
  view_->clear();
  view_->document()->setDefaultFont(theme.codeFont);
  QTextCursor cursor(view_->document());
  AnsiParser parser;
  for (const AnsiRun& run : parser.parse(text)) {
    QTextCharFormat format = run.style.format(theme);
    format.setFontFamilies({theme.codeFont.family()});
    cursor.insertText(run.text, format);
  }
  view_->moveCursor(QTextCursor::Start);
  const QFontMetrics metrics(theme.codeFont);
  const int rows = std::min<int>(18, static_cast<int>(text.count('\n')) + 2);
  resize(metrics.horizontalAdvance('0') * 84, rows * metrics.lineSpacing() + 16);
  moveInSight(this, editor);
  show();
  raise();
}

QString HelpPopup::shown() const {
  return isVisible() ? view_->toPlainText() : QString();
}

}  // namespace tapedeck::app
