#include "inspector/ui/math/formula_markup.h"

#include <QXmlStreamReader>

namespace tapedeck::inspector {
namespace {

/// A layout calls itself for each level.
constexpr std::size_t deepest_element = 400;

FormulaElement elementOf(const QXmlStreamReader& reader) {
  FormulaElement element;
  element.name = reader.name().toString();
  for (const QXmlStreamAttribute& attribute : reader.attributes()) {
    const QString value = attribute.value().toString();
    if (attribute.name() == u"class") {
      element.classes = value.split(' ', Qt::SkipEmptyParts);
    } else if (attribute.name() == u"style") {
      for (const QString& rule : value.split(';', Qt::SkipEmptyParts)) {
        const qsizetype colon = rule.indexOf(':');
        if (colon > 0) element.style[rule.left(colon).trimmed()] = rule.mid(colon + 1).trimmed();
      }
    } else {
      element.attributes[attribute.name().toString()] = value;
    }
  }
  return element;
}

}  // namespace

double emLength(const QString& text) {
  return text.endsWith(QLatin1String("em")) ? text.chopped(2).toDouble() : 0;
}

double FormulaElement::length(const char* property) const {
  return emLength(style.value(QLatin1String(property)));
}

std::optional<FormulaElement> readFormulaMarkup(const QString& markup) {
  QXmlStreamReader reader(markup);
  std::vector<FormulaElement> open;
  while (!reader.atEnd()) {
    switch (reader.readNext()) {
      case QXmlStreamReader::StartElement:
        if (open.size() >= deepest_element) return {};
        open.push_back(elementOf(reader));
        break;
      case QXmlStreamReader::Characters:
        if (!open.empty()) {
          FormulaElement text;
          text.text = reader.text().toString();
          open.back().children.push_back(std::move(text));
        }
        break;
      case QXmlStreamReader::EndElement: {
        FormulaElement done = std::move(open.back());
        open.pop_back();
        if (done.is("katex-html")) return done;
        if (!open.empty()) open.back().children.push_back(std::move(done));
        break;
      }
      default:
        break;
    }
  }
  return {};
}

}  // namespace tapedeck::inspector
