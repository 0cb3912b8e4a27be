#include "inspector/model/functions/graph_tree.h"

#include <algorithm>

#include "inspector/model/functions/graph_text.h"
#include "inspector/model/plain_tip.h"

namespace tapedeck::inspector {

using protocol::GraphRow;

namespace {

bool isCounted(const GraphRow& row) {
  return row.number && row.op != "argument" && row.op != "captured";
}

}  // namespace

GraphTree::GraphTree(QObject* parent) : QAbstractItemModel(parent) {}

void GraphTree::setRows(std::vector<GraphRow> rows) {
  beginResetModel();
  rows_ = std::move(rows);
  searched_.clear();
  build();
  endResetModel();
}

void GraphTree::setFilter(const QString& words) {
  const QStringList wanted = words.split(QLatin1Char(' '), Qt::SkipEmptyParts);
  if (words_ == wanted) return;
  beginResetModel();
  words_ = wanted;
  build();
  endResetModel();
}

QString GraphTree::textOf(const GraphRow& row, int column) const {
  switch (column) {
    case Node:
      return QString::fromStdString(row.number ? row.name : row.op);
    case Op:
      return row.number ? QString::fromStdString(row.op) : QString();
    case Inputs:
      return inputsText(row);
    case Attributes:
      return QString::fromStdString(row.attributes);
    case Result:
      return QString::fromStdString(row.result);
    case Place:
      if (!row.line) return {};
      return placeText_ ? placeText_(row) : QStringLiteral("line %1").arg(row.line);
    case Change:
      return QString::fromStdString(row.note);
    default:
      return {};
  }
}

/// Once for a graph: the words change with every letter that is typed.
void GraphTree::writeSearched() {
  if (searched_.size() == static_cast<qsizetype>(rows_.size())) return;
  searched_.reserve(static_cast<qsizetype>(rows_.size()));
  for (const GraphRow& row : rows_) {
    QStringList parts{QString::fromStdString(row.scope)};
    if (row.line) parts << QStringLiteral("line %1").arg(row.line);
    for (int column = 0; column < ColumnCount; ++column)
      if (column != Place) parts << textOf(row, column);
    searched_ << parts.join(QLatin1Char('\n'));
  }
}

void GraphTree::build() {
  const std::size_t count = rows_.size();
  parents_.assign(count, -1);
  positions_.assign(count, -1);
  children_.assign(count, {});
  top_.clear();
  nodes_ = matches_ = others_ = 0;
  std::vector<int> around;  // the last row of each depth
  std::vector<bool> shown(count, false), gone(count, false);
  if (!words_.isEmpty()) writeSearched();
  const auto fits = [&](std::size_t row) {
    const QString& text = searched_[static_cast<qsizetype>(row)];
    return std::ranges::all_of(words_,
                               [&](const QString& word) { return text.contains(word, Qt::CaseInsensitive); });
  };
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t depth = std::min<std::size_t>(rows_[i].depth, around.size());
    around.resize(depth);
    parents_[i] = around.empty() ? -1 : around.back();
    around.push_back(static_cast<int>(i));
    gone[i] = isGone(rows_[i]) || (parents_[i] >= 0 && gone[static_cast<std::size_t>(parents_[i])]);
    const bool isNode = rows_[i].number.has_value();
    const bool counts = isCounted(rows_[i]) && !gone[i];
    nodes_ += counts;
    if (!words_.isEmpty() && (!isNode || !fits(i))) continue;
    matches_ += counts;
    others_ += isNode && !counts;
    for (int at = static_cast<int>(i); at >= 0 && !shown[static_cast<std::size_t>(at)];
         at = parents_[static_cast<std::size_t>(at)])
      shown[static_cast<std::size_t>(at)] = true;
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (!shown[i]) continue;
    std::vector<int>& list = parents_[i] < 0 ? top_ : children_[static_cast<std::size_t>(parents_[i])];
    positions_[i] = static_cast<int>(list.size());
    list.push_back(static_cast<int>(i));
  }
}

const std::vector<int>& GraphTree::childrenOf(int place) const {
  return place < 0 ? top_ : children_[static_cast<std::size_t>(place)];
}

QModelIndex GraphTree::indexOf(int place, int column) const {
  const int position = positions_[static_cast<std::size_t>(place)];
  return position < 0 ? QModelIndex() : createIndex(position, column, static_cast<quintptr>(place));
}

QModelIndex GraphTree::index(int row, int column, const QModelIndex& parent) const {
  if (!hasIndex(row, column, parent)) return {};
  const int above = parent.isValid() ? place(parent) : -1;
  return createIndex(row, column, static_cast<quintptr>(childrenOf(above)[static_cast<std::size_t>(row)]));
}

QModelIndex GraphTree::parent(const QModelIndex& index) const {
  if (!index.isValid()) return {};
  const int above = parents_[static_cast<std::size_t>(place(index))];
  return above < 0 ? QModelIndex() : indexOf(above);
}

int GraphTree::rowCount(const QModelIndex& parent) const {
  if (parent.isValid() && parent.column() != 0) return 0;
  return static_cast<int>(childrenOf(parent.isValid() ? place(parent) : -1).size());
}

int GraphTree::columnCount(const QModelIndex&) const {
  return ColumnCount;
}

const GraphRow* GraphTree::row(const QModelIndex& index) const {
  return index.isValid() ? &rows_[static_cast<std::size_t>(place(index))] : nullptr;
}

QModelIndex GraphTree::inputNode(const QModelIndex& index, int input) const {
  const GraphRow* reader = row(index);
  if (!reader || input < 0 || static_cast<std::size_t>(input) >= reader->inputs.size()) return {};
  const std::int64_t number = reader->inputs[static_cast<std::size_t>(input)].number;
  const int above = parents_[static_cast<std::size_t>(place(index))];
  // Before it, in the same graph.
  for (int at = place(index) - 1; at > above; --at)
    if (parents_[static_cast<std::size_t>(at)] == above &&
        rows_[static_cast<std::size_t>(at)].number == number)
      return indexOf(at);
  return {};
}

QModelIndex GraphTree::reader(const QModelIndex& index) const {
  const GraphRow* made = row(index);
  if (!made || !made->number) return {};
  const int above = parents_[static_cast<std::size_t>(place(index))];
  for (std::size_t at = static_cast<std::size_t>(place(index)) + 1; at < rows_.size(); ++at) {
    if (above >= 0 && rows_[at].depth <= rows_[static_cast<std::size_t>(above)].depth) break;
    if (parents_[at] != above) continue;
    const auto reads = [&](const protocol::GraphInput& input) { return input.number == *made->number; };
    if (std::ranges::any_of(rows_[at].inputs, reads)) return indexOf(static_cast<int>(at));
  }
  return {};
}

QVariant GraphTree::data(const QModelIndex& index, int role) const {
  const GraphRow* here = row(index);
  if (!here) return {};
  switch (role) {
    case Qt::DisplayRole:
      return textOf(*here, index.column());
    case Qt::ToolTipRole:
      return plainTip(rowLine(*here).trimmed() +
                      (here->scope.empty()
                           ? QString()
                           : QStringLiteral("\nscope %1").arg(QString::fromStdString(here->scope))));
    case Qt::AccessibleTextRole: {
      const QString text = textOf(*here, index.column());
      return isGone(*here) && index.column() == Node ? text + QStringLiteral(", not in the graph any longer")
                                                     : text;
    }
    case GoneRole:
      return isGone(*here);
    case ChangedRole:
      return here->change != protocol::NodeChange::none;
    case HeadingRole:
      return !here->number.has_value();
    default:
      return {};
  }
}

QVariant GraphTree::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
  static const char* const titles[] = {"Node",   "Op",    "Inputs",     "Attributes",
                                       "Result", "Where", "By the pass"};
  return QString::fromLatin1(titles[section]);
}

}  // namespace tapedeck::inspector
