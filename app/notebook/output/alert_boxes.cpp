#include "app/notebook/output/alert_boxes.h"

#include <QStringList>
#include <QTextBlock>
#include <QTextCursor>
#include <algorithm>
#include <array>

namespace tapedeck::app {
namespace {

struct Row {
  const char* name;  ///< of the class: "alert-info"
  const char* sign;
  const char* word;  ///< for screen readers, and who points at the sign
};
// In the order of AlertKind. The signs are in DejaVu and in Noto's symbols.
constexpr std::array<Row, 4> rows = {{{"info", "\u2139", "Note"},
                                      {"success", "\u2714", "Success"},
                                      {"warning", "\u26a0", "Warning"},
                                      {"danger", "\u2716", "Danger"}}};

struct Mark {
  const char* text;
  AlertKind kind;
  const char* title;
};
constexpr Mark marks[] = {{"[!NOTE]", AlertKind::information, "Note"},
                          {"[!TIP]", AlertKind::success, "Tip"},
                          {"[!IMPORTANT]", AlertKind::information, "Important"},
                          {"[!WARNING]", AlertKind::warning, "Warning"},
                          {"[!CAUTION]", AlertKind::danger, "Caution"}};

/// Names of anchors; the cleaner lets no other ones through.
constexpr char anchor_begin[] = "tapedeck-alert-";

QColor colourOf(AlertKind kind, const NotebookTheme& theme) {
  switch (kind) {
    case AlertKind::information:
      return theme.link;
    case AlertKind::success:
      return theme.success;
    case AlertKind::warning:
      return theme.busy;
    case AlertKind::danger:
      return theme.failure;
  }
  return theme.text;
}

const Row& rowOf(AlertKind kind) {
  return rows[static_cast<std::size_t>(kind)];
}

void style(QTextTable* table, AlertKind kind, const NotebookTheme& theme) {
  constexpr int stripe = 4;
  const QColor colour = colourOf(kind, theme);
  QTextTableFormat format = table->format();
  format.setBorder(0);
  format.setBorderCollapse(false);
  format.setCellSpacing(0);
  format.setCellPadding(6);
  format.setTopMargin(4);
  format.setBottomMargin(6);
  format.setWidth(QTextLength(QTextLength::PercentageLength, 100));
  format.setBackground(inspector::mix(theme.background, colour, theme.dark ? 0.16 : 0.1));
  const qreal sign_width = 1.6 * theme.textFont.pointSizeF() + 12;
  format.setColumnWidthConstraints(
      {QTextLength(QTextLength::FixedLength, sign_width), QTextLength(QTextLength::VariableLength, 0)});
  table->setFormat(format);
  QTextTableCell first = table->cellAt(0, 0);
  QTextTableCellFormat side = first.format().toTableCellFormat();
  side.setLeftBorder(stripe);
  side.setLeftBorderStyle(QTextFrameFormat::BorderStyle_Solid);
  side.setLeftBorderBrush(colour);
  side.setLeftPadding(8);
  first.setFormat(side);
  QTextCharFormat sign;
  sign.setForeground(colour);
  sign.setFontWeight(QFont::Bold);
  sign.setToolTip(rowOf(kind).word);
  QTextCursor cursor = first.firstCursorPosition();
  cursor.setPosition(first.lastCursorPosition().position(), QTextCursor::KeepAnchor);
  cursor.mergeCharFormat(sign);
}

void styleIn(QTextFrame* frame, const NotebookTheme& theme) {
  for (QTextFrame* child : frame->childFrames()) {
    auto* table = qobject_cast<QTextTable*>(child);
    if (const auto kind = alertOfTable(table)) style(table, *kind, theme);
    styleIn(child, theme);
  }
}

}  // namespace

std::optional<AlertKind> alertOfClasses(const QString& classes) {
  const QStringList names = classes.toLower().split(' ', Qt::SkipEmptyParts);
  if (!names.contains("alert")) return {};
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (names.contains(QString("alert-%1").arg(rows[i].name))) return static_cast<AlertKind>(i);
  if (names.contains("alert-error")) return AlertKind::danger;
  return AlertKind::information;
}

std::optional<TitledAlert> alertOfMark(const QString& text) {
  for (const Mark& mark : marks)
    if (text.trimmed().compare(QLatin1String(mark.text), Qt::CaseInsensitive) == 0)
      return TitledAlert{mark.kind, mark.title};
  return {};
}

bool beginsAlertMark(const QString& text) {
  return std::any_of(std::begin(marks), std::end(marks), [&](const Mark& mark) {
    return QString(mark.text).startsWith(text.trimmed(), Qt::CaseInsensitive);
  });
}

void openAlert(HtmlWriter& writer, AlertKind kind, const QString& title) {
  const Row& row = rowOf(kind);
  writer.open("table", " width=\"100%\" border=\"0\"");
  writer.open("tr");
  writer.open("td", " valign=\"top\"");
  writer.open("a", QString(" name=\"%1%2\"").arg(anchor_begin, row.name));
  writer.text(QString::fromUtf8(row.sign));
  writer.close("a");
  writer.close("td");
  writer.open("td");
  if (title.isEmpty()) return;
  writer.open("p");
  writer.open("b");
  writer.text(title);
  writer.close("b");
  writer.close("p");
}

void closeAlert(HtmlWriter& writer) {
  writer.close("td");
  writer.close("tr");
  writer.close("table");
}

std::optional<AlertKind> alertOfTable(const QTextTable* table) {
  if (!table || table->columns() != 2) return {};
  const QTextBlock block = table->cellAt(0, 0).firstCursorPosition().block();
  for (auto it = block.begin(); !it.atEnd(); ++it)
    for (const QString& name : it.fragment().charFormat().anchorNames())
      for (std::size_t i = 0; i < rows.size(); ++i)
        if (name == QString(anchor_begin) + rows[i].name) return static_cast<AlertKind>(i);
  return {};
}

void styleAlerts(QTextDocument& document, const NotebookTheme& theme) {
  styleIn(document.rootFrame(), theme);
}

}  // namespace tapedeck::app
