// A printed text in the user's editor.
#pragma once

#include <QObject>
#include <functional>

#include "app/notebook/document/printed_text.h"

namespace tapedeck::app {

/// Writes the text, without its colours, to a file that only the user can read, on a thread of its own, and
/// opens it with the program that the desktop has for texts. `tell` gets a sentence on the result, while
/// `context` lives. The file stays until the program ends.
void openInEditor(const PrintedText& text, QObject* context, std::function<void(const QString&)> tell);

}  // namespace tapedeck::app
