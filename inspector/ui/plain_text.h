// Labels and questions that show foreign text literally. Qt's own classes guess which texts are HTML, and
// then read the files that they name; see plainTip().
#pragma once

#include <QLabel>
#include <QMessageBox>

namespace tapedeck::inspector {

/// The only way to make a label, but for subclasses. Its format may be changed for a text that is the
/// program's own.
QLabel* plainLabel(const QString& text = {}, QWidget* parent = nullptr);
QLabel* plainLabel(QWidget* parent);

/// As QMessageBox::question.
QMessageBox::StandardButton ask(QWidget* parent, const QString& title, const QString& question,
                                QMessageBox::StandardButtons buttons = QMessageBox::Yes | QMessageBox::No,
                                QMessageBox::StandardButton preset = QMessageBox::NoButton);
/// As QMessageBox::warning.
void warn(QWidget* parent, const QString& title, const QString& sentence);

}  // namespace tapedeck::inspector
