#include "inspector/model/variables/value_tree.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "inspector/model/format.h"
#include "inspector/model/plain_tip.h"
#include "inspector/model/variables/value_text.h"

namespace tapedeck::inspector {

namespace {

constexpr std::uint32_t rows_at_once = 500;

}  // namespace

int ValueTree::Node::row() const {
  if (!parent) return 0;
  const auto& all = parent->children;
  const auto found =
      std::find_if(all.begin(), all.end(), [this](const auto& one) { return one.get() == this; });
  return static_cast<int>(found - all.begin());
}

ValueTree::ValueTree(Session* session, FramesModel* frames, const QString& channel, QObject* parent)
    : QAbstractItemModel(parent),
      session_(session),
      frames_(frames),
      channel_(channel),
      root_(std::make_unique<Node>()) {
  const auto news = [this] {
    stale_ = !active_;
    if (active_) refresh();
  };
  connect(frames, &FramesModel::moved, this, news);
  connect(frames, &FramesModel::currentChanged, this, news);
  connect(session, &Session::cleared, this, [this] { histograms_.clear(); });
}

ValueTree::~ValueTree() = default;

void ValueTree::setActive(bool active) {
  active_ = active;
  if (!active || !std::exchange(stale_, false)) return;
  refresh();
}

// ---- the tree

ValueTree::Node* ValueTree::nodeOf(const QModelIndex& index) const {
  return index.isValid() ? static_cast<Node*>(index.internalPointer()) : root_.get();
}

QModelIndex ValueTree::indexOf(const Node* node, int column) const {
  return node == root_.get() ? QModelIndex() : createIndex(node->row(), column, node);
}

QModelIndex ValueTree::index(int row, int column, const QModelIndex& parent) const {
  const Node* node = nodeOf(parent);
  if (row < 0 || row >= static_cast<int>(node->children.size()) || column < 0 || column >= ColumnCount)
    return {};
  return createIndex(row, column, node->children[static_cast<std::size_t>(row)].get());
}

QModelIndex ValueTree::parent(const QModelIndex& index) const {
  return index.isValid() ? indexOf(nodeOf(index)->parent) : QModelIndex();
}

int ValueTree::rowCount(const QModelIndex& parent) const {
  return parent.column() > 0 ? 0 : static_cast<int>(nodeOf(parent)->children.size());
}

int ValueTree::columnCount(const QModelIndex&) const {
  return ColumnCount;
}

bool ValueTree::hasChildren(const QModelIndex& parent) const {
  const Node* node = nodeOf(parent);
  return node == root_.get() ? !node->children.empty()
                             : node->kind == Group || !node->children.empty() || node->info.items > 0;
}

bool ValueTree::canFetchMore(const QModelIndex& parent) const {
  const Node* node = nodeOf(parent);
  return node != root_.get() && !node->asked && node->info.items > 0 && frames_->readable();
}

void ValueTree::fetchMore(const QModelIndex& parent) {
  if (canFetchMore(parent)) fetch(nodeOf(parent), 0);
}

ValueTree::Node* ValueTree::addRoot(const protocol::ValueInfo& info, RowKind kind, int row) {
  beginInsertRows({}, row, row);
  auto node = std::make_unique<Node>();
  node->info = info;
  node->kind = kind;
  node->parent = root_.get();
  Node* const added = root_->children.insert(root_->children.begin() + row, std::move(node))->get();
  endInsertRows();
  return added;
}

void ValueTree::removeRoot(int row) {
  beginRemoveRows({}, row, row);
  root_->children.erase(root_->children.begin() + row);
  endRemoveRows();
}

// ---- the path of a node, for the session and for the user

protocol::ValuePlace ValueTree::placeOf(const Node* node) const {
  protocol::ValuePlace place;
  place.stop = protocol::if_there(frames_->stop());
  place.frame = static_cast<std::uint32_t>(frames_->current());
  place.moment = protocol::if_there(frames_->moment());
  std::vector<std::uint64_t> path;
  // A group's variables are found by their names, what is below them by position.
  const Node* at = node;
  for (; at->parent != root_.get() && at->parent->kind != Group; at = at->parent)
    path.push_back(at->info.item);
  const Node* top = at->parent == root_.get() ? at : at->parent;
  place.scope = top->scope;
  place.name = protocol::if_there(at == top ? top->name : at->info.name);
  place.path.assign(path.rbegin(), path.rend());
  return place;
}

QString ValueTree::rootExpression(const Node& node) const {
  return QString::fromStdString(node.info.name);
}

QString ValueTree::expressionOf(const Node* node) const {
  if (node->kind == Group || node->kind == More || node == root_.get()) return {};
  if (node->parent == root_.get()) return rootExpression(*node);
  return expressionOf(node->parent) + QString::fromStdString(node->info.name);
}

// ---- asking

QString ValueTree::channelOf(const Node* node) const {
  const protocol::ValuePlace place = placeOf(node);
  return QStringLiteral("%1/%2/%3")
             .arg(channel_, expressionOf(node), QString::fromStdString(place.name.value_or(""))) +
         QString::number(static_cast<int>(place.scope));
}

void ValueTree::fetch(Node* node, std::uint64_t first) {
  node->asked = true;
  if (first == 0) {
    const bool more = !node->children.empty() && node->children.back()->kind == More;
    node->wanted = std::max<std::uint64_t>(rows_at_once, node->children.size() - (more ? 1 : 0));
    node->reached = 0;
    ++node->round;
  }
  const QPersistentModelIndex place = indexOf(node);
  // A round that began meanwhile has asked for all of them anew.
  const auto holds = [this, place, round = node->round] {
    return place.isValid() && nodeOf(place)->round == round;
  };
  const bool asked = session_->request<protocol::Variables>(
      protocol::GetVariables{placeOf(node), first, rows_at_once}, this,
      [this, place, holds](const protocol::Variables& page) {
        if (holds()) takePage(nodeOf(place), page);
      },
      [this, place, holds](const protocol::Failure& failure) {
        if (!holds()) return;
        giveUp(nodeOf(place));
        const bool known = failure.code == "gone" || failure.code == "running" || failure.code == "ended" ||
                           failure.code == "cancelled" ||
                           failure.code == "trace_file";  // the next stop brings news
        if (!known) emit failed(QString::fromStdString(failure.reason));
      },
      channelOf(node));
  if (!asked) giveUp(node);
}

/// The rows that are here stay as they are.
void ValueTree::giveUp(Node* node) {
  node->asked = !node->children.empty();
  setMore(node);
}

/// The session gives so many at once at most: where more are shown, the next page follows.
void ValueTree::takePage(Node* node, const protocol::Variables& page) {
  node->total = page.total;
  mergeRows(node, page);
  const std::uint64_t next = page.first + page.variables.size();
  const bool whole = page.first <= node->reached;  // none of the pages before it was lost
  if (whole) node->reached = next;
  if (!page.variables.empty() && next < std::min(node->wanted, node->total)) return fetch(node, next);
  if (whole) removeStale(node);
  setMore(node);
}

/// Rows that are there stay in their order, those of the pages to come as well.
void ValueTree::mergeRows(Node* node, const protocol::Variables& page) {
  auto& rows = node->children;
  if (!rows.empty() && rows.back()->kind == More) {
    const int last = static_cast<int>(rows.size()) - 1;
    removeRows(node, last, last);
  }
  std::unordered_map<std::string, Node*> known;
  for (const auto& child : rows) known.emplace(child->info.name, child.get());
  std::vector<std::unique_ptr<Node>> fresh;
  for (const protocol::ValueInfo& info : page.variables) {
    if (const auto found = known.find(info.name); found != known.end()) {
      found->second->seen = node->round;
      update(found->second, info);
      continue;
    }
    auto child = std::make_unique<Node>();
    child->info = info;
    child->kind = info.kind == protocol::ValueKind::code ? Code : Plain;
    child->parent = node;
    child->seen = node->round;
    fresh.push_back(std::move(child));
  }
  if (fresh.empty()) return;
  const int first = static_cast<int>(rows.size());
  beginInsertRows(indexOf(node), first, first + static_cast<int>(fresh.size()) - 1);
  std::move(fresh.begin(), fresh.end(), std::back_inserter(rows));
  endInsertRows();
}

/// After the last page: a variable goes when it was in none of them.
void ValueTree::removeStale(Node* node) {
  const auto stale = [node](int row) {
    return node->children[static_cast<std::size_t>(row)]->seen != node->round;
  };
  for (int last = static_cast<int>(node->children.size()) - 1; last >= 0; --last) {
    if (!stale(last)) continue;
    int first = last;
    while (first > 0 && stale(first - 1)) --first;
    removeRows(node, first, last);
    last = first;
  }
}

void ValueTree::removeRows(Node* node, int first, int last) {
  beginRemoveRows(indexOf(node), first, last);
  node->children.erase(node->children.begin() + first, node->children.begin() + last + 1);
  endRemoveRows();
}

void ValueTree::setMore(Node* node) {
  if (node->children.size() >= node->total ||
      (!node->children.empty() && node->children.back()->kind == More))
    return;
  const int row = static_cast<int>(node->children.size());
  beginInsertRows(indexOf(node), row, row);
  auto more = std::make_unique<Node>();
  more->kind = More;
  more->parent = node;
  more->info.name =
      QStringLiteral("… %1 more").arg(countText(node->total - static_cast<quint64>(row))).toStdString();
  node->children.push_back(std::move(more));
  endInsertRows();
}

void ValueTree::loadMore(const QModelIndex& index) {
  const Node* node = nodeOf(index);
  if (node->kind != More) return;
  Node* const parent = node->parent;
  const std::uint64_t shown = parent->children.size() - 1;
  parent->wanted = shown + rows_at_once;
  // Where its items are on their way, these follow.
  if (!session_->asking(channelOf(parent))) fetch(parent, shown);
}

void ValueTree::update(Node* node, const protocol::ValueInfo& info) {
  protocol::ValueInfo& old = node->info;
  node->changed = old.text != info.text || old.type != info.type || old.tensor != info.tensor ||
                  old.shape != info.shape || old.items != info.items || node->error;
  node->error = false;
  const bool leaf = info.items == 0 && old.items != 0;
  old = info;
  node->histogram.clear();
  if (node->kind != Group) node->kind = info.kind == protocol::ValueKind::code ? Code : Plain;
  if (leaf && !node->children.empty()) removeRows(node, 0, static_cast<int>(node->children.size()) - 1);
  if (leaf) node->asked = false;
  emit dataChanged(indexOf(node, 0), indexOf(node, ColumnCount - 1));
  if (node->asked && info.items > 0) fetch(node, 0);
}

void ValueTree::updateError(Node* node, const QString& sentence, const std::optional<std::string>& asOf) {
  protocol::ValueInfo info;
  info.name = node->info.name;
  info.text = sentence.toStdString();
  info.as_of = asOf;
  update(node, info);
  node->error = true;
  emit dataChanged(indexOf(node, 0), indexOf(node, ColumnCount - 1));
}

bool ValueTree::setData(const QModelIndex& index, const QVariant& value, int role) {
  Node* node = nodeOf(index);
  const QString text = value.toString().trimmed();
  if (role != Qt::EditRole || index.column() != Value || text.isEmpty()) return false;
  if (frames_->moment()) {  // an editor that was open when the cursor went there
    tellNotEdited(index);
    return false;
  }
  if (!node->info.edit) return false;
  if (text == QString::fromStdString(*node->info.edit)) return true;
  const QString name = expressionOf(node);
  const auto refuse = [this, name](const QString& reason) {
    emit failed(QStringLiteral("%1 keeps its value: %2").arg(name, reason));
  };
  const bool asked = session_->request<protocol::Evaluation>(
      protocol::Assign{placeOf(node), text.toStdString()}, this,
      [this, refuse, place = QPersistentModelIndex(index)](const protocol::Evaluation& answer) {
        if (answer.error) return refuse(QString::fromStdString(*answer.error));
        if (answer.note) emit told(QString::fromStdString(*answer.note));
        frames_->touch();
        if (place.isValid()) hold(place, true);
      },
      [refuse](const protocol::Failure& failure) { refuse(QString::fromStdString(failure.reason)); });
  if (!asked) refuse(QStringLiteral("there is no session."));
  return asked;
}

void ValueTree::tellNotEdited(const QModelIndex& index) {
  const Node* node = nodeOf(index);
  if (!frames_->moment() || !index.isValid() || node->kind == Group || node->kind == More) return;
  emit failed(
      QStringLiteral("%1 is shown as it was at op %2, and the past is not edited: Alt+End goes to the newest "
                     "op. What if (F4) changes a copy of the past.")
          .arg(expressionOf(node), countText(frames_->moment())));
}

void ValueTree::show(const QModelIndex& index) {
  hold(index, false);
}

void ValueTree::hold(const QModelIndex& index, bool afterEdit) {
  const Node* node = nodeOf(index);
  if (!showable(node->info)) return;
  session_->request<protocol::HeldValue>(
      protocol::HoldValue{placeOf(node)}, this,
      [this](const protocol::HeldValue& held) { session_->pickNamed(held.tensor, held.variable); },
      [this, afterEdit](const protocol::Failure& failure) {
        // What came of the edit has been told: that the program went on then is no news about it.
        const bool known = failure.code == "cancelled" ||
                           (afterEdit && (failure.code == "gone" || failure.code == "running"));
        if (!known) emit failed(QString::fromStdString(failure.reason));
      },
      channel_ + QStringLiteral("/show"));
}

// ---- what views read

Qt::ItemFlags ValueTree::flags(const QModelIndex& index) const {
  if (!index.isValid()) return {};
  Qt::ItemFlags flags = Qt::ItemIsEnabled | Qt::ItemIsSelectable;
  const Node* node = nodeOf(index);
  if (index.column() == Value && node->info.edit && frames_->readable() && !frames_->moment() &&
      node->kind != Group)
    flags |= Qt::ItemIsEditable;
  return flags;
}

QVariant ValueTree::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const Node& node = *nodeOf(index);
  switch (role) {
    case Qt::DisplayRole:
      return node.kind == Group || node.kind == More
                 ? (index.column() == Name ? QVariant(QString::fromStdString(node.info.name)) : QVariant())
                 : valueText(node.info, static_cast<ValueColumn>(index.column()));
    case Qt::EditRole:
      return QString::fromStdString(node.info.edit.value_or(""));
    case Qt::ToolTipRole:
      return node.kind == More ? QStringLiteral("Double click or Enter loads more of them")
                               : plainTip(valueTip(node.info));
    case AsOfRole:
      return index.column() == Value ? QString::fromStdString(node.info.as_of.value_or("")) : QString();
    case HistogramRole:
      return QVariant::fromValue(index.column() == Histogram ? histogramOf(node) : QList<quint64>());
    case SortRole:
      return valueSortKey(node.info, static_cast<ValueColumn>(index.column()));
    case PositionRole:
      return static_cast<qulonglong>(node.info.item);
    case RowKindRole:
      return node.kind;
    case ExpressionRole:
      return expressionOf(&node);
    case CanShowRole:
      return showable(node.info);
    case ErrorRole:
      return node.error || node.info.problem;
    case ChangedRole:
      return node.changed && node.kind != Group;
    default:
      return {};
  }
}

QVariant ValueTree::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
  const QStringList names = {QStringLiteral("Name"),  QStringLiteral("Value"),    QStringLiteral("Type"),
                             QStringLiteral("Shape"), QStringLiteral("Dtype"),    QStringLiteral("Device"),
                             QStringLiteral("Bytes"), QStringLiteral("Histogram")};
  return names.value(section);
}

}  // namespace tapedeck::inspector
