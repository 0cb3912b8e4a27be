// The call stack at a stop, and which of its frames the panels show.
#pragma once

#include <QAbstractListModel>
#include <QString>
#include <optional>
#include <vector>

#include "inspector/model/session/cell_names.h"
#include "inspector/model/session/session.h"

namespace tapedeck::inspector {

/// One row a frame, the innermost first. While the program runs to the next stop those of the last one stay.
class FramesModel : public QAbstractListModel {
  Q_OBJECT
 public:
  FramesModel(Session* session, CellNames* cells, QObject* parent = nullptr);

  int rowCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;

  /// Where the program is stopped (Session::stop); 0: it is not.
  RecordNumber stop() const { return stop_; }
  /// The record before which the values are, where the cursor is in the past; 0: now.
  RecordNumber moment() const { return moment_; }
  /// Of which time Python's own values are then: "as of the stop before op 210", "now". Empty: it is now.
  QString notedText() const;
  /// The function that the moment's op ran in, where no stop was earlier in the cell's run and nothing is
  /// known of its locals. Empty: it ran in none, or they are known.
  QString unknownFunction() const;
  /// Variables can be asked for: the program is stopped, or no cell runs.
  bool readable() const;
  int current() const { return current_; }
  /// nullptr: not here (yet).
  const protocol::Frame* frame(int row) const;
  /// nullptr also while nothing is stopped, and was not before the cursor.
  const protocol::Frame* currentFrame() const {
    return (stop_ || moment_) && known() ? frame(current_) : nullptr;
  }
  /// The frames of this stop, or this moment, are here.
  bool known() const { return framesOf_ == std::pair(stop_, moment_); }
  /// How many the session has; more than rows where some are not fetched.
  int total() const { return total_; }
  /// What the values are of, for the user: "Paused in step, cell [3] line 4".
  QString placeText() const;
  /// Why there is nothing to see in this session; empty: there is no such reason.
  QString problem() const { return problem_; }
  void setProblem(const QString& sentence);

 public slots:
  void setCurrent(int row);
  void fetchMoreFrames();
  /// Something was assigned: values have to be asked for anew.
  void touch() { emit moved(); }

 signals:
  void moved();           ///< values may have changed: another stop or moment, or the end of a cell
  void currentChanged();  ///< another frame of the same stop
  void placeChanged();    ///< placeText(), problem() or readable()

 private:
  void look();
  void fetch(int first);
  void take(const protocol::Frames& frames);
  QString frameText(const protocol::Frame& frame) const;

  Session* session_;
  CellNames* cells_;
  RecordNumber stop_ = 0, moment_ = 0;
  std::optional<std::uint64_t> cellsEnded_;  ///< when the values were announced last
  std::vector<protocol::Frame> frames_;
  std::pair<RecordNumber, RecordNumber> framesOf_;  ///< their stop and moment: while it runs they stay
  protocol::Frames noted_;                          ///< reported of the nearest earlier stop
  int total_ = 0;
  int current_ = 0;
  QString problem_;
  QString place_;  ///< last reported
};

}  // namespace tapedeck::inspector
