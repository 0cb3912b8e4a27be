// How cells are called where people read of them, and which cell a key acts on.
#pragma once

#include <QString>

#include "app/notebook/document/document.h"

namespace tapedeck::app {

/// As the user sees it at the cell: "cell [3]"; one that has no number yet by its place, "the second cell".
/// Empty for a cell that is gone.
QString cellName(const Document& document, const QString& cellId);

/// The first code cell that holds something, at `index` or below it; -1: none. What a key or tool that runs
/// code means where the current cell is a text, raw or empty.
int codeCellFrom(const Document& document, int index);

/// Why a key that needs a code cell did nothing.
QString noCodeCell(const Document& document);

}  // namespace tapedeck::app
