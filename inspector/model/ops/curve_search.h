// A question about a curve, asked of every curve of that name: each cell that uses a name draws one of its
// own.
#pragma once

#include <map>
#include <optional>

#include "inspector/model/ops/past_question.h"

namespace tapedeck::inspector {

struct CurvePoint {
  const SeriesData* curve;
  std::size_t at;
};

/// Points in the order of the records that they were made after, from the newest on or from the oldest.
class CurveSearch {
 public:
  explicit CurveSearch(const SeriesModel& curves) : curves_(curves) {}
  void begin(const PastQuestion& question);
  /// The next one that compares so. Nothing: there is none (any longer).
  std::optional<CurvePoint> next(bool forward);
  /// next() has had a point since begin().
  bool found() const { return found_; }
  /// A cell ran again since begin(), and its curve's points are other ones.
  bool outdated() const;
  /// "loss", or "2 curves (loss, cell [1]; loss, cell [2])".
  QString subject() const;
  quint64 points() const;
  /// What was not looked at, as sentences, each with a space in front; empty: nothing that is known of.
  QString leftOut() const;

 private:
  struct Place {
    int reached = -1;  ///< its point that was had last
    quint64 anew = 0;  ///< SeriesData::anew as it was at first
  };
  const SeriesModel& curves_;
  PastQuestion question_;
  std::map<QString, Place> places_;  ///< by what SeriesModel knows the curve by
  bool found_ = false;
};

}  // namespace tapedeck::inspector
