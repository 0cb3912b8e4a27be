// Python text as tokens, in logical lines. Knows as much of the language as is needed to find names in it.
#pragma once

#include <QList>
#include <QString>

namespace tapedeck::app {

struct PythonToken {
  enum class Kind { name, sign, value /* a number or a string */ };
  Kind kind;
  QString text;
  /// Of a formatted string: the tokens of its replacement fields.
  QList<PythonToken> fields = {};

  bool is(const char* what) const { return kind != Kind::value && text == QLatin1String(what); }
};

struct PythonLine {
  int indent = 0;           ///< columns
  int first = 0, last = 0;  ///< of the text's lines, from 1
  QList<PythonToken> tokens;
};

/// Without comments, empty lines, and lines that are IPython's (%magic, !command, name?).
QList<PythonLine> pythonLines(const QString& source);

}  // namespace tapedeck::app
