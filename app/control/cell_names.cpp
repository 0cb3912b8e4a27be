#include "app/control/cell_names.h"

#include <QFileInfo>
#include <algorithm>
#include <array>

namespace tapedeck::app {
namespace {

QString ordinal(int number) {
  constexpr std::array words = {"first", "second",  "third",  "fourth", "fifth",
                                "sixth", "seventh", "eighth", "ninth",  "tenth"};
  if (number <= static_cast<int>(words.size())) return QString::fromLatin1(words[number - 1]);
  const int last = number % 100 / 10 == 1 ? 0 : number % 10;
  return QString::number(number) + (last == 1 ? "st" : last == 2 ? "nd" : last == 3 ? "rd" : "th");
}

}  // namespace

QString cellName(const Document& document, const QString& cellId) {
  const int index = document.indexOf(cellId);
  if (index < 0) return {};
  if (cellId.startsWith('/')) return QFileInfo(cellId).fileName();
  const int count = document.cell(index).executionCount;
  return count > 0 ? QString("cell [%1]").arg(count) : QString("the %1 cell").arg(ordinal(index + 1));
}

int codeCellFrom(const Document& document, int index) {
  for (int i = std::max(index, 0); i < document.cellCount(); ++i) {
    const Cell& cell = document.cell(i);
    if (cell.type == CellType::code && !cell.source.trimmed().isEmpty()) return i;
  }
  return -1;
}

QString noCodeCell(const Document& document) {
  return codeCellFrom(document, 0) < 0
             ? QString("There is no code to run: the notebook has no code cell with any code.")
             : QString("There is no code to run from here on: all cells with code are above.");
}

}  // namespace tapedeck::app
