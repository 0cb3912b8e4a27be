// Lines that are too long to be laid out during typing: an editor has their beginnings, and one character of
// its own in place of each rest.
#pragma once

#include <QHash>
#include <QList>
#include <QString>
#include <QStringList>
#include <functional>

namespace tapedeck::app {

/// Longer lines are folded.
constexpr qsizetype longest_line = 20'000;
/// A folded line shows this many characters, then one mark for the rest.
constexpr qsizetype shown_of_long_line = 10'000;

/// What one editor has folded. The characters are of a private plane (from U+100000) that no font and no
/// keyboard has; those that a text itself contains are folded, too. A mark always means the same rest, so
/// that undo restores it.
class LongLines {
 public:
  /// `made`: called with each character that is new and what it is to look like.
  explicit LongLines(std::function<void(const QString& character, const QString& name)> made)
      : made_(std::move(made)) {}

  bool empty() const { return rests_.isEmpty(); }
  QString fold(const QString& text);
  QString whole(const QString& folded) const;
  /// Whether the rest of a line is left out of it.
  bool cuts(const QString& folded) const;

  /// Where places of the whole text are in the folded one, in UTF-16 units.
  class Places {
   public:
    Places(const LongLines& lines, const QString& folded);
    /// In a rest: before its character, and for the end of a range behind it. May be beyond the text where
    /// that has the beginning of another alone.
    qsizetype begin(qsizetype whole) const { return place(whole, 0); }
    qsizetype end(qsizetype whole) const { return place(whole, 2); }

   private:
    qsizetype place(qsizetype whole, qsizetype inRest) const;
    struct Cut {
      qsizetype folded, whole, rest;
    };
    QList<Cut> cuts_;
  };

 private:
  QString characterOf(const QString& rest);
  /// Where the next character at or behind `from` is; -1: there is none.
  qsizetype next(const QString& folded, qsizetype from) const;
  const QString& restAt(const QString& folded, qsizetype at) const;

  std::function<void(const QString&, const QString&)> made_;
  QStringList rests_;             ///< by the characters' numbers
  QHash<QString, int> numberOf_;  ///< the other way
};

}  // namespace tapedeck::app
