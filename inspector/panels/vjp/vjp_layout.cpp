#include "inspector/panels/vjp/vjp_layout.h"

#include <QFontMetricsF>
#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

#include "inspector/model/format.h"
#include "inspector/model/tensor/notation.h"

namespace tapedeck::inspector {

namespace {

using protocol::FormulaNode;
using protocol::VjpRole;

constexpr double margin = 10, gap = 5, picture_height = 72, picture_width = 150, smallest_picture = 18;
constexpr double formula_growth = 1.2;
constexpr int digits = 4;
const QString reveal_key = QStringLiteral("Alt+G");

QString text(const std::string& utf8) {
  return QString::fromStdString(utf8);
}

QString number(double value) {
  const double values[] = {value};
  return Notation::of(values, digits).text(value).replace(QLatin1Char('-'), QChar(0x2212));
}

FormulaNode symbolNode(const std::string& name, bool gradient) {
  FormulaNode node;
  node.kind = gradient ? FormulaNode::Kind::gradient : FormulaNode::Kind::symbol;
  node.text = name;
  return node;
}

QString gradientText(const std::string& name) {
  return name.size() <= 1 ? QStringLiteral("d") + text(name) : QStringLiteral("d(%1)").arg(text(name));
}

std::pair<std::int64_t, std::int64_t> matrixOf(const protocol::TensorInfo& info) {
  if (info.shape.empty()) return {1, 1};
  const std::int64_t count = elementCount(info.shape), columns = info.shape.back();
  return {columns > 0 ? count / columns : 0, columns};
}

class Builder {
 public:
  Builder(const VjpModel& model, const CellNames* cells, const QFont& font, double width)
      : model_(model),
        parts_(model.parts()),
        cells_(cells),
        font_(font),
        metrics_(font),
        width_(width),
        y_(margin * 0.6) {}

  VjpLayout build() {
    if (!model_.problem().isEmpty()) paragraph(model_.problem(), SheetTone::faint);
    if (parts_.forward) {
      formula();
      into();
      outOf();
      inside();
    }
    layout_.height = y_ + margin;
    return std::move(layout_);
  }

 private:
  double line() const { return metrics_.height() + 3; }
  double room() const { return width_ - 2 * margin; }

  void addText(const QString& words, SheetTone tone, double x, double width) {
    layout_.texts.push_back({QRectF(x, y_, width, line()), words, tone});
  }

  void paragraph(const QString& words, SheetTone tone) {
    const QRectF all =
        metrics_.boundingRect(QRectF(0, 0, room(), 10000), Qt::TextWordWrap | Qt::AlignLeft, words);
    layout_.texts.push_back({QRectF(margin, y_, room(), all.height() + 2), words, tone});
    y_ += all.height() + gap;
  }

  void heading(const QString& words) {
    y_ += gap;
    addText(words, SheetTone::heading, margin, room());
    y_ += line();
  }

  QFont formulaFont() const {
    QFont font = font_;
    if (font.pixelSize() > 0)
      font.setPixelSize(qRound(font.pixelSize() * formula_growth));
    else
      font.setPointSizeF(font.pointSizeF() * formula_growth);
    return font;
  }

  void addLines(std::vector<FormulaBox> lines, const QString& words, double x) {
    for (FormulaBox& box : lines) {
      layout_.formulas.push_back({QPointF(x, y_ + box.ascent), box, words});
      y_ += box.height() + 2;
    }
    y_ += 2;
  }

  void formula() {
    const std::string& source = forward_.vjp_formula;
    if (forward_.kind == protocol::RecordKind::custom) {
      paragraph(QStringLiteral("A gradient that the notebook's author wrote."), SheetTone::plain);
      return;
    }
    if (source == "none" || source.empty()) {
      paragraph(QStringLiteral("This op has no gradient."), SheetTone::faint);
      return;
    }
    try {
      addLines(formulaLines(protocol::parse_formula(source, parts_.names), formulaFont(), room()),
               text(source), margin);
    } catch (const protocol::FormulaError&) {  // from a session of another make
      paragraph(text(source), SheetTone::plain);
    }
  }

  void into() {
    heading(QStringLiteral("Goes in"));
    for (const protocol::VjpSymbol& symbol : parts_.symbols) {
      const bool gradient = symbol.role == VjpRole::cotangent;
      if (symbol.role == VjpRole::attribute || symbol.role == VjpRole::count) {
        addText(
            QStringLiteral("%1 = %2").arg(text(symbol.symbol.value_or("")), text(symbol.text.value_or(""))),
            SheetTone::plain, margin, room());
        y_ += line();
        continue;
      }
      const QString place = gradient                        ? QStringLiteral("cotangent")
                            : symbol.role == VjpRole::input ? QStringLiteral("input %1").arg(symbol.index)
                                                            : QStringLiteral("output %1").arg(symbol.index);
      const protocol::TensorInfo tensor = symbol.tensor.value_or(protocol::TensorInfo());
      if (!symbol.symbol)
        tensorRow({}, place, tensor, -1, place);
      else
        tensorRow(formulaBox(symbolNode(*symbol.symbol, gradient), font_),
                  gradient ? gradientText(*symbol.symbol) : text(*symbol.symbol), tensor, -1, place);
    }
    if (!parts_.vjp)
      paragraph(QStringLiteral("No playback has come to this op yet: there is no cotangent."),
                SheetTone::faint);
  }

  /// Name, shape, and the figures that values are told apart by.
  QString about(const protocol::TensorInfo& info, const QString& place) const {
    QStringList words{place};
    if (!info.name.empty()) words << text(info.name);
    words << shapeText(info.shape) << text(info.dtype);
    return words.join(QStringLiteral(" · "));
  }

  static QString figures(const VjpValue& value) {
    QStringList words;
    if (value.norm) {
      words << QStringLiteral("norm %1").arg(number(*value.norm));
      words << QStringLiteral("%1 … %2").arg(number(*value.minimum), number(*value.maximum));
    }
    if (value.odd) words << QStringLiteral("%1 NaN or Inf").arg(countText(value.odd));
    return words.join(QStringLiteral(" · "));
  }

  void tensorRow(const FormulaBox& label, const QString& name, const protocol::TensorInfo& info,
                 int contribution, const QString& place) {
    SheetRow row;
    row.info = info;
    if (info.name.empty() && info.producer == 0) row.info.name = name.toStdString();  // what else to call it?
    row.contribution = contribution;
    const double top = y_;
    double x = margin;
    if (label.width > 0) {
      layout_.formulas.push_back({QPointF(x, y_ + metrics_.ascent() + 1), label, name});
      x += std::max(label.width, 1.6 * metrics_.height()) + 6;
    }
    if (info.id == 0) {
      addText(QStringLiteral("%1 · none").arg(place), SheetTone::faint, x, width_ - margin - x);
      y_ += line() + 2;
      return;
    }
    const VjpValue* value = model_.value(info.id);
    const QString words = about(info, place);
    row.spoken = QStringLiteral("%1, %2").arg(name, words);
    addText(words, SheetTone::faint, x, width_ - margin - x);
    y_ += line();
    if (value && !value->problem.isEmpty()) {
      paragraph(value->problem, SheetTone::error);
    } else if (value && value->tile && !value->tile->values.empty()) {
      addGrid(*value, row);
      if (elementCount(info.shape) != 1 || value->odd) {
        const QString more = figures(*value);
        row.spoken += QStringLiteral(", ") + more;
        addText(more, SheetTone::faint, margin + 4, room() - 4);
        y_ += line();
      } else {
        row.spoken += QStringLiteral(", ") + number(value->tile->values[0]);
      }
    } else {
      y_ += line();
    }
    row.rect = QRectF(margin - 5, top - 1, room() + 10, y_ - top + 1);
    y_ += 3;
    layout_.rows.push_back(std::move(row));
  }

  void addGrid(const VjpValue& value, SheetRow& row) {
    SheetGrid grid;
    grid.tensor = value.info.id;
    std::tie(grid.rows, grid.columns) = matrixOf(value.info);
    const double left = margin + 4;
    grid.format = NumberFormat::choose(value.tile->values, value.tile->dtype, digits);
    const double cell = (grid.format.widest(value.tile->values) + 1.2) * metrics_.horizontalAdvance('0');
    grid.numbers = value.small && cell * static_cast<double>(grid.columns) <= room() - 4;
    if (grid.numbers) {
      grid.rect = QRectF(left, y_, cell * static_cast<double>(grid.columns),
                         (metrics_.height() + 2) * static_cast<double>(grid.rows));
    } else {
      const double rows = static_cast<double>(grid.rows), columns = static_cast<double>(grid.columns);
      const double wide = std::min(picture_width * metrics_.height() / 16, room() - 4);
      const double scale = std::min(wide / columns, picture_height * metrics_.height() / 16 / rows);
      grid.rect = QRectF(left, y_, std::clamp(columns * scale, smallest_picture, wide),
                         std::max(rows * scale, smallest_picture));
    }
    y_ += grid.rect.height() + 2;
    row.grid = grid;
  }

  void outOf() {
    if (!parts_.vjp) return;
    const bool foreseen = parts_.vjp->state == protocol::RecordState::pending;
    heading(foreseen ? QStringLiteral("Will come out") : QStringLiteral("Comes out"));
    if (parts_.problem) paragraph(text(*parts_.problem), SheetTone::faint);
    if (model_.hidesResults()) return hiddenResults();
    int place = 0;
    for (const protocol::VjpContribution& contribution : parts_.contributions)
      contributionRows(contribution, place++);
  }

  /// Which gradients there will be, and no value of them.
  void hiddenResults() {
    for (const protocol::VjpContribution& contribution : parts_.contributions) {
      if (!contribution.contribution) continue;
      double x = margin;
      if (contribution.symbol) {
        const FormulaBox label = formulaBox(symbolNode(*contribution.symbol, true), font_);
        layout_.formulas.push_back(
            {QPointF(x, y_ + metrics_.ascent() + 1), label, gradientText(*contribution.symbol)});
        x += std::max(label.width, 1.6 * metrics_.height()) + 6;
      }
      addText(about(*contribution.contribution, QStringLiteral("for input %1").arg(contribution.input)),
              SheetTone::faint, x, width_ - margin - x);
      y_ += line() + 2;
    }
    SheetRow row;
    row.reveals = true;
    row.rect = QRectF(margin - 5, y_ - 1, room() + 10, line() + 2);
    row.spoken = QStringLiteral("Show the values before the step (%1)").arg(reveal_key);
    addText(row.spoken, SheetTone::link, margin, room());
    y_ += line() + 2;
    layout_.rows.push_back(std::move(row));
  }

  /// What broadcasting adds to the formula, which speaks of elements; empty: nothing.
  QString summedText(const protocol::VjpContribution& contribution) const {
    const std::vector<std::int64_t> axes = repeatedAxes(contribution);
    if (axes.empty()) return {};
    QStringList words;
    for (const std::int64_t axis : axes) words << QString::number(axis);
    return QStringLiteral("summed over %1 %2, along which %3 was repeated (broadcast)")
        .arg(axes.size() == 1 ? QStringLiteral("axis") : QStringLiteral("axes"),
             words.join(QStringLiteral(" and ")), text(*contribution.symbol));
  }

  /// Axes of the result along which the input was repeated: where all inputs together have the result's
  /// shape by the rule of broadcasting, and the formula is one of elements.
  std::vector<std::int64_t> repeatedAxes(const protocol::VjpContribution& contribution) const {
    if (!contribution.symbol || forward_.outputs.size() != 1 || !speaksOfElements(*contribution.symbol))
      return {};
    const std::vector<std::int64_t>& to = forward_.outputs[0].shape;
    std::vector<std::int64_t> widest(to.size(), 1), axes;
    for (const protocol::TensorInfo& input : forward_.inputs) {
      if (input.shape.size() > to.size()) return {};
      for (std::size_t axis = 0; axis < to.size(); ++axis) {
        const std::int64_t extent = extentAt(input.shape, axis, to.size());
        if (extent != 1 && extent != to[axis]) return {};
        if (extent != 1) widest[axis] = extent;
      }
    }
    if (widest != to) return {};
    for (std::size_t axis = 0; axis < to.size(); ++axis)
      if (extentAt(contribution.target.shape, axis, to.size()) != to[axis] ||
          axis + contribution.target.shape.size() < to.size())
        axes.push_back(static_cast<std::int64_t>(axis));
    return axes;
  }

  /// Of the shape with ones before it, as many as it lacks.
  static std::int64_t extentAt(const std::vector<std::int64_t>& shape, std::size_t axis, std::size_t rank) {
    const std::size_t before = rank - std::min(rank, shape.size());
    return axis < before ? 1 : shape[axis - before];
  }

  /// Whether the statement of that gradient has no sums, transposes, functions and prose but conditions.
  bool speaksOfElements(const std::string& symbol) const {
    try {
      for (const auto& statement : protocol::parse_formula(forward_.vjp_formula, parts_.names).statements)
        if (statement.kind == protocol::FormulaStatement::Kind::gradient && statement.subject == symbol)
          return speaksOfElements(statement.right);
    } catch (const protocol::FormulaError&) {  // from a session of another make
    }
    return false;
  }

  static bool speaksOfElements(const FormulaNode& node) {
    using Kind = FormulaNode::Kind;
    constexpr std::array<std::string_view, 5> conditions = {"where", "else", "but", "for", "ln"};
    if (node.kind == Kind::subscript || node.text == "T" || node.text == "Σ" || node.text == "⋆")
      return false;
    if (node.kind == Kind::word &&
        std::find(conditions.begin(), conditions.end(), node.text) == conditions.end())
      return false;
    return std::all_of(node.parts.begin(), node.parts.end(),
                       [](const FormulaNode& part) { return speaksOfElements(part); });
  }

  void contributionRows(const protocol::VjpContribution& contribution, int place) {
    const QString where = QStringLiteral("for input %1").arg(contribution.input);
    if (!contribution.contribution) {
      if (!parts_.problem) paragraph(QStringLiteral("%1: not there yet").arg(where), SheetTone::faint);
      return;
    }
    if (!contribution.symbol)
      tensorRow({}, where, *contribution.contribution, place, where);
    else
      tensorRow(formulaBox(symbolNode(*contribution.symbol, true), font_), gradientText(*contribution.symbol),
                *contribution.contribution, place, where);
    if (const QString summed = summedText(contribution); !summed.isEmpty())
      paragraph(summed, SheetTone::faint);
    if (model_.element() && model_.element()->contribution == place) terms();
    if (!contribution.before) {
      addText(QStringLiteral("the first one: the sum of this gradient is it"), SheetTone::faint, margin + 4,
              room());
      y_ += line() + gap;
      return;
    }
    const QString before = QStringLiteral("sum before"), after = QStringLiteral("sum after");
    tensorRow({}, before, *contribution.before, -1, before);
    if (contribution.after) tensorRow({}, after, *contribution.after, -1, after);
    y_ += gap;
  }

  void addExpression(const std::string& words, const std::vector<std::string>& names, double x) {
    try {
      addLines(expressionLines(protocol::parse_expression(words, names), font_, width_ - margin - x),
               text(words), x);
    } catch (const protocol::FormulaError&) {
      layout_.texts.push_back({QRectF(x, y_, room(), line()), text(words), SheetTone::plain});
      y_ += line();
    }
  }

  void terms() {
    const double x = margin + 14;
    if (!model_.termsProblem().isEmpty()) paragraph(model_.termsProblem(), SheetTone::faint);
    const protocol::ElementTerms* terms = model_.terms();
    if (!terms) return;
    y_ += 2;
    addExpression(terms->formula + " = " + number(terms->value).toStdString(), terms->names, x);
    double all = std::abs(terms->rest);
    for (const protocol::ElementTerm& term : terms->terms) all += std::abs(term.value);
    for (const protocol::ElementTerm& term : terms->terms) {
      const double top = y_;
      addExpression(term.expression + " = " + term.numbers + " = " + number(term.value).toStdString(),
                    terms->names, x + 12);
      const double share = all > 0 && std::isfinite(all) ? std::abs(term.value) / all : 0;
      layout_.bars.push_back({QRectF(x, top + 2, 7, y_ - top - 6), share, term.value < 0});
    }
    if (terms->total > terms->terms.size()) {
      addText(QStringLiteral("and %1 more, together %2")
                  .arg(countText(terms->total - terms->terms.size()), number(terms->rest)),
              SheetTone::faint, x + 12, room());
      y_ += line();
    }
    if (terms->remark) paragraph(text(*terms->remark), SheetTone::faint);
    y_ += gap;
  }

  void inside() {
    if (!parts_.vjp || !parts_.vjp->custom_gradient) return;
    heading(QStringLiteral("What ran in it"));
    if (parts_.inside.empty())
      paragraph(QStringLiteral("Nothing yet: a step goes into it."), SheetTone::faint);
    const protocol::Record* before = nullptr;
    for (const protocol::Record& record : parts_.inside) {
      if (!before || before->cell != record.cell || before->line != record.line) codeLine(record);
      before = &record;
      SheetRow row;
      row.record = record.number;
      row.rect = QRectF(margin - 5, y_ - 1, room() + 10, line() + 2);
      row.spoken = insideText(record);
      addText(row.spoken, record.number == model_.session()->cursor() ? SheetTone::heading : SheetTone::plain,
              margin + 14, room() - 14);
      y_ += line() + 2;
      layout_.rows.push_back(std::move(row));
    }
    if (parts_.inside_total > parts_.inside.size()) {
      addText(QStringLiteral("and %1 more").arg(countText(parts_.inside_total - parts_.inside.size())),
              SheetTone::faint, margin, room());
      y_ += line();
    }
  }

  /// The line as it ran, whatever the cell says by now.
  void codeLine(const protocol::Record& record) {
    if (!cells_ || !record.line || record.cell.empty()) return;
    const QString code = cells_->code(text(record.cell), static_cast<int>(record.line), record.number);
    if (code.isEmpty()) return;
    y_ += 2;
    addText(QStringLiteral("%1   %2").arg(record.line).arg(code), SheetTone::code, margin, room());
    y_ += line();
  }

  QString insideText(const protocol::Record& record) const {
    QStringList words{QStringLiteral("%1 %2").arg(countText(record.number), text(record.op))};
    if (record.line) words << QStringLiteral("line %1").arg(record.line);
    if (record.state == protocol::RecordState::pending) words << QStringLiteral("next");
    const bool original = !model_.session()->look().elsewhere();
    if (original && !record.outputs.empty() && !record.outputs[0].preview.empty())
      words << QStringLiteral("= ") + text(record.outputs[0].preview);
    return words.join(QStringLiteral(" · "));
  }

  const VjpModel& model_;
  const protocol::VjpParts& parts_;
  const protocol::Record forward_ = parts_.forward.value_or(protocol::Record());
  const CellNames* cells_;
  const QFont font_;
  const QFontMetricsF metrics_;
  const double width_;
  double y_;
  VjpLayout layout_;
};

}  // namespace

QRectF SheetGrid::cell(qint64 element) const {
  if (rows <= 0 || columns <= 0) return {};
  const double width = rect.width() / static_cast<double>(columns),
               height = rect.height() / static_cast<double>(rows);
  return {rect.left() + width * static_cast<double>(element % columns),
          rect.top() + height * static_cast<double>(element / columns), width, height};
}

qint64 SheetGrid::elementAt(QPointF point) const {
  if (!rect.contains(point) || rows <= 0 || columns <= 0) return -1;
  const auto column =
      static_cast<qint64>((point.x() - rect.left()) / rect.width() * static_cast<double>(columns));
  const auto row = static_cast<qint64>((point.y() - rect.top()) / rect.height() * static_cast<double>(rows));
  return std::min<qint64>(row, rows - 1) * columns + std::min<qint64>(column, columns - 1);
}

VjpLayout layOutVjp(const VjpModel& model, const CellNames* cells, const QFont& font, double width) {
  return Builder(model, cells, font, width).build();
}

}  // namespace tapedeck::inspector
