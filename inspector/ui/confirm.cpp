#include "inspector/ui/confirm.h"

#include <QLabel>
#include <QPushButton>

namespace tapedeck::inspector {

void setWords(QMessageBox& box, const QString& headline, const QString& details) {
  box.setTextFormat(Qt::PlainText);
  box.setText(headline);
  // The label that setInformativeText() makes reads HTML until its format is set.
  box.setInformativeText(QStringLiteral(" "));
  if (auto* label = box.findChild<QLabel*>("qt_msgbox_informativelabel")) label->setTextFormat(Qt::PlainText);
  box.setInformativeText(details);
  if (auto* label = box.findChild<QLabel*>("qt_msgbox_label")) {
    QFont font = label->font();
    font.setBold(true);
    label->setFont(font);
  }
}

void makeSafe(QMessageBox& box, QPushButton* safe) {
  box.setDefaultButton(safe);
  box.setEscapeButton(safe);
}

QMessageBox::StandardButton askToSave(QWidget* parent, const QString& headline, const QString& details) {
  QMessageBox box(QMessageBox::Question, "Unsaved changes", QString(),
                  QMessageBox::Save | QMessageBox::Discard | QMessageBox::Cancel, parent);
  setWords(box, headline, details);
  box.button(QMessageBox::Save)->setText("&Save");
  box.button(QMessageBox::Discard)->setText("&Discard changes");
  box.button(QMessageBox::Cancel)->setText("&Cancel");
  box.setDefaultButton(QMessageBox::Save);
  box.setEscapeButton(QMessageBox::Cancel);
  return static_cast<QMessageBox::StandardButton>(box.exec());
}

bool confirm(QWidget* parent, const QString& title, const QString& question, const QString& deed) {
  QMessageBox box(QMessageBox::Warning, title, QString(), QMessageBox::Yes | QMessageBox::No, parent);
  box.setTextFormat(Qt::PlainText);
  box.setText(question);
  box.button(QMessageBox::Yes)->setText(deed);
  box.button(QMessageBox::No)->setText("&Cancel");
  makeSafe(box, qobject_cast<QPushButton*>(box.button(QMessageBox::No)));
  return box.exec() == QMessageBox::Yes;
}

}  // namespace tapedeck::inspector
