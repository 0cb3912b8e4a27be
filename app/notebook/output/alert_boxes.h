// Boxes that say what a text is about: Jupyter's <div class="alert alert-info"> and GitHub's "> [!NOTE]".
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
/// What may become such a mark as more text comes.
bool beginsAlertMark(const QString& text);

/// What comes between these stands in the box, beside a sign that tells its kind without its colour.
void openAlert(HtmlWriter& writer, AlertKind kind, const QString& title = {});
void closeAlert(HtmlWriter& writer);

/// Of a table that openAlert() made; none: it is another one.
std::optional<AlertKind> alertOfTable(const QTextTable* table);

/// Gives the boxes of a document their looks.
void styleAlerts(QTextDocument& document, const NotebookTheme& theme);

}  // namespace tapedeck::app
