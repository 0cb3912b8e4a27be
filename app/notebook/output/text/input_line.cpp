#include "app/notebook/output/text/input_line.h"

#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QPainter>

#include "inspector/ui/plain_text.h"

namespace tapedeck::app {
namespace {

constexpr int field_padding = 6;

/// Keeps all keys: one that it did not use would be a command for the notebook around it. Enter answers,
/// whatever is held with it: Shift+Enter as the menu's key would run the cell again.
class InputField : public QLineEdit {
 public:
  using QLineEdit::QLineEdit;

 protected:
  bool event(QEvent* event) override {
    if (event->type() == QEvent::ShortcutOverride) {
      const int key = static_cast<QKeyEvent*>(event)->key();
      if (key == Qt::Key_Return || key == Qt::Key_Enter) {
        event->accept();
        return true;
      }
    }
    return QLineEdit::event(event);
  }
  void keyPressEvent(QKeyEvent* event) override {
    QLineEdit::keyPressEvent(event);
    event->accept();
  }
};

}  // namespace

InputLine::InputLine(const QString& prompt, bool password, const NotebookTheme& theme, QWidget* parent)
    : Block(parent),
      theme_(theme),
      prompt_(prompt),
      label_(inspector::plainLabel(this)),
      field_(new InputField(this)) {
  label_->setTextFormat(Qt::PlainText);
  label_->setText(prompt.isEmpty() ? "Input:" : prompt);
  label_->setBuddy(field_);
  field_->setEchoMode(password ? QLineEdit::Password : QLineEdit::Normal);
  field_->setPlaceholderText(password ? "Type it, then press Enter; it is not shown"
                                      : "The program is waiting for input: type a line, then press Enter");
  field_->setAccessibleName("Input for the program: " + prompt);
  field_->setToolTip("The running cell called input(); Enter sends the line");
  connect(field_, &QLineEdit::returnPressed, this, [this] { emit given(field_->text()); });
  setTheme(theme);
}

void InputLine::setTheme(const NotebookTheme& theme) {
  theme_ = theme;
  label_->setFont(theme.codeFont);
  field_->setFont(theme.codeFont);
  update();
}

int InputLine::computeHeight(int) {
  return field_->sizeHint().height() + 2 * field_padding;
}

void InputLine::place() {
  const int label = std::min(label_->sizeHint().width(), width() / 2);
  label_->setGeometry(field_padding + 4, field_padding, label, height() - 2 * field_padding);
  field_->setGeometry(label + 2 * field_padding + 4, field_padding, width() - label - 3 * field_padding - 4,
                      height() - 2 * field_padding);
}

void InputLine::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), theme_.warningBackground);
  painter.fillRect(QRect(0, 0, 3, height()), theme_.busy);
}

}  // namespace tapedeck::app
