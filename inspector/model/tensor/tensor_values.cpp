// The shown tensor's values: what is asked for, and whether the answer fits.
#include <utility>

#include "inspector/model/format.h"
#include "inspector/model/tensor/tensor_model_private.h"

namespace tapedeck::inspector {

namespace {

const QString tile_channel = QStringLiteral("tensor/tile");
const QString statistics_channel = QStringLiteral("tensor/statistics");

/// The matrix' values, image by image.
void fillImages(ImageTile& images, const protocol::Tile& answer) {
  const ImageGrid& grid = images.grid;
  const std::int64_t pixels = grid.rows * grid.columns, channels = grid.channels(),
                     together = grid.together(), behind = grid.depth / grid.between;
  /// The position of a channel of an image's pixel in its row of the matrix.
  const auto placeOf = [&](std::int64_t pixel, std::int64_t image, std::int64_t channel) {
    const std::int64_t row = pixel / grid.columns, column = pixel % grid.columns, own = image % together;
    return ((row * grid.between + own / behind) * grid.columns + column) * behind + own % behind + channel;
  };
  images.count = grid.alongColumns ? answer.columns : answer.rows * together;
  images.values.resize(static_cast<std::size_t>(images.count * pixels * channels));
  double* value = images.values.data();
  for (std::int64_t image = 0; image < images.count; ++image)
    for (std::int64_t pixel = 0; pixel < pixels; ++pixel)
      for (std::int64_t channel = 0; channel < channels; ++channel) {
        const std::int64_t row = grid.alongColumns ? pixel * channels + channel : image / together;
        const std::int64_t column = grid.alongColumns ? image : placeOf(pixel, image, channel);
        *value++ = answer.values[static_cast<std::size_t>(row * answer.columns + column)];
      }
}

}  // namespace

void TensorModel::Private::dropRequests() {
  session->drop(tile_channel);
  session->drop(statistics_channel);
}

void TensorModel::Private::updateLook() {
  const bool same = look.sameValues(session->look());
  look = session->look();
  if (same || shown.id == 0) return;
  // Never the one's values under the other's name.
  problem.clear();
  tile.reset();
  imageTile.reset();
  statistics.reset();
  statisticsProblem.clear();
  dropRequests();
  want(true);
  emit q->statisticsChanged();
}

void TensorModel::Private::refetch() {
  const bool now = session->status().replay_on_cpu;
  if (std::exchange(replayOnCpu, now) != now && shown.id) want(true);
}

bool TensorModel::Private::asking() const {
  return session->asking(tile_channel);
}

void TensorModel::Private::want(bool alsoStatistics) {
  tileDue = true;
  statisticsDue = statisticsDue || alsoStatistics;
  if (!timer.isActive()) timer.start();
  emit q->tileChanged();
}

void TensorModel::Private::ask() {
  if (tileDue) askTile();
  if (statisticsDue) askStatistics();
  tileDue = statisticsDue = false;
}

void TensorModel::Private::askTile() {
  if (shown.id == 0) return;
  if (!session->live()) {
    problem = QStringLiteral("These values were not fetched before the session ended.");
    if (!tile && !imageTile) emit q->tileChanged();
    return;
  }
  protocol::GetTile get;
  get.tensor = shown.id;
  imagesAsked.reset();
  get.cell = cell;
  cellAsked = cell;
  if (grid) {
    const std::int64_t values = grid->rows * grid->columns * grid->depth, together = grid->together();
    imagesAsked = ImageTile{*grid, imageFirst, imageCount, {}};
    if (!grid->matrix.empty()) get.reshape = protocol::if_there(grid->matrix);
    get.row = grid->alongColumns ? 0 : imageFirst / together;
    get.column = grid->alongColumns ? imageFirst : 0;
    get.rows = grid->alongColumns ? values : imageCount / together;
    get.columns = grid->alongColumns ? imageCount : values;
  } else {
    get.reshape = protocol::if_there(reshape.shape);
    get.slice = protocol::if_there(slice);
    get.row = window.row;
    get.column = window.column;
    get.rows = cellsOf(window.rows, window.rowStep);
    get.columns = cellsOf(window.columns, window.columnStep);
    get.row_step = window.rowStep;
    get.column_step = window.columnStep;
  }
  progress.clear();
  session->request<protocol::Tile>(
      get, q, [this](const protocol::Tile& answer) { takeTile(answer); },
      [this](const protocol::Failure& failure) { takeFailure(failure); }, tile_channel,
      [this](const protocol::Progress& told) { takeProgress(told); });
}

void TensorModel::Private::askStatistics() {
  if (shown.id == 0) return;
  protocol::GetStatistics get;
  get.tensor = shown.id;
  const QString ended = QStringLiteral("These values were not counted before the session ended.");
  statisticsProblem.clear();
  const bool asked = session->request<protocol::Statistics>(
      get, q,
      [this](const protocol::Statistics& answer) {
        statistics = answer;
        emit q->statisticsChanged();
      },
      [this, ended](const protocol::Failure& failure) {
        statistics.reset();
        statisticsProblem = failure.code == "ended" ? ended : QString::fromStdString(failure.reason);
        emit q->statisticsChanged();
      },
      statistics_channel);
  if (asked) return;
  statisticsProblem = ended;
  emit q->statisticsChanged();
}

bool TensorModel::Private::fits(const protocol::Tile& answer) const {
  const bool sizes = answer.rows >= 0 && answer.columns >= 0 && answer.row_step >= 1 &&
                     answer.column_step >= 1 && answer.rows <= max_tile_cells &&
                     answer.columns <= max_tile_cells;
  if (!sizes || static_cast<std::int64_t>(answer.values.size()) != answer.rows * answer.columns) return false;
  if (!answer.exact.empty() && answer.exact.size() != answer.values.size()) return false;
  if (!imagesAsked) return true;
  const ImageGrid& asked = imagesAsked->grid;
  return asked.rows * asked.columns * asked.depth == (asked.alongColumns ? answer.rows : answer.columns);
}

void TensorModel::Private::takeProgress(const protocol::Progress& told) {
  const QString what =
      shown.name.empty() ? QStringLiteral("these values") : QString::fromStdString(shown.name);
  progress = told.total == 0
                 ? QStringLiteral("Recomputing %1: looking for the ops that must run again …").arg(what)
                 : QStringLiteral("Recomputing %1: %2 of %3 ops ran again (%4 %)")
                       .arg(what, countText(told.done), countText(told.total))
                       .arg(told.done * 100 / told.total);
  emit q->tileChanged();
}

void TensorModel::Private::takeFailure(const protocol::Failure& failure) {
  const bool ended = failure.code == "ended";
  if (ended && tile) {  // what was fetched stays
    emit q->tileChanged();
    return;
  }
  problem = ended ? QStringLiteral("These values were not fetched before the session ended.")
                  : QString::fromStdString(failure.reason);
  tile.reset();
  imageTile.reset();
  emit q->tileChanged();
}

void TensorModel::Private::takeTile(const protocol::Tile& answer) {
  if (!fits(answer)) {
    takeFailure({QStringLiteral("The session's answer is malformed: %1 values for %2×%3.")
                     .arg(answer.values.size())
                     .arg(answer.rows)
                     .arg(answer.columns)
                     .toStdString(),
                 "bad_answer"});
    return;
  }
  problem.clear();
  tile = answer;
  tileCell = cellAsked;
  imageTile = std::exchange(imagesAsked, {});
  if (imageTile) fillImages(*imageTile, answer);
  emit q->tileChanged();
}

}  // namespace tapedeck::inspector
