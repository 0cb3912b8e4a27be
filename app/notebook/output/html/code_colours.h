// Which words of a piece of code have which colour: for code in Markdown, which is not shown by an editor.
#pragma once

#include <QString>
#include <vector>

namespace tapedeck::app {

/// Python's keywords and built-ins, each between spaces; the editor uses them, too.
extern const char python_keywords[];
extern const char python_builtins[];

enum class CodeColour { plain, keyword, builtin, string, number, comment, definition, decorator };

struct CodePiece {
  qsizetype length = 0;
  CodeColour colour = CodeColour::plain;
};

/// A language by the name on a code fence ("python", "py", "{.python}", "c++"); false: unknown.
bool isKnownCode(const QString& language);

/// All of the code, piece by piece. Linear in the code's length, for any text.
std::vector<CodePiece> colourCode(QStringView code, const QString& language);

/// Of an element in that colour; empty: plain.
QString classOf(CodeColour colour);

}  // namespace tapedeck::app
