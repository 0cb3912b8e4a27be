#include "inspector/panels/vjp/formula_box.h"

#include <QFontMetricsF>
#include <QPainter>
#include <algorithm>

namespace tapedeck::inspector {

namespace {

using protocol::FormulaNode;
using Kind = FormulaNode::Kind;

constexpr double script_size = 0.75, part_size = 0.9, smallest_points = 6.5;
constexpr double indent = 1.4;  ///< of a line that goes on, in letters' heights

QFont scaled(const QFont& font, double factor) {
  QFont other = font;
  if (font.pixelSize() > 0)
    other.setPixelSize(std::max(8, qRound(font.pixelSize() * factor)));
  else
    other.setPointSizeF(std::max(smallest_points, font.pointSizeF() * factor));
  return other;
}

QFont italic(const QFont& font) {
  QFont other = font;
  other.setItalic(true);
  return other;
}

FormulaBox letters(const QString& text, const QFont& font) {
  const QFontMetricsF metrics(font);
  FormulaBox box;
  box.width = metrics.horizontalAdvance(text);
  box.ascent = metrics.ascent();
  box.descent = metrics.descent();
  box.letters.push_back({{0, 0}, text, font});
  return box;
}

/// Single letters lean, names stand.
FormulaBox symbol(const QString& name, const QFont& font) {
  return letters(name, name.size() == 1 ? italic(font) : font);
}

class Setter {
 public:
  explicit Setter(const QFont& font) : font_(font), metrics_(font) {}

  FormulaBox set(const FormulaNode& node) const {
    switch (node.kind) {
      case Kind::symbol:
        return symbol(QString::fromStdString(node.text), font_);
      case Kind::gradient:
        return gradient(QString::fromStdString(node.text));
      case Kind::number:
      case Kind::word:
        return letters(QString::fromStdString(node.text), font_);
      case Kind::sign:
        return sign(QString::fromStdString(node.text));
      case Kind::group:
        return group(node);
      case Kind::fraction:
        return fraction(node);
      case Kind::root:
        return root(node);
      case Kind::superscript:
      case Kind::subscript:
        return script(node);
      case Kind::row:
        break;
    }
    FormulaBox box;
    for (std::size_t i = 0; i < node.parts.size(); ++i) append(box, node.parts[i], i == 0);
    return box;
  }

  /// To the right, with the room that the part wants before it.
  void append(FormulaBox& box, const FormulaNode& part, bool first) const {
    const bool close = part.kind == Kind::sign && (part.text == "·" || part.text == "∘");
    const double room = first || close || !part.spaced ? 0 : metrics_.horizontalAdvance(' ');
    box.add(set(part), {box.width + room, 0});
  }

 private:
  FormulaBox gradient(const QString& name) const {
    FormulaBox box = letters(QStringLiteral("d"), font_);
    if (name.size() == 1) {
      box.add(symbol(name, font_), {box.width, 0});
      return box;
    }
    return letters(QStringLiteral("d(%1)").arg(name), font_);
  }

  FormulaBox sign(const QString& text) const {
    FormulaBox box;
    const double room = text == "·" || text == "∘" ? 0.12 * metrics_.height() : 0;
    box.add(letters(text, font_), {room, 0});
    box.width += room;
    return box;
  }

  FormulaBox group(const FormulaNode& node) const {
    const FormulaBox inside = set(node.parts[0]);
    const auto close = protocol::closing_bracket(node.text);
    // A bracket is as tall as what it holds.
    const double growth = std::max(1.0, inside.height() / metrics_.height());
    const QFont font = growth > 1.15 ? scaled(font_, growth * 0.92) : font_;
    const QFontMetricsF metrics(font);
    const double drop =
        growth > 1.15 ? ((metrics.ascent() - metrics.descent()) - (inside.ascent - inside.descent)) / 2 : 0;
    FormulaBox box;
    const auto bracket = [&](std::string_view text) {
      FormulaBox one = letters(QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size())), font);
      box.add(one, {box.width, drop});
    };
    bracket(node.text);
    box.add(inside, {box.width, 0});
    bracket(close);
    return box;
  }

  FormulaBox fraction(const FormulaNode& node) const {
    const Setter part(scaled(font_, part_size));
    const FormulaBox above = part.set(node.parts[0]), below = part.set(node.parts[1]);
    const double axis = metrics_.xHeight() / 2, gap = 0.08 * metrics_.height();
    FormulaBox box;
    const double width = std::max(above.width, below.width) + 4;
    box.add(above, {(width - above.width) / 2, -axis - gap - above.descent});
    box.add(below, {(width - below.width) / 2, -axis + gap + below.ascent});
    box.lines.push_back({0, -axis, width, -axis});
    box.width = width;
    box.add({2, 0, 0, {}, {}}, {width, 0});
    return box;
  }

  FormulaBox root(const FormulaNode& node) const {
    const FormulaBox inside = set(node.parts[0]);
    const double hook = 0.55 * metrics_.height(), top = -inside.ascent;
    FormulaBox box;
    box.add(inside, {hook, 0});
    box.ascent = inside.ascent + 2;
    box.lines.push_back({0, -0.35 * inside.ascent, hook * 0.3, -0.4 * inside.ascent});
    box.lines.push_back({hook * 0.3, -0.4 * inside.ascent, hook * 0.6, inside.descent * 0.6});
    box.lines.push_back({hook * 0.6, inside.descent * 0.6, hook, top});
    box.lines.push_back({hook, top, box.width, top});
    box.width += 1;
    return box;
  }

  FormulaBox script(const FormulaNode& node) const {
    FormulaBox box = set(node.parts[0]);
    const Setter small(scaled(font_, script_size));
    const FormulaBox mark = small.set(node.parts[1]);
    const bool up = node.kind == Kind::superscript;
    const double shift = up ? -std::max(0.36 * metrics_.height(), box.ascent - 0.75 * metrics_.ascent())
                            : 0.2 * metrics_.height();
    box.add(mark, {box.width, shift});
    return box;
  }

  QFont font_;
  QFontMetricsF metrics_;
};

/// Breaks before a part that would stand past the width.
void addLines(const FormulaNode& row, const FormulaNode* left, const QString& relation, const QFont& font,
              double width, std::vector<FormulaBox>& lines) {
  const Setter setter(font);
  const double inset = indent * QFontMetricsF(font).height();
  FormulaBox line;
  if (left) {
    line = setter.set(*left);
    line.add(letters(relation, font), {line.width, 0});
  }
  bool first = true;
  for (const FormulaNode& part : row.parts) {
    FormulaBox next = line;
    setter.append(next, part, first);
    if (next.width > width && !first) {
      lines.push_back(std::move(line));
      next = {};
      next.width = inset;
      setter.append(next, part, true);
    }
    line = std::move(next);
    first = false;
  }
  lines.push_back(std::move(line));
}

}  // namespace

void FormulaBox::add(const FormulaBox& other, QPointF offset) {
  width = std::max(width, offset.x() + other.width);
  ascent = std::max(ascent, other.ascent - offset.y());
  descent = std::max(descent, other.descent + offset.y());
  for (const Letters& one : other.letters) letters.push_back({one.at + offset, one.text, one.font});
  for (const QLineF& line : other.lines) lines.push_back(line.translated(offset));
}

void FormulaBox::draw(QPainter& painter, QPointF baseline) const {
  for (const Letters& one : letters) {
    painter.setFont(one.font);
    painter.drawText(baseline + one.at, one.text);
  }
  for (const QLineF& line : lines) painter.drawLine(line.translated(baseline));
}

FormulaBox formulaBox(const FormulaNode& node, const QFont& font) {
  return Setter(font).set(node);
}

std::vector<FormulaBox> formulaLines(const protocol::Formula& formula, const QFont& font, double width) {
  using StatementKind = protocol::FormulaStatement::Kind;
  std::vector<FormulaBox> lines;
  for (const protocol::FormulaStatement& statement : formula.statements) {
    const bool equation =
        statement.kind == StatementKind::gradient || statement.kind == StatementKind::helper;
    const bool explains = statement.kind == StatementKind::explanation;
    if (equation || explains)
      addLines(statement.right, &statement.left, equation ? QStringLiteral(" = ") : QStringLiteral(": "),
               font, width, lines);
    else
      addLines(statement.right, nullptr, {}, font, width, lines);
  }
  return lines;
}

std::vector<FormulaBox> expressionLines(const FormulaNode& expression, const QFont& font, double width) {
  std::vector<FormulaBox> lines;
  addLines(expression, nullptr, {}, font, width, lines);
  return lines;
}

}  // namespace tapedeck::inspector
