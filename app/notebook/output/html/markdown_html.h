// Markdown as HTML: CommonMark with GitHub's tables, strikethrough and task lists, and formulas.
#pragma once

#include "app/notebook/output/html/html_sanitizer.h"
#include "app/notebook/output/html/maths.h"

namespace tapedeck::app {

/// Writes it into `writer`; HTML in it goes through `cleaner`, which writes into the same. Linear in
/// the text's length. A formula becomes a picture named formulaPicture(its index).
void writeMarkdown(const QString& markdown, HtmlWriter& writer, HtmlCleaner& cleaner,
                   std::vector<Formula>& formulas);
/// Cleaned HTML; formulas in its texts, but for those in pre and code, likewise.
void writeHtml(const QString& html, HtmlWriter& writer, HtmlCleaner& cleaner, std::vector<Formula>& formulas);

}  // namespace tapedeck::app
