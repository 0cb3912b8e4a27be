// Where in a Python source a place is: in code, a comment or a string.
#pragma once

#include <QString>

namespace tapedeck::app {

struct PythonPlace {
  enum class Kind { code, comment, string };
  Kind kind = Kind::code;
  QChar quote;          ///< of a string
  bool triple = false;  ///< it ends with three of them
  int open = 0;         ///< brackets of all kinds that were opened and not closed before the place
};

/// Of the end of `before`, all that stands before the place. Text between braces in an f-string counts
/// as string.
PythonPlace pythonPlace(QStringView before);

}  // namespace tapedeck::app
