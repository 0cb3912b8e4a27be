#include "inspector/panels/vjp/vjp_layout.h"

#include <QFontMetricsF>
#include <algorithm>
#include <cmath>
#include <tuple>

#include "inspector/model/format.h"
#include "inspector/model/tensor/notation.h"
#include "inspector/model/torch_words.h"
#include "inspector/panels/vjp/broadcast_text.h"
#include "inspector/panels/vjp/formula_tex.h"
#include "inspector/panels/vjp/sum_lines.h"
#include "inspector/ui/math/katex.h"

namespace tapedeck::inspector {

namespace {

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
  Builder(const VjpModel& model, const CellNames* cells, const QFont& font, double width,
          const SetFormulas& set)
      : model_(model),
        parts_(model.parts()),
        cells_(cells),
        font_(font),
        metrics_(font),
        width_(width),
        finder_(set),
        y_(margin * 0.6) {}

  VjpLayout build() {
    if (!model_.problem().isEmpty()) paragraph(model_.problem(), SheetTone::faint);
    sums();
    if (forward_.kind == protocol::RecordKind::call) {
      call();
    } else if (parts_.forward && (!parts_.sum || parts_.sum->target)) {
      // Of a sum whose gradient is not known the VJP before it may have given no part.
      if (parts_.sum) heading(QStringLiteral("VJP of %1, which gave the last part").arg(text(forward_.op)));
      formula();
      into();
      outOf();
      inside();
    }
    layout_.unset = finder_.takeUnset();
    layout_.height = y_ + margin;
    return std::move(layout_);
  }

 private:
  double line() const { return metrics_.height() + 3; }
  double room() const { return width_ - 2 * margin; }

  void addText(const QString& words, SheetTone tone, double x, double width) {
    layout_.texts.push_back({QRectF(x, y_, width, line()), words, tone});
  }

  void paragraph(const QString& words, SheetTone tone, double x = margin) {
    const double width = width_ - margin - x;
    const QRectF all =
        metrics_.boundingRect(QRectF(0, 0, width, 10000), Qt::TextWordWrap | Qt::AlignLeft, words);
    layout_.texts.push_back({QRectF(x, y_, width, all.height() + 2), words, tone});
    y_ += all.height() + gap;
  }

  void heading(const QString& words) {
    y_ += gap;
    addText(words, SheetTone::heading, margin, room());
    y_ += line();
  }

  void sums() {
    for (const SumLine& line : sumLines(model_)) {
      if (line.tensor)
        tensorRow({}, false, *line.tensor, -1, line.words);
      else if (line.tone == SheetTone::heading)
        heading(line.words);
      else
        paragraph(line.words, line.tone);
    }
  }

  /// Each of `texs` from a line of its own on; all of them as `words` until they are set.
  void addFormulas(const QStringList& texs, const QString& words, double x, double growth) {
    std::vector<SharedFormula> set;
    for (const QString& tex : texs) set.push_back(finder_.find(tex));
    if (std::find(set.begin(), set.end(), nullptr) != set.end()) {
      const double top = y_;
      paragraph(words, SheetTone::plain, x);
      QStringList copied;
      for (const QString& tex : texs) copied << texToCopy(tex);
      layout_.formulas.push_back(
          {QRectF(x, top, width_ - margin - x, y_ - top - gap), words, copied.join('\n'), {}});
      return;
    }
    for (std::size_t i = 0; i < set.size(); ++i) {
      SheetFormula formula{{}, words, texToCopy(texs[static_cast<qsizetype>(i)]), {}};
      const double top = y_;
      formula.lines =
          breakFormula(set[i], font_, growth * formulaEm(font_), {x, y_}, width_ - margin - x, y_);
      double right = x;
      for (const FormulaLine& line : formula.lines)
        right = std::max(right, line.baseline.x() + widthOf(line));
      formula.rect = QRectF(x, top, right - x, y_ - top);
      layout_.formulas.push_back(std::move(formula));
    }
    y_ += 2;
  }

  /// What a tensor is called, in front of its row; returns where the row goes on.
  double label(const std::string& symbol, bool gradient) {
    const QString tex = symbolTex(text(symbol), gradient);
    SheetFormula formula{{}, gradient ? gradientText(symbol) : text(symbol), tex, {}};
    double width = metrics_.horizontalAdvance(formula.text), bottom = 0;
    if (const SharedFormula set = finder_.find(tex)) {
      formula.lines = breakFormula(set, font_, formulaEm(font_), {margin, y_ + 1}, room(), bottom);
      width = 0;
      for (const FormulaLine& line : formula.lines) width = std::max(width, widthOf(line));
    } else {
      addText(formula.text, SheetTone::plain, margin, width + 1);
    }
    formula.rect = QRectF(margin, y_, width, line());
    layout_.formulas.push_back(std::move(formula));
    return margin + std::max(width, 1.6 * metrics_.height()) + 6;
  }

  void call() {
    paragraph(QStringLiteral("This is %1 of a graph function and has no VJP of its own: the ops inside have "
                             "theirs. Move the cursor to one of them.")
                  .arg(isCall(forward_) ? QStringLiteral("a call") : QStringLiteral("a part of a call")),
              SheetTone::plain);
  }

  void formula() {
    const std::string& source = forward_.vjp_formula;
    if (forward_.kind == protocol::RecordKind::custom) {
      paragraph(QStringLiteral("A custom gradient, defined in the program."), SheetTone::plain);
      return;
    }
    if (source == "none" || source.empty()) {
      // Why there is none stands where its results are, once there are some.
      paragraph(parts_.vjp       ? QStringLiteral("There is no formula to show for this VJP.")
                : parts_.problem ? text(*parts_.problem)
                                 : QStringLiteral("This op has no gradient."),
                SheetTone::faint);
      return;
    }
    try {
      QStringList texs;
      for (const auto& statement : protocol::parse_formula(source, parts_.names).statements)
        texs << statementTex(statement);
      addFormulas(texs, text(source), margin, formula_growth);
    } catch (const protocol::FormulaError&) {  // from a session of another make
      paragraph(text(source), SheetTone::plain);
    }
    if (const QString missing = Katex::missing(); !missing.isEmpty()) paragraph(missing, SheetTone::faint);
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
      QString place = gradient                        ? QStringLiteral("cotangent")
                      : symbol.role == VjpRole::input ? QStringLiteral("input %1").arg(symbol.index)
                                                      : QStringLiteral("output %1").arg(symbol.index);
      if (symbol.text) place += QStringLiteral(" · ") + text(*symbol.text);
      const protocol::TensorInfo tensor = symbol.tensor.value_or(protocol::TensorInfo());
      tensorRow(symbol.symbol, gradient, tensor, -1, place);
    }
    if (!parts_.vjp) paragraph(withoutVjp(), SheetTone::faint);
  }

  QString withoutVjp() const {
    const bool taped = !parts_.forward || forward_.tape != 0;
    if (isOfTorch(forward_))
      return taped
                 ? QStringLiteral("No backward() has reached this op yet: there is no cotangent.")
                 : QStringLiteral("Autograd's graph does not have this op, so no backward() will reach it.");
    return taped ? QStringLiteral("No playback has reached this op yet: there is no cotangent.")
                 : QStringLiteral("No tape recorded this op, so no playback will reach it.");
  }

  /// Name, shape, and the figures that distinguish values.
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
    if (value.odd) words << QStringLiteral("%1 NaN or infinite").arg(countText(value.odd));
    return words.join(QStringLiteral(" · "));
  }

  /// `symbol`: absent where the formula has none for it.
  void tensorRow(const std::optional<std::string>& symbol, bool gradient, const protocol::TensorInfo& info,
                 int contribution, const QString& place) {
    const QString name = !symbol ? place : gradient ? gradientText(*symbol) : text(*symbol);
    SheetRow row;
    row.info = info;
    if (info.name.empty() && info.producer == 0) row.info.name = name.toStdString();  // what else to call it?
    row.contribution = contribution;
    const double top = y_;
    const double x = symbol ? label(*symbol, gradient) : margin;
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
    layout_.results = QRectF(margin, y_, room(), 0);
    heading(foreseen ? QStringLiteral("Will come out") : QStringLiteral("Comes out"));
    if (parts_.problem) paragraph(text(*parts_.problem), SheetTone::faint);
    if (model_.hidesResults()) return hiddenResults();
    int place = 0;
    for (const protocol::VjpContribution& contribution : parts_.contributions)
      contributionRows(contribution, place++);
    layout_.results.setBottom(y_);
  }

  /// Which gradients there will be, and no value of them.
  void hiddenResults() {
    for (const protocol::VjpContribution& contribution : parts_.contributions) {
      if (!contribution.contribution) continue;
      const double x = contribution.symbol ? label(*contribution.symbol, true) : margin;
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

  void contributionRows(const protocol::VjpContribution& contribution, int place) {
    const QString where = QStringLiteral("for input %1").arg(contribution.input);
    if (!contribution.contribution) {
      if (!parts_.problem) paragraph(QStringLiteral("%1: not there yet").arg(where), SheetTone::faint);
      return;
    }
    tensorRow(contribution.symbol, true, *contribution.contribution, place, where);
    if (const QString summed = broadcastText(parts_, contribution); !summed.isEmpty())
      paragraph(summed, SheetTone::faint);
    if (model_.element() && model_.element()->contribution == place) terms();
    const auto note = [&](const QString& words) { paragraph(words, SheetTone::faint, margin + 4); };
    if (!contribution.before) {
      note(contribution.after ? QStringLiteral("the first one: the gradient's sum begins with it")
                              : QStringLiteral("not added yet: an earlier sum comes first"));
    } else {
      tensorRow({}, false, *contribution.before, -1, QStringLiteral("sum before"));
      if (contribution.after)
        tensorRow({}, false, *contribution.after, -1, QStringLiteral("sum after"));
      else if (!contribution.foreseen)
        note(QStringLiteral("not added yet"));
    }
    if (contribution.result) note(resultText(*contribution.result, parts_.results));
    y_ += gap;
  }

  void addExpression(const std::string& words, const std::vector<std::string>& names, double x) {
    try {
      addFormulas({expressionTex(protocol::parse_expression(words, names))}, text(words), x, 1);
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
  FormulaFinder finder_;
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

VjpLayout layOutVjp(const VjpModel& model, const CellNames* cells, const QFont& font, double width,
                    const SetFormulas& set) {
  return Builder(model, cells, font, width, set).build();
}

}  // namespace tapedeck::inspector
