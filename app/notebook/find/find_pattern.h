// What is searched for in texts, and where it occurs in one.
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

/// Of these and more a text is known to have, the rest is left out.
constexpr int most_hits_of_a_text = 10'000;
/// UTF-16 units of one text that are searched.
constexpr qsizetype most_searched_units = 8'000'000;

class FindPattern {
 public:
  FindPattern() = default;
  explicit FindPattern(const FindQuery& query);

  bool empty() const { return expression_.pattern().isEmpty(); }
  /// Why there is nothing to be searched for: "missing closing parenthesis, at 5". Empty: it is well formed.
  QString error() const { return error_; }

  struct Found {
    QList<TextHit> hits;
    bool more = false;     ///< hits than `hits` holds
    bool tooHard = false;  ///< an expression that backtracks without end was given up
  };
  /// Takes long for long texts; ends early with `stop`, or after `most` hits. Finds nothing of no length.
  Found in(const QString& text, const std::atomic<bool>& stop, qsizetype most = most_hits_of_a_text) const;
  /// What the hit becomes: for a regular expression with its groups ($1, \1, $0) and \n, \t. None: the text
  /// has no such hit there any more.
  std::optional<QString> replaced(const QString& text, const TextHit& hit, const QString& by) const;

 private:
  QRegularExpression expression_;
  QString error_;
  bool literal_ = true;
};

}  // namespace tapedeck::app
