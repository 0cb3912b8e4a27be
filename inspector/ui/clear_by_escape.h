// Esc in a field of words that choose what a panel lists.
#pragma once

#include <QLineEdit>
#include <QShortcut>
#include <utility>

namespace tapedeck::inspector {

/// With words in the field Esc calls `clear`. Without, the field leaves Esc to its parent.
template <class Clear>
void clearByEscape(QLineEdit* field, QObject* context, Clear&& clear) {
  auto* escape = new QShortcut(QKeySequence(Qt::Key_Escape), field, nullptr, nullptr, Qt::WidgetShortcut);
  escape->setEnabled(!field->text().isEmpty());
  QObject::connect(field, &QLineEdit::textChanged, escape,
                   [escape](const QString& text) { escape->setEnabled(!text.isEmpty()); });
  QObject::connect(escape, &QShortcut::activated, context, std::forward<Clear>(clear));
}

}  // namespace tapedeck::inspector
