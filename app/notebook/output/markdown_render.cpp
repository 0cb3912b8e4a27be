#include "app/notebook/output/markdown_render.h"

#include <QRegularExpression>
#include <QTextBlock>
#include <QTextCursor>
#include <QTextFrame>
#include <QTextTable>

#include "app/notebook/output/maths.h"

namespace tapedeck::app {
namespace {

QTextCharFormat codeFormat(const NotebookTheme& theme) {
  QTextCharFormat format;
  format.setFontFamilies({theme.codeFont.family()});
  format.setFontFixedPitch(true);
  format.setBackground(theme.codeBackground);
  return format;
}

bool isCode(const QTextBlockFormat& format) {
  return format.hasProperty(QTextFormat::BlockCodeFence) ||
         format.hasProperty(QTextFormat::BlockCodeLanguage) || format.nonBreakableLines();
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

/// Quotations are told by their indent and a paler colour.
void mute(QTextBlock block, const NotebookTheme& theme) {
  QTextCursor cursor(block);
  cursor.movePosition(QTextCursor::EndOfBlock, QTextCursor::KeepAnchor);
  QTextCharFormat format;
  format.setForeground(theme.muted);
  format.setFontItalic(true);
  cursor.mergeCharFormat(format);
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
    format.setTopMargin(isCode(block.previous().blockFormat()) ? 0 : 6);
    format.setBottomMargin(block.next().isValid() && isCode(block.next().blockFormat()) ? 0 : 6);
    QTextCharFormat characters;
    characters.setFontFamilies({theme.codeFont.family()});
    cursor.movePosition(QTextCursor::EndOfBlock, QTextCursor::KeepAnchor);
    cursor.mergeCharFormat(characters);
  } else if (heading > 0) {
    format.setTopMargin(block.blockNumber() == 0 ? 2 : 12);
    format.setBottomMargin(5);
    static constexpr double scales[] = {1.8, 1.45, 1.2, 1.08, 1.0, 0.95};
    enlarge(block, theme.textFont.pointSizeF() * scales[std::clamp(heading, 1, 6) - 1]);
  } else if (QTextCursor(block).currentTable() == nullptr) {
    const bool item = block.textList() != nullptr;
    format.setTopMargin(item ? 1 : 3);
    format.setBottomMargin(item ? 1 : 5);
    format.setLineHeight(118, QTextBlockFormat::ProportionalHeight);
  }
  if (format.hasProperty(QTextFormat::BlockQuoteLevel)) mute(block, theme);
  QTextCursor(block).setBlockFormat(format);
}

struct Piece {
  int position;
  int length;
  QTextCharFormat format;
};

/// Inline code and links in the theme's colours.
void styleFragments(const QTextBlock& block, const NotebookTheme& theme) {
  if (isCode(block.blockFormat())) return;
  std::vector<Piece> pieces;
  for (auto it = block.begin(); !it.atEnd(); ++it) {
    const QTextCharFormat format = it.fragment().charFormat();
    if (format.isAnchor()) {
      QTextCharFormat link;
      link.setForeground(theme.link);
      link.setFontUnderline(true);
      link.setToolTip(format.anchorHref());
      pieces.push_back({it.fragment().position(), it.fragment().length(), link});
    } else if (format.fontFixedPitch()) {
      pieces.push_back({it.fragment().position(), it.fragment().length(), codeFormat(theme)});
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
    if (auto* table = qobject_cast<QTextTable*>(child)) {
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

void insertFormula(QTextCursor cursor, const Formula& formula, const NotebookTheme& theme) {
  QTextCharFormat base = cursor.charFormat();
  base.setFontFamilies({"STIX Two Math", "Latin Modern Math", "DejaVu Serif", "serif"});
  if (formula.display) {
    QTextBlockFormat block = cursor.blockFormat();
    block.setAlignment(Qt::AlignHCenter);
    cursor.setBlockFormat(block);
    base.setFontPointSize(theme.textFont.pointSizeF() * 1.15);
  }
  for (const MathRun& run : formatMath(formula.tex)) {
    QTextCharFormat format = base;
    format.setFontItalic(run.italic);
    if (run.level != 0) {
      format.setVerticalAlignment(run.level > 0 ? QTextCharFormat::AlignSuperScript
                                                : QTextCharFormat::AlignSubScript);
    }
    cursor.insertText(run.text, format);
  }
}

}  // namespace

void renderMarkdown(QTextDocument* document, const QString& markdown, const NotebookTheme& theme) {
  std::vector<Formula> formulas;
  const QString text = extractFormulas(markdown, formulas);
  document->setDefaultFont(theme.textFont);
  document->setMarkdown(text, QTextDocument::MarkdownDialectGitHub);
  for (QTextBlock block = document->begin(); block.isValid(); block = block.next()) {
    styleBlock(block, theme);
    styleFragments(block, theme);
  }
  styleTables(document->rootFrame(), theme);
  const QRegularExpression mark(formulaPattern());
  for (QTextCursor found = document->find(mark); !found.isNull(); found = document->find(mark, found)) {
    const std::size_t index = mark.match(found.selectedText()).captured(1).toULongLong();
    const QTextCharFormat format = found.charFormat();
    found.removeSelectedText();
    found.setCharFormat(format);
    if (index < formulas.size()) insertFormula(found, formulas[index], theme);
  }
}

}  // namespace tapedeck::app
