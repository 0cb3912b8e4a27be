#include "inspector/model/tensor_model.h"

#include <QTimer>
#include <algorithm>
#include <map>

#include "inspector/model/format.h"
#include "inspector/model/tensor_chips.h"

namespace tapedeck::inspector {

using protocol::Record;

namespace {

constexpr std::int64_t max_cells = 262'144;
constexpr std::int64_t first_cells = 65'536;  ///< until the view says what it shows

std::int64_t steps(std::int64_t elements, std::int64_t step) {
  return (elements + step - 1) / step;
}

void limitCells(TileWindow& window, std::int64_t cells) {
  while (steps(window.rows, window.rowStep) * steps(window.columns, window.columnStep) > cells) {
    std::int64_t& step = steps(window.rows, window.rowStep) > steps(window.columns, window.columnStep)
                             ? window.rowStep
                             : window.columnStep;
    step *= 2;
  }
}

}  // namespace

struct TensorModel::Private {
  TensorModel* q;
  Session* session;

  std::vector<TensorChip> chips;
  int current = -1;
  std::optional<ChipChoice> sticky;

  protocol::TensorInfo shown;                          ///< id 0: nothing
  std::map<std::vector<std::int64_t>, QString> texts;  ///< what the user typed for tensors of a shape
  Reshape reshape;
  std::vector<std::int64_t> shape, slice;
  TileWindow window;
  std::int64_t imageFirst = 0, imageCount = 0;

  std::optional<protocol::Tile> tile;
  std::optional<ImageTile> imageTile;
  std::optional<protocol::Statistics> statistics;
  QString problem;

  QTimer timer;
  bool tileDue = false, statisticsDue = false;
  quint64 tileRequest = 0, statisticsRequest = 0;
  std::optional<ImageTile> imagesAsked;

  // ---- which tensor
  void update();
  const Record* justRan(RecordNumber cursor);
  void showChip(int index);
  // ---- its layout
  void applyText();
  void resetLayout();
  std::int64_t shownSize(int fromLast) const;
  void clampWindow();
  // ---- its values
  void want(bool alsoStatistics);
  void ask();
  void askTile();
  void askStatistics();
  void takeTile(const protocol::Reply& reply);
  void takeStatistics(const protocol::Reply& reply);
  bool fits(const protocol::Tile& answer) const;
};

const Record* TensorModel::Private::justRan(RecordNumber cursor) {
  const protocol::Status& status = session->status();
  if (status.stopped_before == 0 || status.stopped_before != cursor || status.finished == 0) return nullptr;
  return status.finished == cursor ? nullptr : session->record(status.finished);
}

void TensorModel::Private::update() {
  const RecordNumber cursor = session->cursor();
  const Record* record = session->record(cursor);
  if (!record && cursor) return;  // recordsChanged comes; until then the old tensor stays
  std::vector<TensorChip> next;
  const Record* ran = record ? justRan(cursor) : nullptr;
  if (record) next = tensorChips(*record, ran);
  const std::string& reason = session->status().stop_reason;
  const int chosen = chooseChip(next, sticky, ran && (reason == "step" || reason == "step out"));
  chips = std::move(next);
  showChip(chosen);
}

void TensorModel::Private::showChip(int index) {
  current = index;
  const TensorChip* chip = index >= 0 ? &chips[static_cast<std::size_t>(index)] : nullptr;
  const QString why = chip ? unavailableText(*chip, session->cachedRecord(chip->record)) : QString();
  const protocol::TensorInfo next = chip && chip->available ? chip->info : protocol::TensorInfo{};
  const bool same = next.id == shown.id && next.shape == shown.shape;
  shown = next;
  emit q->chipsChanged();
  if (same) {
    if (next.id == 0 && why != problem) {
      problem = why;
      emit q->tileChanged();
    }
    return;
  }
  problem = why;
  tile.reset();
  imageTile.reset();
  statistics.reset();
  tileRequest = statisticsRequest = 0;
  applyText();
  want(true);
  emit q->statisticsChanged();
}

void TensorModel::Private::applyText() {
  const auto text = texts.find(shown.shape);
  reshape = shown.id && text != texts.end() ? parseReshape(text->second, shown.shape) : Reshape{};
  const std::vector<std::int64_t> next = shown.id == 0           ? std::vector<std::int64_t>{}
                                         : reshape.shape.empty() ? shown.shape
                                                                 : reshape.shape;
  // Layout and window stay across steps from one tensor to the next of the same shape.
  if (next != shape || slice.size() != next.size() || window == TileWindow{}) {
    shape = next;
    resetLayout();
  }
  if (reshape.images) {
    const std::int64_t most =
        std::max<std::int64_t>(1, max_cells / (reshape.images->rows * reshape.images->columns));
    if (imageCount < 1) imageCount = std::min(most, reshape.images->count);
    imageFirst =
        std::clamp<std::int64_t>(imageFirst, 0, std::max<std::int64_t>(0, reshape.images->count - 1));
    imageCount = std::clamp<std::int64_t>(imageCount, 1, std::min(most, reshape.images->count - imageFirst));
  } else {
    imageFirst = imageCount = 0;
  }
  emit q->layoutChanged();
}

void TensorModel::Private::resetLayout() {
  slice.assign(shape.size(), 0);
  for (std::size_t axis = shape.size() > 2 ? shape.size() - 2 : 0; axis < shape.size(); ++axis)
    slice[axis] = -1;
  window = {0, 0, shownSize(1), shownSize(0), 1, 1};
  clampWindow();
  limitCells(window, first_cells);
  imageFirst = imageCount = 0;
}

/// Size of the last (0: columns) or last but one (1: rows) shown axis; 1 where there is none.
std::int64_t TensorModel::Private::shownSize(int fromLast) const {
  for (std::size_t axis = slice.size(); axis-- > 0;)
    if (slice[axis] == -1 && fromLast-- == 0) return shape[axis];
  return 1;
}

void TensorModel::Private::clampWindow() {
  const auto clampAxis = [](std::int64_t& first, std::int64_t& count, std::int64_t& step,
                            std::int64_t total) {
    step = std::clamp<std::int64_t>(step, 1, std::max<std::int64_t>(total, 1));
    first = std::clamp<std::int64_t>(first, 0, std::max<std::int64_t>(total - 1, 0));
    count = std::clamp<std::int64_t>(count, std::min<std::int64_t>(total, 1), total - first);
  };
  clampAxis(window.row, window.rows, window.rowStep, shownSize(1));
  clampAxis(window.column, window.columns, window.columnStep, shownSize(0));
  if (window.rows > 0 && window.columns > 0) limitCells(window, max_cells);
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
    get.rows = steps(window.rows, window.rowStep);
    get.columns = steps(window.columns, window.columnStep);
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
                     answer.column_step >= 1 && answer.rows <= max_cells && answer.columns <= max_cells;
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

TensorModel::TensorModel(Session* session, QObject* parent)
    : QObject(parent), d_(std::make_unique<Private>()) {
  d_->q = this;
  d_->session = session;
  d_->timer.setSingleShot(true);
  d_->timer.setInterval(0);
  connect(&d_->timer, &QTimer::timeout, this, [this] { d_->ask(); });
  connect(session, &Session::cursorChanged, this, [this] { d_->update(); });
  connect(session, &Session::stopped, this, [this] { d_->update(); });
  connect(session, &Session::recordsChanged, this, [this](RecordNumber first, RecordNumber last) {
    const RecordNumber cursor = d_->session->cursor(), ran = d_->session->status().finished;
    if ((first <= cursor && cursor <= last) || (first <= ran && ran <= last)) d_->update();
  });
  connect(session, &Session::liveChanged, this, [this](bool live) {
    d_->tileRequest = d_->statisticsRequest = 0;
    if (live && d_->shown.id && !d_->tile) d_->want(!d_->statistics);
    emit tileChanged();
  });
  connect(session, &Session::cleared, this, [this] {
    d_->chips.clear();
    d_->showChip(-1);
  });
  connect(session, &Session::received, this, [this](quint64 request, const protocol::Reply& reply) {
    if (request && request == d_->tileRequest) {
      d_->takeTile(reply);
    } else if (request && request == d_->statisticsRequest) {
      d_->takeStatistics(reply);
    }
  });
  d_->update();
}

TensorModel::~TensorModel() = default;

Session* TensorModel::session() const {
  return d_->session;
}
const std::vector<TensorChip>& TensorModel::chips() const {
  return d_->chips;
}
int TensorModel::currentChip() const {
  return d_->current;
}
const protocol::TensorInfo* TensorModel::tensor() const {
  return d_->shown.id ? &d_->shown : nullptr;
}

QString TensorModel::reshapeText() const {
  const auto text = d_->texts.find(d_->shown.shape);
  return d_->shown.id && text != d_->texts.end() ? text->second : QString();
}
QString TensorModel::reshapeError() const {
  return d_->reshape.error;
}
std::vector<std::int64_t> TensorModel::shape() const {
  return d_->shape;
}
std::vector<std::int64_t> TensorModel::slice() const {
  return d_->slice;
}
std::optional<ImageGrid> TensorModel::images() const {
  return d_->reshape.images;
}
std::int64_t TensorModel::totalRows() const {
  return d_->shown.id ? d_->shownSize(1) : 0;
}
std::int64_t TensorModel::totalColumns() const {
  return d_->shown.id ? d_->shownSize(0) : 0;
}

const protocol::Tile* TensorModel::tile() const {
  return d_->tile ? &*d_->tile : nullptr;
}
const ImageTile* TensorModel::imageTile() const {
  return d_->imageTile ? &*d_->imageTile : nullptr;
}
const protocol::Statistics* TensorModel::statistics() const {
  return d_->statistics ? &*d_->statistics : nullptr;
}
bool TensorModel::loading() const {
  return d_->tileRequest != 0 || (d_->tileDue && d_->shown.id && d_->session->live());
}
QString TensorModel::problem() const {
  return d_->problem;
}

void TensorModel::selectChip(int index) {
  if (index < 0 || index >= static_cast<int>(d_->chips.size())) return;
  const TensorChip& chip = d_->chips[static_cast<std::size_t>(index)];
  d_->sticky = ChipChoice{chip.role, chip.slot};
  d_->showChip(index);
}

void TensorModel::setReshapeText(const QString& text) {
  if (d_->shown.id == 0 || text == reshapeText()) return;
  d_->texts[d_->shown.shape] = text;
  const auto before = d_->reshape.images;
  const auto beforeShape = d_->shape;
  d_->applyText();
  if (d_->reshape.images == before && d_->shape == beforeShape) return;
  d_->tile.reset();
  d_->imageTile.reset();
  d_->want(false);
}

void TensorModel::setSliceIndex(int axis, qint64 index) {
  if (axis < 0 || axis >= static_cast<int>(d_->slice.size())) return;
  const auto at = static_cast<std::size_t>(axis);
  if (d_->slice[at] == -1) return;
  const std::int64_t next = std::clamp<std::int64_t>(index, 0, std::max<std::int64_t>(d_->shape[at] - 1, 0));
  if (next == d_->slice[at]) return;
  d_->slice[at] = next;
  emit layoutChanged();
  d_->want(false);
}

void TensorModel::setShownAxes(int rowAxis, int columnAxis) {
  const int axes = static_cast<int>(d_->slice.size());
  if (columnAxis < 0 || columnAxis >= axes || rowAxis < -1 || rowAxis >= columnAxis) return;
  for (int axis = 0; axis < axes; ++axis) {
    std::int64_t& at = d_->slice[static_cast<std::size_t>(axis)];
    if (axis == rowAxis || axis == columnAxis) {
      at = -1;
    } else {
      at = std::max<std::int64_t>(at, 0);
    }
  }
  d_->window = {0, 0, d_->shownSize(1), d_->shownSize(0), 1, 1};
  d_->clampWindow();
  d_->tile.reset();
  emit layoutChanged();
  d_->want(false);
}

void TensorModel::setWindow(const TileWindow& window) {
  if (d_->shown.id == 0) return;
  const TileWindow before = d_->window;
  d_->window = window;
  d_->clampWindow();
  if (d_->window != before) d_->want(false);
}

void TensorModel::setImageWindow(qint64 first, qint64 count) {
  if (!d_->reshape.images) return;
  const std::int64_t firstBefore = d_->imageFirst, countBefore = d_->imageCount;
  d_->imageFirst = first;
  d_->imageCount = std::max<qint64>(count, 1);
  const ImageGrid& grid = *d_->reshape.images;
  const std::int64_t most = std::max<std::int64_t>(1, max_cells / (grid.rows * grid.columns));
  d_->imageFirst = std::clamp<std::int64_t>(first, 0, std::max<std::int64_t>(0, grid.count - 1));
  d_->imageCount = std::clamp<std::int64_t>(
      count, 1, std::max<std::int64_t>(1, std::min(most, grid.count - d_->imageFirst)));
  if (d_->imageFirst != firstBefore || d_->imageCount != countBefore) d_->want(false);
}

void TensorModel::setPinned(bool pinned) {
  if (d_->shown.id) d_->session->request(protocol::Pin{d_->shown.id, pinned});
}

}  // namespace tapedeck::inspector
