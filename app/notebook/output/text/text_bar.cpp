#include "app/notebook/output/text/text_bar.h"

#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QToolButton>

#include "inspector/model/plain_tip.h"
#include "inspector/ui/follow_font.h"
#include "inspector/ui/plain_text.h"
#include "inspector/ui/window_scale.h"

namespace tapedeck::app {

TextBar::TextBar(QWidget* parent)
    : QWidget(parent),
      row_(new QWidget(this)),
      fold_(new QToolButton(row_)),
      amount_(inspector::plainLabel(row_)),
      words_(new QLineEdit(row_)),
      inSight_(inspector::plainLabel(row_)),
      note_(inspector::plainLabel(this)) {
  auto* layout = new QHBoxLayout(row_);
  layout->setContentsMargins(4, 2, 4, 2);
  const auto button = [this](QToolButton* tool, const QString& text, const QString& tip) {
    tool->setText(text);
    tool->setToolTip(inspector::plainTip(tip));
    tool->setAccessibleDescription(tip);
    return tool;
  };
  connect(fold_, &QToolButton::clicked, this, &TextBar::foldToggled);
  auto* copy = button(new QToolButton(row_), "Copy all", "Copy the whole text to the clipboard");
  connect(copy, &QToolButton::clicked, this, &TextBar::copyWanted);
  auto* open = button(new QToolButton(row_), "Open all in an editor",
                      "Write the whole text to a file that only you can read, and open it in your editor");
  connect(open, &QToolButton::clicked, this, &TextBar::editorWanted);
  words_->setPlaceholderText("Find in this output");
  words_->setAccessibleName("Find in this output");
  words_->setToolTip(
      "Enter: next match; Shift+Enter: previous match; Esc: back to the text. In the text, the key / comes "
      "here");
  words_->setClearButtonEnabled(true);
  inspector::followFont(words_, [words = words_] { words->setMaximumWidth(inspector::scaled(220)); });
  words_->installEventFilter(this);
  // The notebook's Tab passes it by: it is reached by its key.
  words_->setFocusPolicy(Qt::ClickFocus);
  layout->addWidget(fold_);
  layout->addWidget(copy);
  layout->addWidget(open);
  layout->addWidget(words_);
  layout->addWidget(amount_, 1);
  layout->addWidget(inSight_);
  note_->setWordWrap(true);
  note_->setContentsMargins(6, 0, 6, 2);
  note_->hide();
  setFold(true, {});
}

void TextBar::setAmount(const QString& text) {
  if (text == amountText_) return;
  amountText_ = text;
  amount_->setText(text);
}

QString TextBar::amount() const {
  return amount_->text();
}

void TextBar::tell(const QString& text) {
  amount_->setText(text.isEmpty() ? amountText_ : amountText_ + " · " + text);
}

void TextBar::setInSight(const QString& text) {
  inSight_->setText(text);
}

QString TextBar::inSight() const {
  return inSight_->text();
}

void TextBar::setNote(const QString& sentence) {
  note_->setText(sentence);
  note_->setVisible(!sentence.isEmpty());
}

QString TextBar::note() const {
  return note_->text();
}

void TextBar::setFold(bool folded, const QString& tip) {
  fold_->setText(folded ? "Unfold" : "Fold");
  fold_->setToolTip(inspector::plainTip(tip));
  fold_->setAccessibleDescription(tip);
}

void TextBar::setSearchable(bool on) {
  words_->setVisible(on);
}

void TextBar::search() {
  words_->setFocus(Qt::ShortcutFocusReason);
  words_->selectAll();
}

int TextBar::heightFor(int width) const {
  const int row = row_->sizeHint().height();
  return note_->text().isEmpty() ? row : row + note_->heightForWidth(width);
}

void TextBar::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  const int row = row_->sizeHint().height();
  row_->setGeometry(0, 0, width(), row);
  note_->setGeometry(0, row, width(), std::max(0, height() - row));
}

bool TextBar::eventFilter(QObject* watched, QEvent* event) {
  if (watched != words_ || event->type() != QEvent::KeyPress) return QWidget::eventFilter(watched, event);
  const auto* key = static_cast<QKeyEvent*>(event);
  if (key->key() == Qt::Key_Escape) {
    emit searchLeft();
    return true;
  }
  if (key->key() != Qt::Key_Return && key->key() != Qt::Key_Enter) return false;
  emit findWanted(words_->text(), !key->modifiers().testFlag(Qt::ShiftModifier));
  return true;
}

}  // namespace tapedeck::app
