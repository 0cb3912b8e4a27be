// Questions before something is lost.
#pragma once

#include <QMessageBox>
#include <QString>

namespace tapedeck::inspector {

/// Asks whether to do something that can't be undone. `deed`: the button that does it, a verb ("&Delete it");
/// the other one, which Return and Escape press, changes nothing.
bool confirm(QWidget* parent, const QString& title, const QString& question, const QString& deed);

/// Save, Discard or Cancel. Return saves, Escape cancels.
QMessageBox::StandardButton askToSave(QWidget* parent, const QString& headline, const QString& details);

/// The question is set off; `details` say what each button leads to.
void setWords(QMessageBox& box, const QString& headline, const QString& details);

/// `safe` is the button that Return and Escape press.
void makeSafe(QMessageBox& box, QPushButton* safe);

}  // namespace tapedeck::inspector
