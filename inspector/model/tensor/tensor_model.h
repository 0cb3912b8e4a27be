// The tensor that is shown: which one, how it is laid out, the part of its values that is visible,
// statistics.
#pragma once

#include <QObject>
#include <QString>
#include <memory>
#include <optional>
#include <vector>

#include "inspector/model/session/session.h"
#include "inspector/model/tensor/picture_layout.h"

namespace tapedeck::inspector {

enum class TensorRole {
  justRan,  ///< output of the record that ran just before the gate stopped
  input,
  output,
  chosen  ///< the user asked for this tensor, of whatever record
};

/// One entry of the strip above the values.
struct TensorChip {
  TensorRole role = TensorRole::input;
  int slot = 0;  ///< which input or output
  RecordNumber record = 0;
  protocol::TensorInfo info;  ///< id 0: not made yet, or a gradient that is None
  QString label;              ///< "in 0 · W:0", "out", "just ran: matmul", "W:0 of op 12"
  bool available = false;     ///< there is something to fetch
  bool subject = false;       ///< an input that its record is about
};

/// What is visible, in elements of the shown rows and columns.
struct TileWindow {
  std::int64_t row = 0, column = 0, rows = 0, columns = 0;
  std::int64_t rowStep = 1, columnStep = 1;
  bool operator==(const TileWindow&) const = default;
};

/// Images [first, first + count) of the grid; values[(((image - first)·rows + r)·columns + c)·channels +
/// channel].
struct ImageTile {
  ImageGrid grid;
  std::int64_t first = 0, count = 0;
  std::vector<double> values;
};

class TensorModel : public QObject {
  Q_OBJECT
 public:
  explicit TensorModel(Session* session, QObject* parent = nullptr);
  ~TensorModel() override;
  Session* session() const;

  const std::vector<TensorChip>& chips() const;
  int currentChip() const;  ///< -1: none
  /// The one that is shown; nullptr: none, then problem() says why where there is a reason.
  const protocol::TensorInfo* tensor() const;
  /// Its entry of the strip; nullptr: none.
  const TensorChip* chip() const;

  QString reshapeText() const;
  QString reshapeError() const;                    ///< a sentence; empty: the text is good
  std::vector<std::int64_t> shape() const;         ///< after reshape
  std::vector<std::int64_t> slice() const;         ///< one per axis of shape(): index, or -1 for a shown axis
  std::optional<ImageGrid> images() const;         ///< set: the values are shown as images
  PictureKind picture() const;                     ///< what was chosen for tensors of this shape
  QString pictureProblem(PictureKind kind) const;  ///< why it is not available now; empty: it is
  /// Identifies this tensor for the user, also when the program makes it again: its name, or the line and the
  /// op that made it.
  QString identity() const;
  std::int64_t totalRows() const;  ///< of the slice; 1 where there are no rows; 0 with nothing shown
  std::int64_t totalColumns() const;

  /// The values of the shown tensor and layout; nullptr: not here yet. While a new window of the same layout
  /// is being fetched, the older tile stays.
  const protocol::Tile* tile() const;
  protocol::CellValue tileCells() const;  ///< what a cell of the tile shows of its elements
  const ImageTile* imageTile() const;
  const protocol::Statistics* statistics() const;
  QString statisticsProblem()
      const;  ///< why there are none, for the user; empty: they are here or being fetched
  bool loading() const;
  /// The progress of recomputing the values, for the user; empty: none.
  QString progress() const;
  QString problem() const;  ///< why there are no values ("gone", not made yet, …), for the user; else empty

 public slots:
  /// Also keeps that role and slot for the next cursor positions, until another is picked or the role is not
  /// there.
  void selectChip(int index);
  /// Shows a tensor of any record, at the end of the strip. It is shown until another is picked, the user
  /// chooses a record, or the program stops by itself; its tab stays until another tensor takes it.
  void showTensor(const tapedeck::inspector::TensorChip& chip);
  void setReshapeText(const QString& text);
  /// Which index of an axis that is not shown; clamped.
  void setSliceIndex(int axis, qint64 index);
  /// Which axes are rows and columns; rows -1: one axis only. Out of range: ignored. rowAxis must be below
  /// columnAxis.
  void setShownAxes(int rowAxis, int columnAxis);
  /// The visible part (clamped; at most 262,144 cells are asked for: steps are raised to meet that).
  void setWindow(const tapedeck::inspector::TileWindow& window);
  void setImageWindow(qint64 first, qint64 count);
  /// What cells of more than one element show.
  void setCellValue(tapedeck::protocol::CellValue cell);
  /// Whether pictures are shown: then the shape may ask for images, else for images that were typed alone.
  void setPicturing(bool on);
  /// For tensors of this shape.
  void setPicture(tapedeck::inspector::PictureKind kind);

 signals:
  void chipsChanged();   ///< chips or the current one
  void layoutChanged();  ///< tensor, shape, slice, images or reshape error
  void tileChanged();    ///< tile(), imageTile(), loading(), progress() or problem()
  void statisticsChanged();

 private:
  struct Private;
  std::unique_ptr<Private> d_;
};

}  // namespace tapedeck::inspector
