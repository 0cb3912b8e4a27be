// Which words of a piece of code have which colour: for code in Markdown, which no editor shows.
#pragma once

#include <QString>
#include <vector>

namespace tapedeck::app {

/// Python's keywords and what every program uses without a definition, each between spaces; the editor has
/// them from here, too.
extern const char python_keywords[];
extern const char python_builtins[];

enum class CodeColour { plain, keyword, builtin, string, number, comment, definition, decorator };

struct CodePiece {
  qsizetype length = 0;
  CodeColour colour = CodeColour::plain;
};

/// A language by the name that people give a fence ("python", "py", "{.python}", "c++"); false: unknown.
bool isKnownCode(const QString& language);

/// All of the code, piece by piece. Its time grows with the code's length alone; any text will do.
std::vector<CodePiece> colourCode(QStringView code, const QString& language);

/// Of an element in that colour; empty: plain.
QString classOf(CodeColour colour);

}  // namespace tapedeck::app
