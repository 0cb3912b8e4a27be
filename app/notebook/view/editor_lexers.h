// The colours of code, given to QScintilla's lexers.
#pragma once

#include "app/notebook/output/notebook_theme.h"

class QsciLexer;
class QObject;

namespace tapedeck::app {

QsciLexer* makePythonLexer(const NotebookTheme& theme, QObject* parent);
QsciLexer* makeMarkdownLexer(const NotebookTheme& theme, QObject* parent);

}  // namespace tapedeck::app
