#include "inspector/ui/math/formula_style.h"

#include <array>
#include <cmath>
#include <optional>

namespace tapedeck::inspector {
namespace {

struct FontRule {
  const char* name;
  std::optional<FormulaFamily> family;
  std::optional<bool> bold, italic;
};

/// In the style sheet's order: of two that say something about the same the later one counts.
constexpr FontRule font_rules[] = {
    {"textbf", {}, true, {}},
    {"textit", {}, {}, true},
    {"textrm", FormulaFamily::main, {}, {}},
    {"textsf", FormulaFamily::sansSerif, {}, {}},
    {"texttt", FormulaFamily::typewriter, {}, {}},
    {"mathnormal", FormulaFamily::math, {}, true},
    {"mathit", FormulaFamily::main, {}, true},
    {"mathrm", {}, {}, false},
    {"mathbf", FormulaFamily::main, true, {}},
    {"boldsymbol", FormulaFamily::math, true, true},
    {"amsrm", FormulaFamily::ams, {}, {}},
    {"mathbb", FormulaFamily::ams, {}, {}},
    {"textbb", FormulaFamily::ams, {}, {}},
    {"mathcal", FormulaFamily::caligraphic, {}, {}},
    {"mathfrak", FormulaFamily::fraktur, {}, {}},
    {"textfrak", FormulaFamily::fraktur, {}, {}},
    {"mathtt", FormulaFamily::typewriter, {}, {}},
    {"mathscr", FormulaFamily::script, {}, {}},
    {"textscr", FormulaFamily::script, {}, {}},
    {"mathsf", FormulaFamily::sansSerif, {}, {}},
    {"mathboldsf", FormulaFamily::sansSerif, true, {}},
    {"textboldsf", FormulaFamily::sansSerif, true, {}},
    {"mathitsf", FormulaFamily::sansSerif, {}, true},
    {"textitsf", FormulaFamily::sansSerif, {}, true},
    {"mainrm", FormulaFamily::main, {}, false},
};

/// TeX's sizes from \tiny to \Huge, as parts of \normalsize.
constexpr std::array letter_sizes = {0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2, 1.44, 1.728, 2.074, 2.488};

/// The number behind such a class's name, from 1; 0: the element has none.
std::size_t numberOf(const FormulaElement& element, QLatin1String prefix) {
  for (const QString& name : element.classes) {
    if (!name.startsWith(prefix)) continue;
    bool number = false;
    const auto value = name.mid(prefix.size()).toUInt(&number);
    if (number && value >= 1 && value <= letter_sizes.size()) return value;
  }
  return 0;
}

void setSize(const FormulaElement& element, FormulaStyle& style) {
  if (!element.is("sizing") && !element.is("fontsize-ensurer")) return;
  const std::size_t from = numberOf(element, QLatin1String("reset-size"));
  const std::size_t to = numberOf(element, QLatin1String("size"));
  if (from > 0 && to > 0) style.size *= letter_sizes[to - 1] / letter_sizes[from - 1];
}

void setFont(const FormulaElement& element, const FormulaElement* parent, FormulaStyle& style) {
  for (const FontRule& rule : font_rules) {
    if (!element.is(rule.name)) continue;
    if (rule.family) style.family = *rule.family;
    if (rule.bold) style.bold = *rule.bold;
    if (rule.italic) style.italic = *rule.italic;
  }
  static constexpr FormulaFamily sizes[] = {FormulaFamily::size1, FormulaFamily::size2, FormulaFamily::size3,
                                            FormulaFamily::size4};
  if (element.is("delimsizing")) {
    const std::size_t size = numberOf(element, QLatin1String("size"));
    if (size >= 1 && size <= std::size(sizes)) style.family = sizes[size - 1];
  }
  if (parent != nullptr && parent->is("delim-size1")) style.family = FormulaFamily::size1;
  if (parent != nullptr && parent->is("delim-size4")) style.family = FormulaFamily::size4;
  if (element.is("op-symbol") && element.is("small-op")) style.family = FormulaFamily::size1;
  if (element.is("op-symbol") && element.is("large-op")) style.family = FormulaFamily::size2;
}

void setAlignment(const FormulaElement& element, FormulaStyle& style) {
  using Align = FormulaStyle::Align;
  for (const char* name : {"msupsub", "svg-align", "col-align-l", "cd-label-left"})
    if (element.is(name)) style.align = Align::left;
  for (const char* name : {"mfrac", "op-limits", "accent", "col-align-c", "x-arrow", "mover", "munder"})
    if (element.is(name)) style.align = Align::center;
  for (const char* name : {"col-align-r", "cd-label-right"})
    if (element.is(name)) style.align = Align::right;
}

}  // namespace

FormulaStyle styleOf(const FormulaElement& element, const FormulaElement* parent, FormulaStyle style) {
  setSize(element, style);
  setFont(element, parent, style);
  setAlignment(element, style);
  const auto color = element.style.constFind(QStringLiteral("color"));
  if (color != element.style.constEnd()) {
    style.hidden = *color == QLatin1String("transparent");
    if (!style.hidden) style.color = QColor(*color);
  }
  const auto shadow = element.style.constFind(QStringLiteral("text-shadow"));
  if (shadow != element.style.constEnd())
    style.shadow =
        style.size * QPointF(emLength(shadow->section(' ', 0, 0)), emLength(shadow->section(' ', 1, 1)));
  return style;
}

FormulaMargins marginsOf(const FormulaElement& element, const FormulaElement* parent) {
  FormulaMargins margins;
  const auto pad = [&](const char* name, double left, double right) {
    if (!element.is(name)) return;
    margins.leftPadding = left;
    margins.rightPadding = right;
  };
  pad("x-arrow-pad", 0.5, 0.5);
  pad("cd-arrow-pad", 0.27778, 0.55556);
  pad("boxpad", 0.3, 0.3);
  pad("cancel-pad", 0.2, 0.2);
  pad("anglpad", 0.03889, 0.03889);
  if (element.is("cancel-lap")) margins.left = margins.right = -0.2;
  if (element.is("angl")) margins.right = 0.03889;
  if (element.is("root") && parent != nullptr && parent->is("sqrt")) {
    margins.left = 0.27777778;
    margins.right = -0.55555556;
  }
  // "0 -0.02em": nothing above and below.
  if (element.has("margin")) {
    const QString both = element.style.value(QStringLiteral("margin")).section(' ', 1, 1);
    margins.left = margins.right = emLength(both);
  }
  if (element.has("margin-left")) margins.left = element.length("margin-left");
  if (element.has("margin-right")) margins.right = element.length("margin-right");
  if (element.has("padding-left")) margins.leftPadding = element.length("padding-left");
  return margins;
}

bool fillsWidth(const FormulaElement& element) {
  for (const char* name : {"frac-line", "overline-line", "underline-line", "hline", "hdashline", "hide-tail",
                           "stretchy", "vlist-t"}) {
    // A list is as wide as what is in it, however much room there is.
    if (element.is(name)) return !element.is("vlist-t");
  }
  if (element.name == QLatin1String("svg")) return !element.has("width");
  for (const FormulaElement& child : element.children)
    if (fillsWidth(child)) return true;
  return false;
}

}  // namespace tapedeck::inspector
