#include "app/notebook/output/formula_text.h"

#include <QAbstractTextDocumentLayout>
#include <QFontMetricsF>
#include <QPainter>
#include <QRawFont>
#include <QTextBlock>
#include <QTextDocument>
#include <QTextDocumentFragment>
#include <QTextFrame>
#include <QTextLayout>
#include <QTextTable>
#include <cmath>

namespace tapedeck::app {

using inspector::FormulaSource;
using inspector::MathBox;
using inspector::SharedFormula;

/// A box of a formula in a document.
struct PlacedFormula {
  SharedFormula set;
  MathBox box;                     ///< all of the formula, or a part that is not broken
  bool tag = false;                ///< `box` depends on the line's width
  double em = 0;                   ///< pixels
  double ascent = 0, descent = 0;  ///< of the text around it, in pixels
};

namespace {

constexpr int formula_object = QTextFormat::UserObject + 7;
constexpr int placed_property = QTextFormat::UserProperty + 11;
constexpr int source_property = QTextFormat::UserProperty + 12;
constexpr int number_property = QTextFormat::UserProperty + 13;  ///< of the formula in its document
constexpr int error_property = QTextFormat::UserProperty + 14;

using SharedPlaced = std::shared_ptr<const PlacedFormula>;

SharedPlaced placedOf(const QTextFormat& format) {
  return format.property(placed_property).value<SharedPlaced>();
}

/// With a tag: as wide as the text, if nothing narrower is around it.
MathBox boxFor(const PlacedFormula& placed, const QTextDocument& document, int position) {
  if (!placed.tag) return placed.box;
  const QTextBlock block = document.findBlock(position);
  const QTextCursor cursor(block);
  const double margins =
      2 * document.documentMargin() + block.blockFormat().leftMargin() + block.blockFormat().rightMargin();
  const bool narrow = cursor.currentTable() != nullptr || block.textList() != nullptr ||
                      cursor.currentFrame() != document.rootFrame();
  const double line = narrow ? 0 : (document.textWidth() - margins - 1) / placed.em;
  return placed.set->whole(line);
}

/// In pixels. A line of small letters is as high as one of text.
double ascentOf(const PlacedFormula& placed, const MathBox& box) {
  return std::max(box.ascent * placed.em, placed.ascent);
}
double descentOf(const PlacedFormula& placed, const MathBox& box) {
  return std::max(box.descent * placed.em, placed.descent);
}

/// Qt places an object in the middle between the baseline and the height of an x above it, in the font of the
/// object's format. This font makes it leave as much room above and below the baseline as the box needs.
int fontFor(const PlacedFormula& placed, const QFont& text) {
  const double wanted = 2 * (ascentOf(placed, placed.box) - descentOf(placed, placed.box));
  QFont large = text;
  constexpr int pixels = 100;
  large.setPixelSize(pixels);
  const double height = std::max(1, QFontMetrics(large).xHeight());
  return std::clamp(qRound(wanted / height * pixels), 1, 2000);
}

double halfX(const QTextFormat& format) {
  return QFontMetrics(format.toCharFormat().font()).xHeight() / 2.0;
}

struct FormulaMark {
  int position;
  std::size_t number;
  QTextCharFormat format;
};

std::vector<FormulaMark> marksIn(const QTextDocument& document, std::size_t count) {
  std::vector<FormulaMark> marks;
  for (QTextBlock block = document.begin(); block.isValid(); block = block.next()) {
    for (auto it = block.begin(); !it.atEnd(); ++it) {
      const QTextCharFormat format = it.fragment().charFormat();
      if (!format.isImageFormat()) continue;
      const std::size_t number = formulaOfPicture(format.toImageFormat().name());
      if (number < count) marks.push_back({it.fragment().position(), number, format});
    }
  }
  return marks;
}

QTextCharFormat withoutPicture(QTextCharFormat format) {
  for (const int property : {QTextFormat::ObjectType, QTextFormat::ImageName, QTextFormat::ImageWidth,
                             QTextFormat::ImageHeight, QTextFormat::TextToolTip})
    format.clearProperty(property);
  return format;
}

void replaceMark(QTextDocument& document, int position, const QString& text, const QTextCharFormat& format) {
  QTextCursor cursor(&document);
  cursor.setPosition(position);
  cursor.setPosition(position + 1, QTextCursor::KeepAnchor);
  // Lines of the source stay lines of the paragraph.
  cursor.insertText(QString(text).replace('\n', QChar(QChar::LineSeparator)), format);
}

void placeSource(QTextDocument& document, const FormulaMark& mark, const Formula& formula,
                 const QString& error, const NotebookTheme& theme) {
  QTextCharFormat format = withoutPicture(mark.format);
  format.setFontFamilies({theme.codeFont.family()});
  format.setForeground(error.isEmpty() ? theme.faintText : theme.failure);
  if (!error.isEmpty()) {
    format.setUnderlineStyle(QTextCharFormat::WaveUnderline);
    format.setUnderlineColor(theme.failure);
    format.setToolTip("This formula can't be rendered: " + error);
    format.setProperty(error_property, error);
  }
  replaceMark(document, mark.position, formula.source.trimmed(), format);
}

void placeBoxes(QTextDocument& document, const FormulaMark& mark, const Formula& formula,
                const SharedFormula& set) {
  QTextCharFormat format = withoutPicture(mark.format);
  const double em = inspector::formula_scale * QRawFont::fromFont(format.font()).pixelSize();
  const QFontMetricsF text(format.font());
  const auto part = [&](const MathBox& box, bool tag) {
    return PlacedFormula{set, box, tag, em, text.ascent(), text.descent()};
  };
  format.setObjectType(formula_object);
  format.setVerticalAlignment(QTextCharFormat::AlignMiddle);
  format.setProperty(source_property, formula.source.trimmed());
  format.setProperty(number_property, static_cast<qulonglong>(mark.number));
  if (!format.isAnchor()) format.setToolTip(formula.tex.trimmed());
  for (const int property : {QTextFormat::FontPointSize, QTextFormat::FontSizeAdjustment})
    format.clearProperty(property);
  std::vector<PlacedFormula> parts;
  if (formula.display || set->lines.size() != 1 || set->hasTag()) {
    parts.push_back(part(set->whole(0), set->hasTag()));
  } else {
    for (const MathBox& box : set->lines.front()) parts.push_back(part(box, false));
    // What shows nothing, as definitions do, is there for who copies it.
    if (parts.empty()) parts.push_back(part({}, false));
  }
  QTextCursor cursor(&document);
  cursor.setPosition(mark.position);
  cursor.setPosition(mark.position + 1, QTextCursor::KeepAnchor);
  for (PlacedFormula& one : parts) {
    QTextCharFormat own = format;
    own.setProperty(QTextFormat::FontPixelSize, fontFor(one, format.font()));
    own.setProperty(placed_property,
                    QVariant::fromValue<SharedPlaced>(std::make_shared<const PlacedFormula>(std::move(one))));
    cursor.insertText(QString(QChar::ObjectReplacementCharacter), own);
  }
  if (!formula.display) return;
  // It has the room that it needs.
  QTextBlockFormat block = cursor.blockFormat();
  block.setLineHeight(0, QTextBlockFormat::SingleHeight);
  cursor.setBlockFormat(block);
}

}  // namespace

std::vector<FormulaSource> placeFormulas(QTextDocument& document, const std::vector<Formula>& formulas,
                                         const std::vector<FormulaSource>& sources,
                                         const inspector::SetFormulas& set, const NotebookTheme& theme) {
  std::vector<FormulaSource> unset;
  const std::vector<FormulaMark> marks = marksIn(document, formulas.size());
  if (marks.empty()) return unset;
  document.documentLayout()->registerHandler(formula_object, new FormulaObject(&document));
  QTextCursor all(&document);
  all.beginEditBlock();
  // From the end: what is inserted moves what follows.
  for (auto mark = marks.rbegin(); mark != marks.rend(); ++mark) {
    const Formula& formula = formulas[mark->number];
    const FormulaSource& source = sources[mark->number];
    SharedFormula known = set.value(source);
    if (known == nullptr) known = inspector::FormulaSetter::known(source);
    if (known == nullptr) unset.insert(unset.begin(), source);
    if (known == nullptr || !known->error.isEmpty())
      placeSource(document, *mark, formula, known == nullptr ? QString() : known->error, theme);
    else
      placeBoxes(document, *mark, formula, known);
  }
  all.endEditBlock();
  return unset;
}

QString plainTextOf(const QTextCursor& selection, bool forReaders) {
  QString text = selection.selection().toPlainText();
  if (!selection.hasSelection()) return text;
  // Objects come in the same order in both; the first of a formula's parts represents all.
  QString out;
  qsizetype at = 0;
  QVariant last;
  const QTextDocument* document = selection.document();
  for (QTextBlock block = document->findBlock(selection.selectionStart());
       block.isValid() && block.position() < selection.selectionEnd(); block = block.next()) {
    for (auto it = block.begin(); !it.atEnd(); ++it) {
      const QTextFragment fragment = it.fragment();
      const QTextCharFormat format = fragment.charFormat();
      const int from = std::max(fragment.position(), selection.selectionStart());
      const int to = std::min(fragment.position() + fragment.length(), selection.selectionEnd());
      if (from >= to) continue;
      if (forReaders && format.hasProperty(error_property)) {
        const QString source = fragment.text().replace(QChar(QChar::LineSeparator), '\n');
        const qsizetype found = text.indexOf(source, at);
        if (found >= 0) {
          out += QStringView(text).mid(at, found + source.size() - at);
          out += " (this formula can't be rendered: " + format.stringProperty(error_property) + ")";
          at = found + source.size();
        }
      }
      if (format.objectType() == QTextFormat::NoObject) continue;
      for (int i = from; i < to; ++i) {
        const qsizetype object = text.indexOf(QChar(QChar::ObjectReplacementCharacter), at);
        if (object < 0) break;
        out += QStringView(text).mid(at, object - at);
        at = object + 1;
        if (format.objectType() != formula_object) {
          const QString description = forReaders ? format.toolTip() : QString();
          out += description.isEmpty() ? QString(QChar(QChar::ObjectReplacementCharacter))
                                       : "[picture: " + description + "]";
        } else if (last != format.property(number_property)) {
          out += format.stringProperty(source_property);
          last = format.property(number_property);
        }
      }
    }
  }
  out += QStringView(text).mid(at);
  return out;
}

// ---- painting ----

FormulaObject::FormulaObject(QTextDocument* document) : QObject(document) {}

QSizeF FormulaObject::intrinsicSize(QTextDocument* document, int position, const QTextFormat& format) {
  const SharedPlaced placed = placedOf(format);
  if (placed == nullptr) return {};
  const MathBox box = boxFor(*placed, *document, position);
  const double middle = halfX(format);
  const double ascent = ascentOf(*placed, box), descent = descentOf(*placed, box);
  return {std::max(0.0, box.width * placed->em), std::max(2 * ascent - middle, 2 * descent + middle)};
}

void FormulaObject::drawObject(QPainter* painter, const QRectF& rect, QTextDocument* document, int position,
                               const QTextFormat& format) {
  const SharedPlaced placed = placedOf(format);
  const QTextBlock block = document->findBlock(position);
  if (placed == nullptr || !block.isValid()) return;
  // The object is in the middle of its line, which knows its baseline.
  const QTextLine line = block.layout()->lineForTextPosition(position - block.position());
  const double baseline =
      line.isValid() ? rect.center().y() + (line.ascent() - line.descent()) / 2 : rect.bottom();
  boxFor(*placed, *document, position)
      .paint(*painter, {rect.left(), std::round(baseline)}, placed->em, painter->pen().color());
}

}  // namespace tapedeck::app
