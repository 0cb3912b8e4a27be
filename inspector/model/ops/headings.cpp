#include "inspector/model/ops/headings.h"

#include <algorithm>

#include "engine/protocol/record_filter.h"
#include "inspector/model/format.h"

namespace tapedeck::inspector {

namespace {

const QString groups_channel = QStringLiteral("ops/groups");

QString opsText(quint64 count) {
  return count == 1 ? QStringLiteral("1 op") : QStringLiteral("%1 ops").arg(countText(count));
}

}  // namespace

QString Heading::text() const {
  QStringList parts{name, count};
  if (!state.isEmpty()) parts << state;
  return parts.join(QStringLiteral(" · "));
}

Headings::Headings(Session* session, std::function<Listing()> listing, QObject* parent)
    : QObject(parent), session_(session), listing_(std::move(listing)) {
  timer_.setSingleShot(true);
  timer_.setInterval(0);
  connect(&timer_, &QTimer::timeout, this, &Headings::ask);
  connect(session, &Session::statusChanged, this, &Headings::schedule);
  connect(session, &Session::liveChanged, this, &Headings::schedule);
  layTimer_.setSingleShot(true);
  layTimer_.setInterval(0);
  connect(&layTimer_, &QTimer::timeout, this, &Headings::laySlice);
  connect(session, &Session::cleared, this, &Headings::restart);
  schedule();
}

void Headings::restart() {
  session_->drop(groups_channel);
  const HeadingLevel next = nextLevel();
  coming_.reset();
  layTimer_.stop();
  tree_.clear();
  tree_.set_level(next);
  rows_.clear();
  endedSeen_ = cellsEndedSeen_ = 0;
  runningSeen_.reset();
}

// ---- another level

void Headings::setLevel(HeadingLevel level) {
  coming_.reset();
  layTimer_.stop();
  if (level == this->level()) return emit progressed();
  coming_.emplace(Coming{tree_.with_level(level), {}});
  coming_->rows.fold_as(rows_);
  laySlice();
}

void Headings::laySlice() {
  if (!coming_) return;
  const std::size_t built = coming_->tree.build(slice);
  if (built < slice && coming_->rows.lay(coming_->tree, listing_(), slice - built)) return emit ready();
  layTimer_.start();
  emit progressed();
}

std::optional<int> Headings::progress() const {
  if (!coming_) return std::nullopt;
  const auto share = [](std::uint64_t done, std::uint64_t all) {
    return all == 0 ? 50 : static_cast<int>(done * 50 / all);
  };
  // Rows are laid when the groups are complete.
  return share(coming_->tree.covered(), coming_->tree.known()) +
         (coming_->rows.laid() ? share(coming_->rows.laid(), listing_().count) : 0);
}

void Headings::arrive() {
  if (!coming_) return;
  tree_ = std::move(coming_->tree);
  rows_ = std::move(coming_->rows);
  coming_.reset();
  schedule();
}

RowChange Headings::setFolded(std::uint32_t heading, bool folded) {
  const RowChange change = rows_.set_folded(tree_, heading, folded);
  if (coming_) coming_->rows.fold_as(rows_);
  return change;
}

RowChange Headings::setAllFolded(HeadingLevel kind, bool folded) {
  const RowChange change = rows_.set_all_folded(kind, folded);
  if (coming_) coming_->rows.fold_as(rows_);
  return change;
}

// ---- what the session has

void Headings::schedule() {
  if (level() == HeadingLevel::none || !session_->live() || timer_.isActive() ||
      session_->asking(groups_channel))
    return;
  const protocol::Status& status = session_->status();
  if (tree_.known() < session_->recordCount() || status.ended != endedSeen_ ||
      status.cells_ended != cellsEndedSeen_ || status.running_cell != runningSeen_)
    timer_.start();
}

void Headings::ask() {
  if (!session_->live() || session_->asking(groups_channel)) return;
  const protocol::Status& status = session_->status();
  endedSeen_ = status.ended;
  cellsEndedSeen_ = status.cells_ended;
  runningSeen_ = status.running_cell;
  // A failure ends it until the session says something new.
  session_->request<protocol::RecordGroups>(
      tree_.next_request(), this, [this](const protocol::RecordGroups& groups) { take(groups); },
      [](const protocol::Failure&) {}, groups_channel);
}

void Headings::take(const protocol::RecordGroups& groups) {
  const std::uint64_t before = tree_.known();
  const std::uint64_t from = tree_.add(groups, session_->recordCount());
  if (coming_) {
    const std::uint64_t changed = coming_->tree.take_in(groups, session_->recordCount());
    coming_->rows.rewind(coming_->tree, listing_(), changed);
  }
  emit grouped(from);
  if (tree_.known() > before) schedule();
}

RowChange Headings::update(RecordNumber from) {
  if (coming_) coming_->rows.rewind(coming_->tree, listing_(), from);
  return rows_.update(tree_, listing_(), from);
}

void Headings::startOver() {
  rows_.clear();
  rows_.update(tree_, listing_(), 1);
  if (coming_) coming_->rows.clear();
}

HeadingLevel Headings::kindOf(std::uint32_t heading) const {
  const GroupTree::Kind kind = tree_.nodes()[rows_.node_of(heading)].kind;
  if (kind == GroupTree::Kind::run) return HeadingLevel::cell;
  return kind == GroupTree::Kind::scope || kind == GroupTree::Kind::call ? HeadingLevel::scope
                                                                         : HeadingLevel::step;
}

QString Headings::cellName(const protocol::RunGroup& run) const {
  const QString id = QString::fromStdString(run.cell);
  QString name = run.execution          ? QString::fromStdString(protocol::execution_label(run.execution))
                 : labels_.contains(id) ? labels_.value(id)
                 : id.startsWith(u'/')  ? id.section(u'/', -1)
                 : id.isEmpty()         ? QStringLiteral("code outside of cells")
                                        : QStringLiteral("cell %1").arg(id.left(8));
  const bool file = id.startsWith(u'/') && !run.execution;  // whose name has its own capitals
  if (!file) name.replace(0, 1, name.left(1).toUpper());
  return run.of_cell > 1 ? QStringLiteral("%1, run %2").arg(name, countText(run.of_cell)) : name;
}

QString Headings::nameOf(std::uint32_t heading) const {
  const GroupTree::Node& node = tree_.nodes()[rows_.node_of(heading)];
  switch (node.kind) {
    case GroupTree::Kind::run:
      return cellName(tree_.runs()[node.source]);
    case GroupTree::Kind::step:
      return QStringLiteral("%1 step").arg(ordinalText(tree_.steps()[node.source].number));
    case GroupTree::Kind::after:
      return QStringLiteral("after the %1 step").arg(ordinalText(tree_.steps()[node.source].number));
    case GroupTree::Kind::scope:
      return QString::fromStdString(tree_.scope_part(node.source));
    case GroupTree::Kind::call:
      return QString::fromStdString(tree_.calls()[node.source].name);
    case GroupTree::Kind::plain:
      break;
  }
  return {};
}

Heading Headings::at(std::uint32_t heading) const {
  const std::uint32_t place = rows_.node_of(heading);
  const GroupTree::Node& node = tree_.nodes()[place];
  Heading shown;
  shown.name = nameOf(heading);
  const quint64 listed = rows_.end_position(heading) - rows_.first_position(heading);
  const quint64 ops = tree_.end_of(place) - node.first - tree_.calls_in(node.first, tree_.end_of(place));
  // While records come, the listing may be behind the groups.
  shown.count = opsText(std::min(listed, ops));
  if (filtered_)
    shown.count = QStringLiteral("%1 of %2").arg(countText(listed), opsText(std::max<quint64>(listed, ops)));
  if (node.kind == GroupTree::Kind::run) {
    const protocol::RunGroup& run = tree_.runs()[node.source];
    if (run.failed) shown.state = QStringLiteral("failed");
    // A trace may have been saved while its last cell ran.
    if (!run.last && session_->live() && session_->status().running_cell)
      shown.state = QStringLiteral("running");
  }
  shown.depth = node.depth;
  shown.folded = rows_.folded(heading);
  if (shown.folded) {
    const Listing listing = listing_();
    const RecordNumber cursor = session_->cursor();
    const std::uint32_t position = listing.before(cursor);
    shown.holdsCursor = cursor && position < listing.count && listing.record(position) == cursor &&
                        position >= rows_.first_position(heading) && position < rows_.end_position(heading);
  }
  return shown;
}

}  // namespace tapedeck::inspector
