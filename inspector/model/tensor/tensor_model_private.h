// What a TensorModel holds, for the two files that implement it: which tensor in which layout, and its
// values.
#pragma once

#include <QTimer>
#include <map>

#include "inspector/model/tensor/tensor_chips.h"
#include "inspector/model/tensor/tensor_model.h"

namespace tapedeck::inspector {

constexpr std::int64_t max_tile_cells = 262'144;

/// The number of cells for `elements`, `step` each.
inline std::int64_t cellsOf(std::int64_t elements, std::int64_t step) {
  return (elements + step - 1) / step;
}

struct TensorModel::Private {
  TensorModel* q;
  Session* session;

  std::vector<TensorChip> chips;
  int current = -1;
  std::optional<ChipChoice> sticky;
  std::optional<ChipChoice> stickyBefore;  ///< before the user asked for `extra`
  std::optional<TensorChip> extra;         ///< what showTensor() was given
  /// That `extra` has a name in the user's program, and of which moment it is.
  struct Named {
    bool variable = false;  ///< whose value the tab shows at the cursor's moment
    RecordNumber at = 0;    ///< before that record it had the name
    TensorId version = 0;   ///< any of the variable's values
  };
  std::optional<Named> named;

  protocol::TensorInfo shown;  ///< id 0: nothing
  RecordNumber shownRecord = 0;
  std::map<std::vector<std::int64_t>, QString> texts;  ///< what the user typed for tensors of a shape
  Reshape reshape;
  std::vector<std::int64_t> shape, slice;
  TileWindow window;
  std::int64_t imageFirst = 0, imageCount = 0;
  bool picturing = false;
  std::map<std::vector<std::int64_t>, PictureKind> pictures;  ///< what the user chose for tensors of a shape
  std::optional<ImageGrid> grid;                              ///< that is shown
  protocol::CellValue cell = protocol::CellValue::extreme, tileCell = protocol::CellValue::mean,
                      cellAsked = protocol::CellValue::mean;

  std::optional<protocol::Tile> tile;
  std::optional<ImageTile> imageTile;
  std::optional<protocol::Statistics> statistics;
  QString problem, progress;

  QTimer timer;
  bool tileDue = false, statisticsDue = false;
  std::optional<ImageTile> imagesAsked;

  // ---- which tensor
  void update();
  RecordNumber awaited = 0;  ///< a record that the choice waits for
  const protocol::Record* justRan(const protocol::Record& cursor);
  const protocol::Record* find(RecordNumber number);
  void showChip(int index);
  void pick(const protocol::TensorInfo& tensor);
  void pickNamed(const protocol::TensorInfo& tensor, bool variable);
  void choose(const TensorChip& chip);
  /// Another record was chosen since `extra` was: its tab stays beside the record's.
  void letExtraGo();
  void followNamed();
  void takeVersion(const protocol::HeldValue& held);
  void showExtra();
  int chipOf(const std::vector<TensorChip>& among, const protocol::TensorInfo& tensor) const;
  RecordNumber pickedAt = 0;  ///< the cursor when the user wanted `extra`, until its record is here
  // ---- its layout
  void applyText();
  void resetLayout();
  PictureLayout layoutFor(PictureKind kind) const;
  PictureKind picture() const;
  /// Which images are shown, and how many of them are asked for; true: others than before.
  bool updateGrid();
  void clampImages();
  void showGrid();
  std::int64_t shownSize(int fromLast) const;
  void clampWindow();
  // ---- its values
  BranchLook look;           ///< whose they are
  void updateLook();         ///< those of the branch, or of the original, where others were shown
  bool replayOnCpu = false;  ///< as the session last said
  void refetch();            ///< where values that are computed again now come from another device
  void want(bool alsoStatistics);
  void ask();
  void askTile();
  void askStatistics();
  QString statisticsProblem;
  void dropRequests();
  bool asking() const;  ///< for a tile
  void takeTile(const protocol::Tile& answer);
  void takeFailure(const protocol::Failure& failure);
  void takeProgress(const protocol::Progress& told);
  bool fits(const protocol::Tile& answer) const;
};

// The newest record that finished may be an op inside of a VJP or a playback that finished with it: what just
// ran is the outermost of those that the pending record is not inside of.
}  // namespace tapedeck::inspector
