// Admonition boxes: Jupyter's <div class="alert alert-info"> and GitHub's "> [!NOTE]".
#pragma once

#include <QTextDocument>
#include <QTextTable>
#include <optional>

#include "app/notebook/output/html/html_writer.h"
#include "app/notebook/output/notebook_theme.h"

namespace tapedeck::app {

enum class AlertKind { information, success, warning, danger };

/// Of the classes of an element: "alert alert-warning", with or without others.
std::optional<AlertKind> alertOfClasses(const QString& classes);

struct TitledAlert {
  AlertKind kind;
  QString title;
};
/// Of GitHub's mark, "[!NOTE]"; none: it is another text.
std::optional<TitledAlert> alertOfMark(const QString& text);
/// Whether it may become such a mark as more text arrives.
bool beginsAlertMark(const QString& text);

/// The text between these is in the box, beside a sign that shows its kind without colour.
void openAlert(HtmlWriter& writer, AlertKind kind, const QString& title = {});
void closeAlert(HtmlWriter& writer);

/// Of a table that openAlert() made; none: it is another one.
std::optional<AlertKind> alertOfTable(const QTextTable* table);

/// Styles the boxes of a document.
void styleAlerts(QTextDocument& document, const NotebookTheme& theme);

}  // namespace tapedeck::app
