#include "app/notebook/output/rich_style.h"

#include <QTextBlock>
#include <QTextCursor>
#include <QTextFrame>
#include <QTextTable>

#include "app/notebook/output/alert_boxes.h"
#include "app/notebook/output/html/code_colours.h"

namespace tapedeck::app {
namespace {

bool isCode(const QTextBlockFormat& format) {
  return format.nonBreakableLines();
}

/// Qt's own sizes of headings are steps that leave no room between text and the smaller headings.
void enlarge(const QTextBlock& block, qreal points) {
  std::vector<std::pair<QTextCursor, QTextCharFormat>> pieces;
  for (auto it = block.begin(); !it.atEnd(); ++it) {
    QTextCharFormat format = it.fragment().charFormat();
    format.clearProperty(QTextFormat::FontSizeAdjustment);
    format.setFontPointSize(points);
    format.setFontWeight(QFont::DemiBold);
    QTextCursor cursor(block);
    cursor.setPosition(it.fragment().position());
    cursor.setPosition(it.fragment().position() + it.fragment().length(), QTextCursor::KeepAnchor);
    pieces.emplace_back(cursor, format);
  }
  for (auto& [cursor, format] : pieces) cursor.setCharFormat(format);
}

/// Both are lines of one piece of code; what begins a piece has a margin above, until it is styled.
bool goesOn(const QTextBlock& line, const QTextBlock& next) {
  return line.isValid() && next.isValid() && isCode(line.blockFormat()) && isCode(next.blockFormat()) &&
         next.blockFormat().topMargin() == 0;
}

bool hasPicture(const QTextBlock& block) {
  for (auto it = block.begin(); !it.atEnd(); ++it)
    if (it.fragment().charFormat().isImageFormat()) return true;
  return false;
}

void styleBlock(QTextBlock block, const NotebookTheme& theme) {
  QTextCursor cursor(block);
  QTextBlockFormat format = block.blockFormat();
  const int heading = format.headingLevel();
  const bool code = isCode(format);
  if (code) {
    format.setBackground(theme.codeBackground);
    // Room between the edge of the background and the text.
    format.setTextIndent(8);
    format.setTopMargin(goesOn(block.previous(), block) ? 0 : 6);
    format.setBottomMargin(goesOn(block, block.next()) ? 0 : 6);
    QTextCharFormat characters;
    characters.setFontFamilies({theme.codeFont.family()});
    cursor.movePosition(QTextCursor::EndOfBlock, QTextCursor::KeepAnchor);
    cursor.mergeCharFormat(characters);
  } else if (heading > 0) {
    format.setTopMargin(block.blockNumber() == 0 ? 2 : 12);
    format.setBottomMargin(5);
    static constexpr double scales[] = {1.8, 1.45, 1.2, 1.08, 1.0, 0.95};
    enlarge(block, theme.textFont.pointSizeF() * scales[std::clamp(heading, 1, 6) - 1]);
  } else if (const QTextTable* table = QTextCursor(block).currentTable();
             table == nullptr || alertOfTable(table)) {
    const bool item = block.textList() != nullptr;
    format.setTopMargin(item ? 1 : 3);
    format.setBottomMargin(item ? 1 : 5);
    // Room between lines of text; a share of a picture's height would be a gap below it.
    if (!hasPicture(block)) format.setLineHeight(118, QTextBlockFormat::ProportionalHeight);
  }
  QTextCursor(block).setBlockFormat(format);
}

struct Piece {
  int position;
  int length;
  QTextCharFormat format;
};

/// Links in the theme's colours, with their address at hand.
void styleFragments(const QTextBlock& block, const NotebookTheme& theme) {
  if (isCode(block.blockFormat())) return;
  std::vector<Piece> pieces;
  for (auto it = block.begin(); !it.atEnd(); ++it) {
    const QTextCharFormat format = it.fragment().charFormat();
    if (!format.anchorHref().isEmpty()) {
      QTextCharFormat link;
      link.setForeground(theme.link);
      link.setFontUnderline(true);
      if (format.toolTip().isEmpty()) link.setToolTip(format.anchorHref());
      pieces.push_back({it.fragment().position(), it.fragment().length(), link});
    }
  }
  for (const Piece& piece : pieces) {
    QTextCursor cursor(block);
    cursor.setPosition(piece.position);
    cursor.setPosition(piece.position + piece.length, QTextCursor::KeepAnchor);
    cursor.mergeCharFormat(piece.format);
  }
}

void styleTables(QTextFrame* frame, const NotebookTheme& theme) {
  for (QTextFrame* child : frame->childFrames()) {
    if (auto* table = qobject_cast<QTextTable*>(child); table && !alertOfTable(table)) {
      QTextTableFormat format = table->format();
      format.setBorderCollapse(true);
      format.setBorder(1);
      format.setBorderBrush(theme.border);
      format.setBorderStyle(QTextFrameFormat::BorderStyle_Solid);
      format.setCellPadding(5);
      format.setCellSpacing(0);
      format.setTopMargin(4);
      format.setBottomMargin(6);
      format.setWidth(QTextLength());
      table->setFormat(format);
      for (int column = 0; column < table->columns(); ++column) {
        QTextTableCell cell = table->cellAt(0, column);
        QTextCharFormat header = cell.format();
        header.setBackground(theme.codeBackground);
        cell.setFormat(header);
      }
    }
    styleTables(child, theme);
  }
}

}  // namespace

QString richStyleSheet(const NotebookTheme& theme, bool markdown) {
  QString sheet = QString("a { color: %1; } pre, code, kbd, samp, tt { font-family: '%2'; }")
                      .arg(theme.link.name(), theme.codeFont.family());
  if (markdown) {
    sheet += QString(
                 "blockquote { margin-left: 18px; margin-right: 8px; color: %1; font-style: italic; }"
                 "code, kbd, samp, tt { background-color: %2; }")
                 .arg(theme.faintText.name(), theme.codeBackground.name());
    const std::pair<CodeColour, QColor> colours[] = {
        {CodeColour::keyword, theme.keyword},    {CodeColour::builtin, theme.builtin},
        {CodeColour::string, theme.string},      {CodeColour::number, theme.number},
        {CodeColour::comment, theme.comment},    {CodeColour::definition, theme.definition},
        {CodeColour::decorator, theme.decorator}};
    for (const auto& [colour, shown] : colours)
      sheet += QString(".%1 { color: %2; }").arg(classOf(colour), shown.name());
    // As in the editor, so that it does not depend on colour alone.
    sheet += QString(".%1 { font-weight: 600; } .%2 { font-style: italic; }")
                 .arg(classOf(CodeColour::keyword), classOf(CodeColour::comment));
  } else {
    sheet += QString(
                 "table { border-collapse: collapse; border-width: 0px; border-color: %1; } .dataframe td, "
                 ".dataframe th { text-align: right; }"
                 "th { padding: 4px 9px; border-bottom: 1px solid %2; font-weight: 600; }"
                 "td { padding: 3px 9px; border-bottom: 1px solid %2; }")
                 .arg(theme.faintText.name(), theme.border.name());
  }
  return sheet;
}

void styleMarkdown(QTextDocument& document, const NotebookTheme& theme) {
  QTextCursor all(&document);
  all.beginEditBlock();
  for (QTextBlock block = document.begin(); block.isValid(); block = block.next()) {
    styleBlock(block, theme);
    styleFragments(block, theme);
  }
  styleTables(document.rootFrame(), theme);
  all.endEditBlock();
}

}  // namespace tapedeck::app
