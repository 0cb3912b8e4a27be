// The shown tensor's values: what is asked for, and whether the answer fits.
#include "inspector/model/tensor_model_private.h"

namespace tapedeck::inspector {

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
  tileRequest = 0;
  if (shown.id == 0) return;
  if (!session->live()) {
    problem = QStringLiteral("The session has ended: these values were not looked at while it ran.");
    if (!tile && !imageTile) emit q->tileChanged();
    return;
  }
  protocol::GetTile get;
  get.tensor = shown.id;
  imagesAsked.reset();
  if (reshape.images) {
    const ImageGrid& grid = *reshape.images;
    const std::int64_t pixels = grid.rows * grid.columns;
    imagesAsked = ImageTile{grid, imageFirst, imageCount, {}};
    get.row = grid.alongColumns ? 0 : imageFirst;
    get.column = grid.alongColumns ? imageFirst : 0;
    get.rows = grid.alongColumns ? pixels : imageCount;
    get.columns = grid.alongColumns ? imageCount : pixels;
  } else {
    get.reshape = reshape.shape;
    get.slice = slice;
    get.row = window.row;
    get.column = window.column;
    get.rows = cellsOf(window.rows, window.rowStep);
    get.columns = cellsOf(window.columns, window.columnStep);
    get.row_step = window.rowStep;
    get.column_step = window.columnStep;
  }
  tileRequest = session->request(get, QStringLiteral("tensor/tile"));
}

void TensorModel::Private::askStatistics() {
  statisticsRequest = 0;
  if (shown.id == 0) return;
  protocol::GetStatistics get;
  get.tensor = shown.id;
  statisticsRequest = session->request(get, QStringLiteral("tensor/statistics"));
}

bool TensorModel::Private::fits(const protocol::Tile& answer) const {
  const bool sizes = answer.rows >= 0 && answer.columns >= 0 && answer.row_step >= 1 &&
                     answer.column_step >= 1 && answer.rows <= max_tile_cells &&
                     answer.columns <= max_tile_cells;
  if (!sizes || static_cast<std::int64_t>(answer.values.size()) != answer.rows * answer.columns) return false;
  if (!answer.exact.empty() && answer.exact.size() != answer.values.size()) return false;
  if (!imagesAsked) return true;
  const ImageGrid& grid = imagesAsked->grid;
  return grid.rows * grid.columns == (grid.alongColumns ? answer.rows : answer.columns);
}

void TensorModel::Private::takeTile(const protocol::Reply& reply) {
  tileRequest = 0;
  const auto* answer = std::get_if<protocol::Tile>(&reply);
  if (const auto* failure = std::get_if<protocol::Failure>(&reply)) {
    problem = QString::fromStdString(failure->reason);
    tile.reset();
    imageTile.reset();
  } else if (!answer || !fits(*answer)) {
    problem = QStringLiteral("The session's answer does not fit: %1 values for %2×%3.")
                  .arg(answer ? answer->values.size() : 0)
                  .arg(answer ? answer->rows : 0)
                  .arg(answer ? answer->columns : 0);
    tile.reset();
    imageTile.reset();
  } else if (imagesAsked) {
    problem.clear();
    imageTile = std::move(imagesAsked);
    imagesAsked.reset();
    const ImageGrid& grid = imageTile->grid;
    const std::int64_t pixels = grid.rows * grid.columns;
    imageTile->count = grid.alongColumns ? answer->columns : answer->rows;
    imageTile->values.resize(answer->values.size());
    for (std::int64_t image = 0; image < imageTile->count; ++image)
      for (std::int64_t pixel = 0; pixel < pixels; ++pixel)
        imageTile->values[static_cast<std::size_t>(image * pixels + pixel)] =
            answer->values[static_cast<std::size_t>(grid.alongColumns ? pixel * imageTile->count + image
                                                                      : image * pixels + pixel)];
    tile = *answer;
  } else {
    problem.clear();
    imageTile.reset();
    tile = *answer;
  }
  emit q->tileChanged();
}

void TensorModel::Private::takeStatistics(const protocol::Reply& reply) {
  statisticsRequest = 0;
  if (const auto* answer = std::get_if<protocol::Statistics>(&reply)) {
    statistics = *answer;
  } else {
    statistics.reset();
  }
  emit q->statisticsChanged();
}

}  // namespace tapedeck::inspector
