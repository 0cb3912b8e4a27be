#include "inspector/model/variables/variables_model.h"

namespace tapedeck::inspector {

using protocol::ValueScope;

VariablesModel::VariablesModel(Session* session, FramesModel* frames, QObject* parent)
    : ValueTree(session, frames, QStringLiteral("variables"), parent) {
  connect(frames, &FramesModel::placeChanged, this, [this] {
    if (active()) showGroups();
  });
  connect(session, &Session::cleared, this, [this] {
    while (rowCount() > 0) removeRoot(rowCount() - 1);
  });
}

ValueTree::Node* VariablesModel::group(ValueScope scope) const {
  for (const auto& node : root()->children)
    if (node->scope == scope) return node.get();
  return nullptr;
}

ValueTree::Node* VariablesModel::addGroup(ValueScope scope, int row) {
  protocol::ValueInfo info;
  Node* added = addRoot(info, Group, row);
  added->scope = scope;
  return added;
}

void VariablesModel::name(Node* group, const QString& title) {
  if (group->info.name == title.toStdString()) return;
  group->info.name = title.toStdString();
  emit dataChanged(indexOf(group), indexOf(group));
}

// While the frames of a new stop are on their way the groups stay as they were.
void VariablesModel::showGroups() {
  if (!frames()->readable() || ((frames()->stop() || frames()->moment()) && !frames()->known())) return;
  const QString noted = frames()->notedText();
  const QString when = noted.isEmpty() ? QString() : QStringLiteral(" · %1").arg(noted);
  const protocol::Frame* frame = frames()->currentFrame();
  Node* locals = group(ValueScope::locals);
  const QString unknown = frames()->unknownFunction();
  const bool wanted = (frame && frame->has_locals) || !unknown.isEmpty();
  if (locals && !wanted) removeRoot(0);
  if (wanted) {
    const bool added = !locals;
    if (added) locals = addGroup(ValueScope::locals, 0);
    name(locals,
         unknown.isEmpty()
             ? QStringLiteral("Locals of %1%2").arg(QString::fromStdString(frame->function), when)
             : QStringLiteral("Locals of %1 · not known: no stop had been made there by then").arg(unknown));
    if (added) fetch(locals, 0);
  }
  Node* globals = group(ValueScope::globals);
  const bool known = globals;
  if (!known) globals = addGroup(ValueScope::globals, rowCount());
  name(globals, QStringLiteral("Globals%1").arg(when));
  if (!known) fetch(globals, 0);
}

void VariablesModel::refresh() {
  if (!frames()->readable()) return;
  showGroups();
  for (const auto& group : root()->children) fetch(group.get(), 0);
}

// ---- the filter

ValueFilter::ValueFilter(ValueTree* tree, QObject* parent) : QSortFilterProxyModel(parent) {
  setSourceModel(tree);
  setDynamicSortFilter(true);
  sort(ValueTree::Name);
}

void ValueFilter::setText(const QString& text) {
  words_ = text.split(QLatin1Char(' '), Qt::SkipEmptyParts);
  invalidateFilter();
}

void ValueFilter::setShowsCode(bool shows) {
  showsCode_ = shows;
  invalidateFilter();
}

bool ValueFilter::filterAcceptsRow(int row, const QModelIndex& parent) const {
  if (parent.data(ValueTree::RowKindRole).toInt() != ValueTree::Group || !parent.isValid()) return true;
  const QModelIndex index = sourceModel()->index(row, 0, parent);
  const int kind = index.data(ValueTree::RowKindRole).toInt();
  if (kind == ValueTree::More) return true;
  if (kind == ValueTree::Code && !showsCode_) return false;
  return std::all_of(words_.begin(), words_.end(), [&](const QString& word) {
    for (const int column :
         {ValueTree::Name, ValueTree::Value, ValueTree::Type, ValueTree::Shape, ValueTree::Dtype})
      if (index.siblingAtColumn(column).data().toString().contains(word, Qt::CaseInsensitive)) return true;
    return false;
  });
}

bool ValueFilter::lessThan(const QModelIndex& left, const QModelIndex& right) const {
  const auto kind = [](const QModelIndex& index) { return index.data(ValueTree::RowKindRole).toInt(); };
  const bool ascending = sortOrder() == Qt::AscendingOrder;
  if (kind(left) == ValueTree::Group) return (left.row() < right.row()) == ascending;
  if ((kind(left) == ValueTree::More) != (kind(right) == ValueTree::More))
    return (kind(right) == ValueTree::More) == ascending;
  const bool items = kind(left.parent()) != ValueTree::Group;
  if (items && left.column() == ValueTree::Name)
    return left.data(ValueTree::PositionRole).toULongLong() <
           right.data(ValueTree::PositionRole).toULongLong();
  const QVariant a = left.data(ValueTree::SortRole), b = right.data(ValueTree::SortRole);
  const auto before = QVariant::compare(a, b);
  if (before != QPartialOrdering::Equivalent && before != QPartialOrdering::Unordered)
    return before == QPartialOrdering::Less;
  return left.row() < right.row();
}

}  // namespace tapedeck::inspector
