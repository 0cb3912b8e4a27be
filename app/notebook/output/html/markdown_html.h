// Markdown as HTML: CommonMark with GitHub's tables, strikethrough and task lists, and formulas.
#pragma once

#include "app/notebook/output/html/html_sanitizer.h"

namespace tapedeck::app {

/// Writes it into `writer`; HTML in it goes through `cleaner`, which writes into the same. Its time grows
/// with the text's length alone.
void writeMarkdown(const QString& markdown, HtmlWriter& writer, HtmlCleaner& cleaner);

}  // namespace tapedeck::app
