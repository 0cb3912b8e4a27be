// HTML of any quality as a sequence of texts and tags, in one pass.
#pragma once

#include <QSet>
#include <QString>
#include <utility>
#include <vector>

namespace tapedeck::app {

struct HtmlTag {
  QString name;  ///< in lower case
  bool closing = false;
  std::vector<std::pair<QString, QString>> attributes;  ///< values as written, with their entities

  QString value(QLatin1String attribute) const;
};

/// What begins like a tag and never ends, or holds another "<", is text: nothing legible is lost. Comments,
/// declarations and processing instructions that end are left out.
class HtmlTokens {
 public:
  enum class Kind { text, tag, end };

  explicit HtmlTokens(QStringView html);

  Kind next();
  QStringView text() const { return text_; }  ///< entities are not resolved, may contain "<"
  const HtmlTag& tag() const { return tag_; }
  /// The next thing but spaces is such a tag.
  bool followedBy(QLatin1String name) const;
  /// Skips to after the next </name>. False where there is none: nothing was skipped.
  bool skipPast(const QString& name);

 private:
  bool skipMarkup(QStringView begin, QStringView end);
  bool readTag();
  bool readAttribute();
  QString readValue(bool& whole);
  Kind literal(qsizetype end);

  QStringView html_;
  qsizetype position_ = 0;
  QStringView text_;
  HtmlTag tag_;
  QSet<QString> missing_;  ///< ends that were looked for and are not there: looked for once
};

/// `text` with its entities resolved as far as addresses and alternative texts need it.
QString decodeEntities(QString text);

}  // namespace tapedeck::app
