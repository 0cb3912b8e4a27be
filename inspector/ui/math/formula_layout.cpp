#include "inspector/ui/math/formula_layout.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "inspector/ui/math/formula_style.h"
#include "inspector/ui/math/outline_path.h"

namespace tapedeck::inspector {
namespace {

/// No readable formula has more elements than that.
constexpr int most_elements = 200'000;
constexpr double farthest_length = 10'000;  // em

double bounded(double length) {
  return std::isfinite(length) ? std::clamp(length, -farthest_length, farthest_length) : 0;
}

/// Adds what elements show to a list of ink, in the coordinates of the box that they are in.
class FormulaPlacer {
 public:
  bool tooLarge() const { return elements_ > most_elements; }
  std::vector<FormulaInk> takeInk() { return std::exchange(ink_, {}); }

  /// Places the element with its left end at `at`, on its baseline; `fill`: the width of what it is in.
  /// Returns its own width with its margins.
  double place(const FormulaElement& element, const FormulaElement* parent, const FormulaStyle& inherited,
               QPointF at, double fill) {
    if (++elements_ > most_elements) return 0;
    if (element.name.isEmpty()) return letters(element.text, inherited, at);
    if (element.name == QLatin1String("svg")) {
      // It takes no room of its own.
      drawing(element, inherited, QRectF(at, QSizeF(fill, 0)));
      return 0;
    }
    const FormulaStyle style = styleOf(element, parent, inherited);
    const FormulaMargins margins = marginsOf(element, parent);
    const double em = style.size;
    const double left = em * (margins.left + margins.leftPadding);
    const double right = em * (margins.right + margins.rightPadding);
    QPointF inside(at.x() + left, at.y());
    // In a list `top` is the list's matter, which places the elements below.
    inside += em * QPointF(element.length("left"), element.length("top"));
    if (element.has("bottom") && element.is("rule")) inside.ry() -= em * element.length("bottom");
    return bounded(left + content(element, style, inside, fill - left - right) + right);
  }

 private:
  double children(const FormulaElement& element, const FormulaStyle& style, QPointF at, double fill) {
    double width = 0;
    for (const FormulaElement& child : element.children)
      width += place(child, &element, style, at + QPointF(width, 0), fill);
    return width;
  }

  double content(const FormulaElement& element, const FormulaStyle& style, QPointF at, double fill) {
    const double em = style.size;
    for (const char* name : {"strut", "pstrut", "vlist-s", "newline", "eqn-num"})
      if (element.is(name)) return 0;
    if (element.is("nulldelimiter")) return 0.12 * em;
    if (element.is("vlist-t")) return list(element, style, at);
    if (element.is("rule")) return rule(element, style, at);
    if (element.is("vertical-separator")) return separator(element, style, at);
    for (const char* name : {"frac-line", "overline-line", "underline-line", "hline", "hdashline"})
      if (element.is(name)) return line(element, style, at, fill);
    for (const char* name : {"hide-tail", "stretchy"})
      if (element.is(name)) return stretched(element, style, at, fill);
    for (const char* name : {"llap", "rlap", "clap"})
      if (element.is(name)) return overlap(element, style, at);
    if (element.is("cd-vert-arrow")) return arrowWithLabels(element, style, at, fill);
    if (element.is("accent-body") && !element.is("accent-full")) {
      children(element, style, at, fill);
      return 0;
    }
    if (hasDrawing(element)) return withDrawing(element, style, at, fill);
    const double width = children(element, style, at, fill);
    return element.has("width") ? element.length("width") * em : width;
  }

  // ---- letters ----

  double letters(const QString& text, const FormulaStyle& style, QPointF at) {
    // Elements without width in a formula: they are there for browsers.
    QString shown = text;
    shown.remove(QChar(0x200b)).remove(QChar(0x2060));
    if (shown.isEmpty()) return 0;
    constexpr double units = 1000;  // of KaTeX's fonts to their em
    const int face = formulaFace(style.family, style.bold, style.italic);
    const QRawFont font = formulaFont(face, units);
    FormulaGlyphs run{at, {}, face, style.size, {}, {}, style.color, style.shadow};
    double width = 0;
    const auto finish = [&] {
      if (!run.text.isEmpty() && !style.hidden) ink_.push_back(run);
      run = {at + QPointF(width, 0), {}, face, style.size, {}, {}, style.color, style.shadow};
    };
    for (qsizetype i = 0; i < shown.size();) {
      const qsizetype length = shown[i].isHighSurrogate() && i + 1 < shown.size() ? 2 : 1;
      const QString letter = shown.mid(i, length);
      i += length;
      // A space that may not be broken at is as wide as one.
      const QString drawn = letter == QChar(0xa0) ? QStringLiteral(" ") : letter;
      const QList<quint32> glyphs = font.glyphIndexesForString(drawn);
      const bool known = !glyphs.isEmpty() && glyphs[0] != 0;
      if (known != (run.face >= 0)) finish();
      run.face = known ? face : -1;
      run.text += letter;
      run.offsets.push_back(width - (run.at.x() - at.x()));
      if (known) {
        run.indexes.push_back(glyphs[0]);
        const QList<QPointF> advances = font.advancesForGlyphIndexes({glyphs[0]});
        width += style.size * (advances.isEmpty() ? 0 : advances[0].x() / units);
      } else {
        width += style.size * foreignWidth(letter);
      }
    }
    finish();
    return width;
  }

  /// Of letters that other fonts have: as wide as KaTeX takes them to be, a full em in the East Asian
  /// scripts.
  static double foreignWidth(const QString& letter) {
    const char32_t code = letter.toUcs4().value(0);
    const bool wide = (code >= 0x1100 && code < 0x1200) || (code >= 0x2e80 && code < 0xd7b0) ||
                      (code >= 0xf900 && code < 0xfb00) || (code >= 0xff00 && code < 0xff61) ||
                      code >= 0x1f000;
    const bool mark = letter.at(0).isMark();
    return mark ? 0 : wide ? 1 : 0.6;
  }

  // ---- rules ----

  void addRule(const QRectF& rect, const FormulaStyle& style, bool dashed = false, QColor color = {}) {
    if (!style.hidden) ink_.push_back(FormulaRule{rect, color.isValid() ? color : style.color, dashed});
  }

  double rule(const FormulaElement& element, const FormulaStyle& style, QPointF at) {
    const double width = bounded(style.size * element.length("border-right-width"));
    const double height = bounded(style.size * element.length("border-top-width"));
    if (width > 0 && height > 0) addRule({at.x(), at.y() - height, width, height}, style);
    return width;
  }

  double separator(const FormulaElement& element, const FormulaStyle& style, QPointF at) {
    const double em = style.size;
    const double width = em * element.length("border-right-width"), height = em * element.length("height");
    const double bottom = at.y() - em * element.length("vertical-align");
    const bool dashed = element.style.value(QStringLiteral("border-right-style")) == QLatin1String("dashed");
    addRule({at.x(), bottom - height, width, height}, style, dashed);
    return width;
  }

  double line(const FormulaElement& element, const FormulaStyle& style, QPointF at, double fill) {
    const double thickness = style.size * element.length("border-bottom-width");
    addRule({at.x(), at.y() - thickness, fill, thickness}, style, element.is("hdashline"));
    return fill;
  }

  void frame(const QRectF& outside, double left, double top, double right, double bottom,
             const FormulaStyle& style, const QColor& color) {
    if (top > 0) addRule({outside.left(), outside.top(), outside.width(), top}, style, false, color);
    if (bottom > 0)
      addRule({outside.left(), outside.bottom() - bottom, outside.width(), bottom}, style, false, color);
    if (left > 0) addRule({outside.left(), outside.top(), left, outside.height()}, style, false, color);
    if (right > 0)
      addRule({outside.right() - right, outside.top(), right, outside.height()}, style, false, color);
  }

  // ---- what is as wide as what it is in ----

  double stretched(const FormulaElement& element, const FormulaStyle& style, QPointF at, double fill) {
    const double em = style.size;
    const double width = std::max(fill, em * element.length("min-width"));
    const double height = em * element.length("height");
    const QRectF box(at.x(), at.y() - height, width, height);
    const QString background = element.style.value(QStringLiteral("background-color"));
    if (!background.isEmpty() && background != QLatin1String("transparent"))
      addRule(box, style, false, QColor(background));
    const double border = element.is("fbox") || element.is("fcolorbox")
                              ? em * (element.has("border-width") ? element.length("border-width") : 0.04)
                              : 0;
    frame(box, border, border, border, border, style,
          QColor(element.style.value(QStringLiteral("border-color"))));
    if (element.is("angl"))
      frame(box, 0, em * element.length("border-top-width"), em * element.length("border-right-width"), 0,
            style, {});
    if (element.is("sout")) addRule({at.x(), at.y() - 0.08 * em, width, 0.08 * em}, style);
    for (const FormulaElement& child : element.children) {
      QRectF part = box;
      if (child.is("brace-left") || child.is("halfarrow-left")) part.setWidth(share(child) * width);
      if (child.is("brace-right") || child.is("halfarrow-right"))
        part.setLeft(box.right() - share(child) * width);
      if (child.is("brace-center")) {
        part.setLeft(box.left() + 0.25 * width);
        part.setWidth(0.5 * width);
      }
      if (child.name == QLatin1String("svg")) drawing(child, style, part);
      for (const FormulaElement& inner : child.children)
        if (inner.name == QLatin1String("svg")) drawing(inner, style, part);
    }
    return width;
  }

  /// Of the width, with a little that overlaps.
  static double share(const FormulaElement& part) {
    return part.classes.join(' ').contains("brace") ? 0.251 : 0.502;
  }

  static bool hasDrawing(const FormulaElement& element) {
    return std::any_of(element.children.begin(), element.children.end(),
                       [](const FormulaElement& child) { return child.name == QLatin1String("svg"); });
  }

  double withDrawing(const FormulaElement& element, const FormulaStyle& style, QPointF at, double fill) {
    const double em = style.size;
    const double height = em * element.length("height");
    const double own = em * element.length("width");
    for (const FormulaElement& child : element.children) {
      if (child.name != QLatin1String("svg")) continue;
      const double width = child.has("width") ? em * child.length("width") : std::max(own, fill);
      drawing(child, style, {at.x(), at.y() - height, width, height});
    }
    return own;
  }

  /// One of KaTeX's drawings in its place. It keeps its proportions, from the left, the middle or the right.
  void drawing(const FormulaElement& svg, const FormulaStyle& style, const QRectF& place) {
    if (style.hidden || place.width() <= 0 || place.height() <= 0) return;
    const QStringList view = svg.attributes.value(QStringLiteral("viewBox")).split(' ');
    const QString fit = svg.attributes.value(QStringLiteral("preserveAspectRatio"));
    for (const FormulaElement& part : svg.children) {
      if (part.name == QLatin1String("line")) {
        ink_.push_back(FormulaOutline{stroke(part, style, place), place, style.color});
      } else if (part.name == QLatin1String("path") && view.size() == 4) {
        const double width = view[2].toDouble(), height = view[3].toDouble();
        if (width <= 0 || height <= 0) continue;
        const double across = place.width() / width, down = place.height() / height;
        const double scale = fit.endsWith(QLatin1String("slice")) ? std::max(across, down)
                             : fit == QLatin1String("none")       ? down
                                                                  : std::min(across, down);
        const double room = place.width() - width * scale;
        const double shift = fit.startsWith(QLatin1String("xMax"))   ? room
                             : fit.startsWith(QLatin1String("xMid")) ? room / 2
                             : fit.isEmpty()                         ? room / 2
                                                                     : 0;
        QTransform transform;
        transform.translate(shift, 0);
        transform.scale(fit == QLatin1String("none") ? across : scale, scale);
        const QPainterPath whole = outlinePath(part.attributes.value(QStringLiteral("d")));
        ink_.push_back(FormulaOutline{cut(transform.map(whole), place), place, style.color});
      }
    }
  }

  /// What of a drawing is in its place. Its parts overlap, and Qt would paint the edges of what is there
  /// twice with twice the weight: they become one.
  static QPainterPath cut(const QPainterPath& drawing, const QRectF& place) {
    constexpr double units = 1000;  // to the em, as KaTeX draws: lengths that Qt's comparisons are made for
    QPainterPath path = QTransform::fromScale(units, units).map(drawing);
    path.setFillRule(Qt::WindingFill);
    QPainterPath frame;
    frame.addRect(0, 0, place.width() * units, place.height() * units);
    path = QTransform::fromScale(1 / units, 1 / units).map(path.intersected(frame).simplified());
    path.translate(place.topLeft());
    return path;
  }

  static QPainterPath stroke(const FormulaElement& line, const FormulaStyle& style, const QRectF& place) {
    const auto along = [&](const char* name, double length) {
      const QString value = line.attributes.value(QLatin1String(name));
      return value.endsWith('%') ? value.chopped(1).toDouble() / 100 * length : value.toDouble();
    };
    const QPointF from = place.topLeft() + QPointF(along("x1", place.width()), along("y1", place.height()));
    const QPointF to = place.topLeft() + QPointF(along("x2", place.width()), along("y2", place.height()));
    QPainterPath path;
    path.moveTo(from);
    path.lineTo(to);
    QPainterPathStroker pen;
    pen.setCapStyle(Qt::FlatCap);
    pen.setWidth(style.size * emLength(line.attributes.value(QStringLiteral("stroke-width"))));
    return pen.createStroke(path);
  }

  // ---- boxes in boxes ----

  double overlap(const FormulaElement& element, const FormulaStyle& style, QPointF at) {
    for (const FormulaElement& child : element.children) {
      if (!child.is("inner")) continue;
      const std::size_t first = ink_.size();
      const double width = place(child, &element, style, at, 0);
      if (element.is("llap")) shift(first, -width);
      if (element.is("clap")) shift(first, -width / 2);
    }
    return 0;
  }

  /// An arrow of a commutative diagram that goes up or down: its labels are beside its middle.
  double arrowWithLabels(const FormulaElement& element, const FormulaStyle& style, QPointF at, double fill) {
    double width = 0;
    const auto isLabel = [](const FormulaElement& child) {
      return child.is("cd-label-left") || child.is("cd-label-right");
    };
    for (const FormulaElement& child : element.children)
      if (!isLabel(child)) width += place(child, &element, style, at + QPointF(width, 0), fill);
    for (const FormulaElement& child : element.children) {
      if (!isLabel(child)) continue;
      const double em = styleOf(child, &element, style).size;
      // A line of text, whose bottom edge is that far above the arrow's.
      constexpr double line_descent = 0.357, arrow_depth = 0.65, gap = 0.3;
      const double baseline =
          at.y() + arrow_depth * style.size - em * (child.length("bottom") + line_descent);
      const std::size_t first = ink_.size();
      const double own = place(child, &element, style, {at.x() + width / 2, baseline}, 0);
      shift(first, child.is("cd-label-left") ? -own - gap * em : gap * em);
    }
    return width;
  }

  void shift(std::size_t first, double x) {
    if (x == 0) return;
    for (std::size_t i = first; i < ink_.size(); ++i) moveInk(ink_[i], {x, 0});
  }

  /// Elements above one another. Each has a strut, and is moved so that its baseline is `top` and the strut's
  /// height below the list's own.
  double list(const FormulaElement& element, const FormulaStyle& style, QPointF at) {
    const FormulaElement* rows = nullptr;
    const FormulaElement* row = nullptr;
    for (const FormulaElement& child : element.children) {
      if (child.is("vlist-r") && row == nullptr) row = &child;
    }
    for (const FormulaElement& child : row != nullptr ? row->children : element.children) {
      if (child.is("vlist") && rows == nullptr) rows = &child;
    }
    if (rows == nullptr) return 0;
    struct Item {
      const FormulaElement* element;
      FormulaStyle style;
      FormulaMargins margins;
      double baseline;
      double width;
      bool fills;
      std::size_t first;  ///< of its ink, or where that belongs
      std::size_t last;
    };
    std::vector<Item> items;
    double width = 0;
    for (const FormulaElement& child : rows->children) {
      if (child.children.empty()) continue;
      Item item{&child, styleOf(child, rows, style), marginsOf(child, rows), 0, 0, fillsWidth(child), 0, 0};
      const double em = item.style.size;
      item.baseline = em * child.length("top");
      for (const FormulaElement& strut : child.children)
        if (strut.is("pstrut")) item.baseline += em * strut.length("height");
      item.baseline = bounded(item.baseline);
      item.first = ink_.size();
      item.width = placeItem(child, item.style, item.margins, at + QPointF(0, item.baseline), 0);
      // What fills the width is placed once that is known.
      if (item.fills) ink_.resize(item.first);
      item.last = ink_.size();
      width = std::max(width, item.width);
      items.push_back(item);
    }
    std::size_t inserted = 0;
    for (Item& item : items) {
      item.first += inserted;
      item.last += inserted;
      if (item.fills) {
        const std::size_t end = ink_.size();
        item.width =
            placeItem(*item.element, item.style, item.margins, at + QPointF(0, item.baseline), width);
        const auto begin = ink_.begin();
        std::rotate(begin + static_cast<std::ptrdiff_t>(item.first), begin + static_cast<std::ptrdiff_t>(end),
                    ink_.end());
        item.last = item.first + (ink_.size() - end);
        inserted += ink_.size() - end;
      }
      const double room = width - item.width;
      const double left = item.style.align == FormulaStyle::Align::center  ? room / 2
                          : item.style.align == FormulaStyle::Align::right ? room
                                                                           : 0;
      if (left != 0)
        for (std::size_t i = item.first; i < item.last; ++i) moveInk(ink_[i], {left, 0});
    }
    return width;
  }

  double placeItem(const FormulaElement& element, const FormulaStyle& style, const FormulaMargins& margins,
                   QPointF at, double fill) {
    const double left = style.size * margins.left, right = style.size * margins.right;
    const double room = std::max(0.0, fill - left - right);
    return bounded(left + children(element, style, at + QPointF(left, 0), room) + right);
  }

  std::vector<FormulaInk> ink_;
  int elements_ = 0;
};

const FormulaElement* strutOf(const FormulaElement& element) {
  for (const FormulaElement& child : element.children)
    if (child.is("strut")) return &child;
  return nullptr;
}

MathBox boxOf(const FormulaElement& element, const FormulaElement& root, const FormulaStyle& style,
              FormulaPlacer& placer) {
  MathBox box;
  box.width = placer.place(element, &root, style, {0, 0}, 0);
  box.ink = placer.takeInk();
  if (const FormulaElement* strut = strutOf(element)) {
    box.descent = bounded(-strut->length("vertical-align"));
    box.ascent = bounded(strut->length("height")) - box.descent;
  }
  return box;
}

}  // namespace

SetFormula layOutFormula(const QString& markup, bool display) {
  const auto root = readFormulaMarkup(markup);
  if (!root) return {{}, {}, QStringLiteral("The formula is nested too deeply to be shown.")};
  FormulaStyle style;
  if (display) style.align = FormulaStyle::Align::center;
  FormulaPlacer placer;
  SetFormula set;
  set.lines.emplace_back();
  for (const FormulaElement& child : root->children) {
    if (child.is("newline")) {
      set.lines.emplace_back();
    } else if (child.is("tag")) {
      set.tag = boxOf(child, *root, style, placer);
    } else {
      set.lines.back().push_back(boxOf(child, *root, style, placer));
    }
  }
  if (placer.tooLarge()) return {{}, {}, QStringLiteral("The formula is too large to be shown.")};
  return set;
}

}  // namespace tapedeck::inspector
