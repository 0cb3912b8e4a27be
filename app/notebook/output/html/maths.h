// Formulas in a text, and their rendering in a line of plain text.
#pragma once

#include <QString>
#include <vector>

namespace tapedeck::app {

/// `tex`: the text between the dollars. For lists of headings and the like: Unicode symbols, superscripts and
/// subscripts where they exist; unknown commands keep their name.
QString plainMath(const QString& tex);

struct Formula {
  QString tex;
  bool display = false;  ///< $$…$$: a line of its own
  QString source;        ///< with what delimits it
};

/// Markdown with each formula outside code replaced by a mark that Markdown leaves alone: formulaMark(index).
/// Besides the dollars, \begin{…} and \end{…} of TeX's environments for formulas delimit one, and \\( and
/// \\).
QString extractFormulas(const QString& markdown, std::vector<Formula>& formulas);
/// The same of the text of HTML: there are no marks of code in it, and \( and \) have one backslash.
QString extractHtmlFormulas(QStringView text, std::vector<Formula>& formulas);
QString formulaMark(std::size_t index);
/// The mark that `text` has at or behind `from`: its position and length, and the formula's index. Length 0:
/// none.
struct FoundMark {
  qsizetype position = 0;
  qsizetype length = 0;
  std::size_t index = 0;
};
FoundMark findFormulaMark(QStringView text, qsizetype from, std::size_t formulas);
/// The name of the picture that represents a formula until it is placed, and the index that such a name has;
/// -1 as a number of its type: another picture's name.
QString formulaPicture(std::size_t index);
std::size_t formulaOfPicture(const QString& name);
/// The text with each of its formulas as plainMath.
QString withPlainFormulas(const QString& text);
/// With the formulas' sources in the marks' places.
QString restoreFormulas(const QString& text, const std::vector<Formula>& formulas);

}  // namespace tapedeck::app
