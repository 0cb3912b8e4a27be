// Which values of a tape hold a NaN or an infinity.
#pragma once

#include <QHash>
#include <QObject>
#include <QSet>
#include <QTimer>
#include <deque>

#include "inspector/model/tape/tape_folding.h"

namespace tapedeck::inspector {

/// Asks the session for one value's statistics after the other, when the user wants to know: a value that is
/// not held is recomputed for that, which takes time.
class OddValues : public QObject {
  Q_OBJECT
 public:
  explicit OddValues(Session* session, QObject* parent = nullptr);

  /// Checks the results of all nodes of the graph. Results that were checked before are known.
  void check(const TapeGraph& graph);
  void stop();
  bool running() const { return !waiting_.empty() || asked_; }
  /// Marks the nodes whose values are known to be odd.
  void mark(TapeGraph& graph) const;
  /// "Checking for NaN: 40 of 250 values", "No NaN or infinity in 250 values"; empty: not asked.
  QString sentence() const;

 signals:
  void oddChanged();  ///< another node is known to be odd
  void progressed();  ///< the sentence changed
  void ended();

 private:
  struct Question {
    quint64 node = 0;  ///< its key
    TensorId tensor = 0;
  };
  void ask();
  void take(const Question& question, bool odd);
  void forget();

  Session* session_;
  std::deque<Question> waiting_;
  bool asked_ = false;
  int total_ = 0, done_ = 0, odd_ = 0, unknown_ = 0;  ///< values of this check
  bool stopped_ = false;
  QHash<TensorId, bool> known_;
  QSet<quint64> nodes_;  ///< keys of those that are odd
  QTimer tell_;
  bool more_odd_ = false;
  quint64 round_ = 0;  ///< answers of an earlier check do not count
};

}  // namespace tapedeck::inspector
