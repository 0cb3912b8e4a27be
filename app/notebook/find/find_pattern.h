// A search pattern, and where it matches in a text.
#pragma once

#include <QList>
#include <QRegularExpression>
#include <QString>
#include <atomic>
#include <optional>

#include "app/notebook/view/text_hits.h"

namespace tapedeck::app {

struct FindQuery {
  QString text;
  bool matchCase = false;
  bool wholeWord = false;
  bool regularExpression = false;
  bool outputs = false;  ///< there too
  bool operator==(const FindQuery&) const = default;
};

/// The most hits that are reported for a text.
constexpr int most_hits_of_a_text = 10'000;
/// UTF-16 units of one text that are searched.
constexpr qsizetype most_searched_units = 8'000'000;

class FindPattern {
 public:
  FindPattern() = default;
  explicit FindPattern(const FindQuery& query);

  bool empty() const { return expression_.pattern().isEmpty(); }
  /// Why the pattern is invalid: "missing closing parenthesis, at 5". Empty: it is valid.
  QString error() const { return error_; }

  struct Found {
    QList<TextHit> hits;
    bool more = false;     ///< hits than `hits` holds
    bool tooHard = false;  ///< the search was stopped, because the expression backtracks without end
  };
  /// Takes long for long texts; ends early with `stop`, or after `most` hits. Finds nothing of no length.
  Found in(const QString& text, const std::atomic<bool>& stop, qsizetype most = most_hits_of_a_text) const;
  /// What the hit becomes: for a regular expression with its groups ($1, \1, $0) and \n, \t. None: the text
  /// no longer matches there.
  std::optional<QString> replaced(const QString& text, const TextHit& hit, const QString& by) const;

 private:
  QRegularExpression expression_;
  QString error_;
  bool literal_ = true;
};

}  // namespace tapedeck::app
