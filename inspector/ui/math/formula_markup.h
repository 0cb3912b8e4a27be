// KaTeX's markup as a tree: elements with their classes and lengths, without the parts that only a browser
// needs.
#pragma once

#include <QHash>
#include <QString>
#include <QStringList>
#include <optional>
#include <vector>

namespace tapedeck::inspector {

struct FormulaElement {
  QString name;  ///< "span", "svg", "path", "line"; empty: text
  QString text;
  QStringList classes;
  QHash<QString, QString> attributes;
  QHash<QString, QString> style;
  std::vector<FormulaElement> children;

  bool is(const char* name_of_class) const { return classes.contains(QLatin1String(name_of_class)); }
  /// A length of its style in em; 0 where it has none.
  double length(const char* property) const;
  bool has(const char* property) const { return style.contains(QLatin1String(property)); }
};

/// The element of class "katex-html" in what katex.renderToString returned; nothing: the markup is damaged,
/// or nested too deeply to be laid out.
std::optional<FormulaElement> readFormulaMarkup(const QString& markup);

/// "1.5em" as 1.5; 0 of anything else.
double emLength(const QString& text);

}  // namespace tapedeck::inspector
