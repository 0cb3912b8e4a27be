// How Markdown and HTML look in a notebook.
#pragma once

#include <QTextDocument>

#include "app/notebook/output/notebook_theme.h"

namespace tapedeck::app {

/// To be set before the HTML.
QString richStyleSheet(const NotebookTheme& theme, bool markdown);
/// What style sheets can't say: margins by a block's place, headings' sizes, tables' borders.
void styleMarkdown(QTextDocument& document, const NotebookTheme& theme);

}  // namespace tapedeck::app
