// The timeline's table over a session's records, by page, with a filter that reads the trace bit by bit.
#pragma once

#include <QAbstractTableModel>
#include <QHash>
#include <memory>

#include "inspector/model/ops/headings.h"
#include "inspector/model/session/session.h"

namespace tapedeck::inspector {

class Bookmarks;

enum class Direction { both, forward, backward };

class RecordsModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum Column {
    Number,
    Op,
    Shapes,
    Name,
    DType,
    Device,
    Place,
    Duration,
    Attributes,
    Scope,
    Call,  ///< as the program wrote it, on one line
    ColumnCount
  };
  enum Role {
    RecordRole = Qt::UserRole,  ///< number, also where the record is not here yet
    HeadingRole,                ///< what a heading's row says, "57th step · 34 ops"; of a record's nothing
    HereRole,                   ///< bool: the record is here
    BackwardRole,               ///< bool
    PendingRole,                ///< bool: waits at the gate
    FailedRole,                 ///< bool
    LostRole,                   ///< bool: values of it can't be recomputed
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

  RecordNumber recordAt(int row) const;  ///< 0: no such row, or a heading's
  /// The row of the record, or of the newest match before it, or of the heading that hides that; -1: none.
  int rowOf(RecordNumber number) const;
  /// Rows are being inserted or removed: the user did not move the current row.
  bool changingRows() const;
  /// Rows without headings: records that are there, or matches so far.
  int listedCount() const;
  /// The record at a place among them, folded away or not; 0: none.
  RecordNumber listedRecord(int place) const;

  // ---- headings between the rows
  /// None at first.
  HeadingLevel headingLevel() const;
  /// Few groups are there at once; many are laid out in slices, while the rows stay as they are. The present
  /// level drops what is being laid out.
  void setHeadingLevel(HeadingLevel level);
  /// What was set last: what the rows have, or will have.
  HeadingLevel nextHeadingLevel() const;
  /// In percent; nullopt: nothing is being laid out.
  std::optional<int> headingProgress() const;
  std::optional<Heading> headingAt(int row) const;
  /// The headings that the row is in, or around it where it is one, from the outside in.
  QList<int> headingsAround(int row) const;
  void setFolded(int heading_row, bool folded);
  /// All headings as that one is: of cells, of steps, or of scopes.
  void setAllFolded(int heading_row, bool folded);
  /// What a heading keeps while rows come and go: its first record, and how many groups are around it.
  struct HeadingPlace {
    RecordNumber first = 0;
    int depth = 0;
  };
  HeadingPlace headingPlace(int heading_row) const;
  /// The heading's row, or that of the one that hides it; -1: it has none any longer.
  int rowOfHeading(const HeadingPlace& place) const;
  /// Unfolds what hides the record; false where nothing does.
  bool reveal(RecordNumber number);

  /// The notebook's names for its cells: id to "[3]"; other cells show the start of their id.
  void setCellLabels(const QHash<QString, QString>& labels);
  /// By the execution that made it; where that is not known, as the cell is called now.
  QString cellLabel(const protocol::Record& record) const;

  /// Their notes appear after the ops' names.
  void setBookmarks(const Bookmarks* bookmarks);

  /// Words as engine/protocol/record_filter.h explains: every one must occur in op, kind, scope, cell, file
  /// or a tensor's name. The session searches from the first record on; rows appear as they are found.
  void setFilter(const QString& text, Direction direction);
  QString filterText() const;
  Direction direction() const;
  bool filtered() const;
  RecordNumber scanned() const;  ///< records that the filter has read so far
  bool scanning() const;
  /// Values of tensors decide (max(abs(out)) > 3): it takes longer, and stopFilter() ends it at its current
  /// place.
  bool filterAsksForValues() const;
  void stopFilter();
  bool filterStopped() const;
  quint64 lostByFilter() const;  ///< records that a lost value left undecided
  /// The match after the record, or before it, folded away or not; 0: there is none so far.
  RecordNumber matchBeside(RecordNumber number, bool after) const;

 signals:
  void filterProgress();
  void filterChanged();
  /// Headings were inserted or removed between rows; a row may now be that of another record.
  void regrouped();
  /// Of another level's headings: a slice was laid out, or they are dropped, or they are there.
  void headingsProgressed();

 private:
  QVariant headingData(const QModelIndex& index, int role) const;
  struct Private;
  std::unique_ptr<Private> d_;
};

}  // namespace tapedeck::inspector
