#include "app/notebook/find/find_bar.h"

#include <QApplication>
#include <QCheckBox>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QScrollBar>
#include <QToolButton>
#include <QVBoxLayout>

#include "app/notebook/view/code_editor.h"
#include "inspector/model/plain_tip.h"
#include "inspector/ui/icons.h"
#include "inspector/ui/plain_text.h"
#include "inspector/ui/wrapping_layout.h"

namespace tapedeck::app {
namespace {

constexpr int field_letters = 26;
/// A selection that is longer is not what one searches for.
constexpr qsizetype most_selected = 200;

QLineEdit* makeField(const QString& name, const QString& text, const QString& tip, QWidget* parent) {
  auto* field = new QLineEdit(parent);
  field->setObjectName(name);
  field->setPlaceholderText(text);
  field->setAccessibleName(text);
  field->setToolTip(inspector::plainTip(tip));
  field->setClearButtonEnabled(true);
  const int letter = field->fontMetrics().averageCharWidth();
  field->setMinimumWidth(letter * field_letters);
  field->setMaximumWidth(letter * 2 * field_letters);
  return field;
}

/// The editor that has the keyboard, or is that of the notebook's text cursor.
CodeEditor* editorWithFocus() {
  return qobject_cast<CodeEditor*>(QApplication::focusWidget());
}

}  // namespace

FindBar::FindBar(Document* document, NotebookView* view, QWidget* parent)
    : QFrame(parent), document_(document), view_(view), finder_(new NotebookFinder(document, view, this)) {
  setObjectName("findBar");
  setAccessibleName("Find and replace");
  setFrameShape(QFrame::StyledPanel);
  build();
  hide();
  connect(finder_, &NotebookFinder::changed, this, &FindBar::update);
  // Without a text cursor Esc has nothing else to leave.
  connect(view, &NotebookView::escaped, this, [this] {
    if (isVisible()) close();
  });
}

void FindBar::build() {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(8, 4, 8, 4);
  column->setSpacing(4);
  auto* row = new inspector::WrappingLayout(nullptr);
  row->setSpacing(4);
  column->addLayout(row);
  field_ = makeField("findField", "Find",
                     "Enter: next match; Shift+Enter: previous match; Ctrl+Enter: edit the text there; Esc: "
                     "back to where you were",
                     this);
  row->addWidget(field_);
  case_ = addToggle(row, "Aa", "findCase", "Match case");
  word_ = addToggle(row, "Word", "findWord", "Match whole words");
  expression_ =
      addToggle(row, ".*", "findExpression",
                "Use a regular expression (Perl's syntax): ^ and $ match at the ends of lines, (…) groups");
  outputs_ = new QCheckBox("Outputs", this);
  outputs_->setObjectName("findOutputs");
  outputs_->setToolTip("Search the text output of cells, too");
  row->addWidget(outputs_);
  previous_ = addButton(row, "", "findPrevious", "Previous match (Shift+F3)");
  previous_->setIcon(inspector::icon("up"));
  next_ = addButton(row, "", "findNext", "Next match (F3)");
  next_->setIcon(inspector::icon("down"));
  close_ = addButton(row, "", "findClose", "Close and go back to where you were (Esc)");
  close_->setIcon(inspector::icon("close"));
  summary_ = inspector::plainLabel(this);
  summary_->setObjectName("findSummary");
  summary_->setAccessibleName("Result of the search");
  row->addWidget(summary_);

  replaceRow_ = new QWidget(this);
  auto* second = new inspector::WrappingLayout(replaceRow_);
  second->setContentsMargins(0, 0, 0, 0);
  second->setSpacing(4);
  by_ = makeField("replaceField", "Replace with",
                  "With a regular expression, $1 is its first group, $0 the whole match, \\n a new line. "
                  "Enter: replace this match and go to the next",
                  replaceRow_);
  second->addWidget(by_);
  replace_ = addButton(second, "Replace", "replaceOne", "Replace this match and go to the next (Enter)");
  replaceAll_ = addButton(second, "Replace all", "replaceAll",
                          "Replace all matches in the sources of cells; one Ctrl+Z undoes it");
  column->addWidget(replaceRow_);

  for (QLineEdit* field : {field_, by_}) field->installEventFilter(this);
  connect(field_, &QLineEdit::textChanged, this, &FindBar::search);
  for (QToolButton* toggle : {case_, word_, expression_})
    connect(toggle, &QToolButton::toggled, this, &FindBar::search);
  connect(outputs_, &QCheckBox::toggled, this, &FindBar::search);
  connect(next_, &QToolButton::clicked, this, [this] { step(1); });
  connect(previous_, &QToolButton::clicked, this, [this] { step(-1); });
  connect(close_, &QToolButton::clicked, this, &FindBar::close);
  connect(replace_, &QToolButton::clicked, this, [this] { finder_->replaceCurrent(by_->text()); });
  connect(replaceAll_, &QToolButton::clicked, this, &FindBar::replaceAll);
}

QToolButton* FindBar::addButton(QLayout* bar, const QString& text, const QString& name, const QString& tip) {
  auto* button = new QToolButton(this);
  button->setText(text);
  button->setObjectName(name);
  button->setToolTip(inspector::plainTip(tip));
  button->setAccessibleName(tip);
  button->setFocusPolicy(Qt::TabFocus);
  bar->addWidget(button);
  return button;
}

QToolButton* FindBar::addToggle(QLayout* bar, const QString& text, const QString& name, const QString& tip) {
  QToolButton* button = addButton(bar, text, name, tip);
  button->setCheckable(true);
  return button;
}

void FindBar::rememberPlace() {
  QWidget* focus = QApplication::focusWidget();
  if (isAncestorOf(focus)) return;
  focus_ = focus;
  scrolled_ = view_->verticalScrollBar()->value();
}

void FindBar::open(bool replace) {
  rememberPlace();
  qsizetype offset = 0;
  QString selected;
  if (const CodeEditor* editor = editorWithFocus(); editor != nullptr && view_->isAncestorOf(editor)) {
    offset = editor->selectedRange().first;
    selected = editor->selectedText();
  }
  if (!isVisible() || !isAncestorOf(QApplication::focusWidget())) {
    finder_->beginAt(view_->currentCell(), offset);
    if (!selected.isEmpty() && selected.size() < most_selected && !selected.contains(u'\n')) {
      const QSignalBlocker quiet(field_);
      field_->setText(expression_->isChecked() ? QRegularExpression::escape(selected) : selected);
    }
  }
  replaceRow_->setVisible(replace && !document_->locked());
  show();
  field_->setFocus(Qt::ShortcutFocusReason);
  field_->selectAll();
  search();
  update();
}

void FindBar::close() {
  if (!isVisible()) return;
  const bool inside = isAncestorOf(QApplication::focusWidget());
  hide();
  view_->endHits();
  finder_->setQuery({});
  if (!inside) return;
  // Where one was before the bar came, or before one went into it again.
  const bool there = focus_ != nullptr && focus_->isVisible() && focus_->window() == window();
  (there ? focus_.data() : view_)->setFocus(Qt::OtherFocusReason);
  if (!there || view_ == focus_ || view_->isAncestorOf(focus_))
    view_->verticalScrollBar()->setValue(scrolled_);
}

FindBar::Place FindBar::cursorPlace() const {
  const CodeEditor* editor = editorWithFocus();
  if (editor == nullptr || !view_->isAncestorOf(editor)) return {view_->currentCell(), 0, 0};
  const auto [first, last] = editor->selectedRange();
  return {view_->currentCell(), first, last};
}

void FindBar::step(int steps) {
  const bool in_notebook = view_->hasFocus() || view_->isAncestorOf(QApplication::focusWidget());
  if (!isVisible() && field_->text().isEmpty()) return open(false);
  const Place here = cursorPlace();
  if (!isVisible()) {
    show();
    // The first hit behind the cursor becomes the current one: that is the step forward already.
    finder_->beginAt(here.cell, steps > 0 ? here.last : here.first);
    search();
    finder_->step(steps > 0 ? steps - 1 : steps, in_notebook);
  } else {
    // From where the text cursor is now, not from the hit before. A hit in an output leaves it where it is.
    if (in_notebook && here != stepped_) finder_->startAt(here.cell, here.first, here.last, steps);
    finder_->step(steps, in_notebook);
  }
  stepped_ = in_notebook ? cursorPlace() : Place();
}

void FindBar::search() {
  done_.clear();
  finder_->setQuery({field_->text(), case_->isChecked(), word_->isChecked(), expression_->isChecked(),
                     outputs_->isChecked()});
}

void FindBar::update() {
  const QString place = finder_->place();
  QString text = done_.isEmpty() ? finder_->summary() : done_;
  if (done_.isEmpty() && !place.isEmpty()) text += " · " + place;
  summary_->setText(text);
  const bool bad = finder_->wrong() || (!finder_->searching() && finder_->count() == 0);
  const inspector::Theme theme = inspector::Theme::fromPalette(palette());
  QPalette colors = palette();
  if (bad && done_.isEmpty() && !field_->text().isEmpty())
    colors.setColor(QPalette::WindowText, theme.error.stroke);
  summary_->setPalette(colors);
  for (QToolButton* button : {previous_, next_}) button->setEnabled(finder_->count() > 0);
  replace_->setEnabled(finder_->canReplace());
  replaceAll_->setEnabled(finder_->canReplace());
}

void FindBar::replaceAll() {
  // The button that was pressed is disabled while it is searched again: the keyboard stays in the bar.
  if (replaceAll_->hasFocus()) by_->setFocus();
  done_ = finder_->replaceAll(by_->text());
  update();
}

bool FindBar::fieldKey(QLineEdit* field, const QKeyEvent& event) {
  const Qt::KeyboardModifiers modifiers = event.modifiers() & ~Qt::KeypadModifier;
  const bool enter = event.key() == Qt::Key_Return || event.key() == Qt::Key_Enter;
  if (enter && modifiers == Qt::ShiftModifier) {
    step(-1);
  } else if (enter && modifiers == Qt::ControlModifier) {
    finder_->enterCurrent();
  } else if (enter && modifiers == Qt::NoModifier) {
    field == by_ ? finder_->replaceCurrent(by_->text()) : step(1);
  } else if (event.matches(QKeySequence::Undo) && (!done_.isEmpty() || !field->isUndoAvailable())) {
    done_.clear();
    if (finder_->undoesReplacement()) document_->undoStructure();
  } else {
    return false;
  }
  return true;
}

bool FindBar::eventFilter(QObject* object, QEvent* event) {
  if (event->type() != QEvent::KeyPress) return QFrame::eventFilter(object, event);
  return fieldKey(static_cast<QLineEdit*>(object), *static_cast<QKeyEvent*>(event));
}

bool FindBar::event(QEvent* event) {
  if (event->type() != QEvent::ShortcutOverride) return QFrame::event(event);
  // Elsewhere these run cells.
  const auto* key = static_cast<QKeyEvent*>(event);
  if (key->key() == Qt::Key_Return || key->key() == Qt::Key_Enter) event->accept();
  return QFrame::event(event);
}

void FindBar::keyPressEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_Escape && event->modifiers() == Qt::NoModifier) return close();
  // With the keyboard at a switch Enter does what it does in the field.
  if (fieldKey(field_, *event)) return;
  QFrame::keyPressEvent(event);
}

}  // namespace tapedeck::app
