// The timeline's table over a session's records, by page, with a filter that reads the trace bit by bit.
#pragma once

#include <QAbstractTableModel>
#include <QHash>
#include <memory>

#include "inspector/model/session/session.h"

namespace tapedeck::inspector {

class Bookmarks;

enum class Direction { both, forward, backward };

class RecordsModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum Column { Number, Op, Shapes, Name, DType, Device, Place, Duration, Attributes, Scope, ColumnCount };
  enum Role {
    RecordRole = Qt::UserRole,  ///< number, also where the record is not here yet
    HereRole,                   ///< bool: the record is here
    BackwardRole,               ///< bool
    PendingRole,                ///< bool: waits at the gate
    FailedRole,                 ///< bool
    LostRole,                   ///< bool: values of it cannot be had again
    ScopeBeginsRole,            ///< bool: the row before is of another scope, or not here
    BookmarkRole                ///< bool: it has a bookmark
  };

  explicit RecordsModel(Session* session, QObject* parent = nullptr);
  ~RecordsModel() override;

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  /// "…" for a record that is not here; asking for it fetches its page.
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

  RecordNumber recordAt(int row) const;  ///< 0: no such row
  /// The row of the record, or of the newest match before it; -1: none.
  int rowOf(RecordNumber number) const;

  /// How the notebook calls its cells: id to "[3]"; others are written by the start of their id.
  void setCellLabels(const QHash<QString, QString>& labels);
  /// By the execution that made it; where that is not known, as the cell is called now.
  QString cellLabel(const protocol::Record& record) const;

  /// Their notes stand behind the ops' names.
  void setBookmarks(const Bookmarks* bookmarks);

  /// Words as engine/protocol/record_filter.h explains: every one must occur in op, kind, scope, cell, file
  /// or a tensor's name. The session searches from the first record on; rows appear as they are found.
  void setFilter(const QString& text, Direction direction);
  QString filterText() const;
  Direction direction() const;
  bool filtered() const;
  RecordNumber scanned() const;  ///< records that the filter has read so far
  bool scanning() const;
  /// Values of tensors decide (max(abs(out)) > 3): it takes longer, and stopFilter() ends it where it is.
  bool filterAsksForValues() const;
  void stopFilter();
  bool filterStopped() const;
  quint64 lostByFilter() const;  ///< records that a lost value left undecided
  /// The row of the match after the record, or before it; -1: there is none so far.
  int matchBeside(RecordNumber number, bool after) const;

 signals:
  void filterProgress();
  void filterChanged();

 private:
  struct Private;
  std::unique_ptr<Private> d_;
};

}  // namespace tapedeck::inspector
