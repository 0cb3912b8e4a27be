// Markdown cells as rich text.
#pragma once

#include <QTextDocument>

#include "app/notebook/output/theme.h"

namespace tapedeck::app {

/// Fills the document: headings, code, tables, links, and formulas between dollars.
void renderMarkdown(QTextDocument* document, const QString& markdown, const NotebookTheme& theme);

}  // namespace tapedeck::app
