#include "inspector/ui/plain_text.h"

namespace tapedeck::inspector {

namespace {

QMessageBox::StandardButton showPlainly(QMessageBox::Icon icon, QWidget* parent, const QString& title,
                                        const QString& text, QMessageBox::StandardButtons buttons,
                                        QMessageBox::StandardButton preset) {
  QMessageBox box(icon, title, QString(), buttons, parent);
  box.setTextFormat(Qt::PlainText);
  box.setText(text);
  if (preset != QMessageBox::NoButton) box.setDefaultButton(preset);
  return static_cast<QMessageBox::StandardButton>(box.exec());
}

}  // namespace

QLabel* plainLabel(const QString& text, QWidget* parent) {
  auto* label = new QLabel(parent);
  label->setTextFormat(Qt::PlainText);
  label->setText(text);
  return label;
}

QLabel* plainLabel(QWidget* parent) {
  return plainLabel(QString(), parent);
}

QMessageBox::StandardButton ask(QWidget* parent, const QString& title, const QString& question,
                                QMessageBox::StandardButtons buttons, QMessageBox::StandardButton preset) {
  return showPlainly(QMessageBox::Question, parent, title, question, buttons, preset);
}

void warn(QWidget* parent, const QString& title, const QString& sentence) {
  showPlainly(QMessageBox::Warning, parent, title, sentence, QMessageBox::Ok, QMessageBox::NoButton);
}

}  // namespace tapedeck::inspector
