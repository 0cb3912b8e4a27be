#include "inspector/model/tensor/tensor_model.h"

#include <algorithm>
#include <set>

#include "inspector/model/format.h"
#include "inspector/model/tensor/tensor_model_private.h"

namespace tapedeck::inspector {

using protocol::Record;

namespace {

constexpr std::int64_t first_cells = 65'536;  ///< until the view says what it shows

void limitCells(TileWindow& window, std::int64_t cells) {
  while (cellsOf(window.rows, window.rowStep) * cellsOf(window.columns, window.columnStep) > cells) {
    std::int64_t& step = cellsOf(window.rows, window.rowStep) > cellsOf(window.columns, window.columnStep)
                             ? window.rowStep
                             : window.columnStep;
    step *= 2;
  }
}

}  // namespace

const Record* TensorModel::Private::justRan(const Record& cursor) {
  const protocol::Status& status = session->status();
  awaited = 0;
  if (status.stopped_before != cursor.number || status.finished == 0 || status.stopped_after) return nullptr;
  // After a step it is what the user stepped over, if that is done: a custom gradient may have been stepped
  // into.
  if (status.stepped_over) {
    const Record* stepped = find(*status.stepped_over);
    if (stepped && stepped->state != protocol::RecordState::done) awaited = stepped->number;
    return stepped;
  }
  std::set<RecordNumber> around{cursor.number};
  for (const Record* at = &cursor; at && at->parent && at->parent < at->number; at = find(at->parent))
    around.insert(at->parent);
  const Record* ran = around.contains(status.finished) ? nullptr : find(status.finished);
  while (ran && ran->parent && ran->parent < ran->number && !around.contains(ran->parent))
    ran = find(ran->parent);
  if (ran && ran->state == protocol::RecordState::running) awaited = ran->number;
  return ran;
}

const Record* TensorModel::Private::find(RecordNumber number) {
  const Record* record = session->record(number);
  if (!record) awaited = number;
  return record;
}

void TensorModel::Private::update() {
  const RecordNumber cursor = session->cursor();
  const Record* record = session->record(cursor);
  if (!record && cursor && session->live()) return;  // recordsChanged comes; until then the old tensor stays
  std::vector<TensorChip> next;
  const Record* ran = record ? justRan(*record) : nullptr;
  if (record) next = tensorChips(*record, ran);
  if (const int known = extra && record && pickedAt == cursor ? chipOf(next, extra->info) : -1; known >= 0) {
    const TensorChip& chip = next[static_cast<std::size_t>(known)];
    sticky = ChipChoice{chip.role, chip.slot};
    extra.reset();
    named.reset();
  }
  pickedAt = 0;
  if (extra) next.push_back(*extra);
  const auto& reason = session->status().stop_reason;
  const int chosen = chooseChip(next, sticky, ran && (reason == "step" || reason == "step out"));
  chips = std::move(next);
  showChip(chosen);
  if (record || !cursor || shown.id) return;  // a pinned tensor is still shown
  problem = notFetchedText(cursor);
  emit q->tileChanged();
}

/// Where the cursor's record makes the tensor, or reads it; -1: it does not, or the tensor has a name of its
/// own.
int TensorModel::Private::chipOf(const std::vector<TensorChip>& among,
                                 const protocol::TensorInfo& tensor) const {
  if (!tensor.name.empty()) return -1;
  for (const TensorRole role : {TensorRole::output, TensorRole::input})
    for (std::size_t i = 0; i < among.size(); ++i)
      if (among[i].role == role && among[i].available && among[i].info.id == tensor.id &&
          among[i].record == session->cursor())
        return static_cast<int>(i);
  return -1;
}

void TensorModel::Private::pick(const protocol::TensorInfo& tensor) {
  if (const int known = chipOf(chips, tensor); known >= 0) return q->selectChip(known);
  TensorChip chip;
  chip.info = tensor;
  const Record* maker = tensor.producer ? session->cachedRecord(tensor.producer) : nullptr;
  chip.label = !tensor.name.empty() ? QString::fromStdString(tensor.name)
               : maker           ? QStringLiteral("%1, op %2").arg(opText(*maker), countText(maker->number))
               : tensor.producer ? QStringLiteral("of op %1").arg(countText(tensor.producer))
                                 : QStringLiteral("constant");
  q->showTensor(chip);
  pickedAt = session->cursor();  // its record may still be on its way
}

void TensorModel::Private::pickNamed(const protocol::TensorInfo& tensor, bool variable) {
  TensorChip chip;
  chip.info = tensor;
  chip.label = QString::fromStdString(tensor.name);
  q->showTensor(chip);
  const RecordNumber moment = session->moment() ? session->moment() : session->stoppedBefore();
  named = Named{variable, moment ? moment : session->recordCount() + 1, tensor.id};
  followNamed();
}

void TensorModel::Private::choose(const TensorChip& chip) {
  if (!sticky || sticky->role != TensorRole::chosen) stickyBefore = sticky;
  sticky = ChipChoice{chip.role, chip.slot};
}

void TensorModel::Private::letExtraGo() {
  if (!sticky || sticky->role != TensorRole::chosen) return;
  sticky = stickyBefore;
  pickedAt = 0;
}

/// What a name in the program means goes with the moment: a variable's tab shows the value that it had then,
/// any other one says when it had the name.
void TensorModel::Private::followNamed() {
  if (!named || !extra) return;
  const RecordNumber moment = session->moment();
  if (named->variable) {
    session->request<protocol::HeldValue>(
        protocol::GetVersion{named->version, protocol::if_there(moment)}, q,
        [this](const protocol::HeldValue& held) { takeVersion(held); },
        [this](const protocol::Failure&) { takeVersion({}); }, QStringLiteral("tensor/version"));
    return;
  }
  const RecordNumber now = moment                     ? moment
                           : session->stoppedBefore() ? session->stoppedBefore()
                                                      : session->recordCount() + 1;
  const QString name = QString::fromStdString(extra->info.name);
  extra->label = now == named->at ? name
                 : named->at > session->recordCount()
                     ? QStringLiteral("%1 · now").arg(name)
                     : QStringLiteral("%1 · at op %2").arg(name, countText(named->at));
  showExtra();
}

void TensorModel::Private::takeVersion(const protocol::HeldValue& held) {
  if (!named || !extra || !named->variable) return;
  const std::string name = extra->info.name;
  extra->info = held.tensor;
  extra->info.name = name;
  extra->available = held.tensor.id != 0 && elementCount(held.tensor.shape) >= 0;
  const RecordNumber moment = session->moment();
  extra->label = QString::fromStdString(name);
  if (moment) extra->label += QStringLiteral(" · at op %1").arg(countText(moment));
  showExtra();
}

void TensorModel::Private::showExtra() {
  if (chips.empty() || chips.back().role != TensorRole::chosen) return;
  chips.back() = *extra;
  if (current == static_cast<int>(chips.size()) - 1) return showChip(current);
  emit q->chipsChanged();
}

void TensorModel::Private::showChip(int index) {
  current = index;
  shownRecord = index >= 0 ? chips[static_cast<std::size_t>(index)].record : 0;
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
  statisticsProblem.clear();
  dropRequests();
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
  updateGrid();
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
  if (window.rows > 0 && window.columns > 0) limitCells(window, max_tile_cells);
}

TensorModel::TensorModel(Session* session, QObject* parent)
    : QObject(parent), d_(std::make_unique<Private>()) {
  d_->q = this;
  d_->session = session;
  d_->timer.setSingleShot(true);
  d_->timer.setInterval(0);
  connect(&d_->timer, &QTimer::timeout, this, [this] { d_->ask(); });
  connect(session, &Session::cursorChanged, this, [this] {
    d_->update();
    d_->followNamed();
  });
  connect(session, &Session::cursorChosen, this, [this] {
    d_->letExtraGo();
    d_->update();
  });
  connect(session, &Session::namedPicked, this,
          [this](const protocol::TensorInfo& tensor, bool variable) { d_->pickNamed(tensor, variable); });
  connect(session, &Session::tensorPicked, this,
          [this](const protocol::TensorInfo& tensor) { d_->pick(tensor); });
  connect(session, &Session::stopped, this, [this](RecordNumber record) {
    // Steps follow what the user asked for; what stops by itself wants to be seen.
    const auto& reason = d_->session->status().stop_reason;
    if (record && reason != "step" && reason != "step out") d_->letExtraGo();
    d_->update();
    d_->followNamed();
  });
  connect(session, &Session::recordsChanged, this, [this](RecordNumber first, RecordNumber last) {
    for (const RecordNumber number : {d_->session->cursor(), d_->awaited, d_->shownRecord}) {
      if (number < first || number > last) continue;
      d_->update();
      return;
    }
  });
  connect(session, &Session::liveChanged, this, [this](bool live) {
    if (live && d_->shown.id && !d_->tile) d_->want(!d_->statistics);
    if (!live) d_->update();
    emit tileChanged();
  });
  connect(session, &Session::lookChanged, this, [this] { d_->updateLook(); });
  connect(session, &Session::statusChanged, this, [this] { d_->refetch(); });
  connect(session, &Session::cleared, this, [this] {
    d_->chips.clear();
    d_->extra.reset();
    d_->named.reset();
    d_->showChip(-1);
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
const TensorChip* TensorModel::chip() const {
  return d_->current >= 0 ? &d_->chips[static_cast<std::size_t>(d_->current)] : nullptr;
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
QString TensorModel::statisticsProblem() const {
  return d_->statisticsProblem;
}
bool TensorModel::loading() const {
  return d_->asking() || (d_->tileDue && d_->shown.id && d_->session->live());
}
QString TensorModel::progress() const {
  return loading() ? d_->progress : QString();
}
QString TensorModel::problem() const {
  return d_->problem;
}

void TensorModel::selectChip(int index) {
  if (index < 0 || index >= static_cast<int>(d_->chips.size())) return;
  const TensorChip& chip = d_->chips[static_cast<std::size_t>(index)];
  d_->choose(chip);
  d_->showChip(index);
}

void TensorModel::showTensor(const TensorChip& chip) {
  if (d_->extra && !d_->chips.empty() && d_->chips.back().role == TensorRole::chosen) d_->chips.pop_back();
  d_->named.reset();
  d_->session->drop(QStringLiteral("tensor/version"));
  d_->extra = chip;
  d_->extra->role = TensorRole::chosen;
  d_->extra->slot = 0;
  d_->extra->available = chip.info.id != 0 && elementCount(chip.info.shape) >= 0;
  d_->choose(*d_->extra);
  d_->chips.push_back(*d_->extra);
  d_->showChip(static_cast<int>(d_->chips.size()) - 1);
}

void TensorModel::setReshapeText(const QString& text) {
  if (d_->shown.id == 0 || text == reshapeText()) return;
  d_->texts[d_->shown.shape] = text;
  const auto before = d_->grid;
  const auto beforeShape = d_->shape;
  d_->applyText();
  if (d_->grid == before && d_->shape == beforeShape) return;
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
  d_->updateGrid();
  d_->tile.reset();
  d_->imageTile.reset();
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

}  // namespace tapedeck::inspector
