// What the window calls a cell, and which cell a key acts on.
#pragma once

#include <QString>

#include "app/notebook/document/document.h"

namespace tapedeck::app {

/// As the user sees it at the cell: "cell [3]"; one that has no number yet by its place, "the second cell".
/// Empty for a cell that is gone.
QString cellName(const Document& document, const QString& cellId);

/// The first code cell that is not empty, at `index` or below it; -1: none. Keys and tools that run code
/// mean it where the current cell is Markdown, raw or empty.
int codeCellFrom(const Document& document, int index);

/// Why a key that needs a code cell did nothing.
QString noCodeCell(const Document& document);

}  // namespace tapedeck::app
