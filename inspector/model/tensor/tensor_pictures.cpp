// The shown tensor as images: which axes they are of, and how many are asked for.
#include <utility>

#include "inspector/model/format.h"
#include "inspector/model/tensor/tensor_model_private.h"

namespace tapedeck::inspector {

PictureKind TensorModel::Private::picture() const {
  const auto chosen = pictures.find(shape);
  return chosen == pictures.end() ? PictureKind::automatic : chosen->second;
}

PictureLayout TensorModel::Private::layoutFor(PictureKind kind) const {
  int row = -1, column = -1;
  for (std::size_t axis = 0; axis < slice.size(); ++axis)
    if (slice[axis] == -1) row = std::exchange(column, static_cast<int>(axis));
  return layoutOf(kind, shape, row, column);
}

bool TensorModel::Private::updateGrid() {
  const std::optional<ImageGrid> before = grid;
  grid = reshape.images;
  if (!grid && picturing && shown.id) grid = layoutFor(picture()).grid;
  if (grid != before) imageFirst = imageCount = 0;
  clampImages();
  return grid != before;
}

/// As many as one answer has at most, in whole rows of the matrix.
void TensorModel::Private::clampImages() {
  if (!grid) {
    imageFirst = imageCount = 0;
    return;
  }
  const std::int64_t together = grid->together();
  const std::int64_t most = imagesAtOnce(*grid);
  if (imageCount < 1) imageCount = most;
  const std::int64_t last = std::max<std::int64_t>(grid->count - 1, 0);
  const std::int64_t first = std::clamp<std::int64_t>(imageFirst, 0, last) / together * together;
  const std::int64_t end =
      (std::clamp<std::int64_t>(imageFirst + imageCount, first + 1, last + 1) + together - 1) / together *
      together;
  imageFirst = first;
  imageCount = std::min(most, end - first);
}

std::optional<ImageGrid> TensorModel::images() const {
  return d_->grid;
}
PictureKind TensorModel::picture() const {
  return d_->picture();
}
QString TensorModel::pictureProblem(PictureKind kind) const {
  return d_->layoutFor(kind).problem;
}
void TensorModel::setImageWindow(qint64 first, qint64 count) {
  if (!d_->grid) return;
  const std::int64_t firstBefore = d_->imageFirst, countBefore = d_->imageCount;
  d_->imageFirst = first;
  d_->imageCount = std::max<qint64>(count, 1);
  d_->clampImages();
  if (d_->imageFirst != firstBefore || d_->imageCount != countBefore) d_->want(false);
}

void TensorModel::setCellValue(protocol::CellValue cell) {
  if (std::exchange(d_->cell, cell) != cell && d_->shown.id) d_->want(false);
}

void TensorModel::setPicturing(bool on) {
  if (std::exchange(d_->picturing, on) != on) d_->showGrid();
}

void TensorModel::setPicture(PictureKind kind) {
  if (d_->shown.id == 0) return;
  d_->pictures[d_->shape] = kind;
  d_->showGrid();
}

void TensorModel::Private::showGrid() {
  if (!updateGrid()) {
    emit q->layoutChanged();  // what was chosen may be another word for what is shown
    return;
  }
  tile.reset();
  imageTile.reset();
  emit q->layoutChanged();
  if (shown.id) want(false);
}

protocol::CellValue TensorModel::tileCells() const {
  return d_->tileCell;
}

QString TensorModel::identity() const {
  if (d_->shown.id == 0) return {};
  if (!d_->shown.name.empty()) return QString::fromStdString(d_->shown.name);
  const TensorChip* at = chip();
  const protocol::Record* record = at ? d_->session->cachedRecord(at->record) : nullptr;
  if (!record) return QStringLiteral("tensor %1").arg(d_->shown.id);
  return QStringLiteral("%1:%2 %3 %4 %5 %6")
      .arg(QString::fromStdString(record->cell.empty() ? record->file : record->cell))
      .arg(record->line)
      .arg(QString::fromStdString(record->op))
      .arg(static_cast<int>(at->role == TensorRole::input))
      .arg(at->slot)
      .arg(shapeText(d_->shown.shape));
}

}  // namespace tapedeck::inspector
