#include "inspector/model/variables/watch_model.h"

#include <utility>

namespace tapedeck::inspector {

namespace {

constexpr std::uint32_t time_limit_ms = 2000;

}  // namespace

WatchModel::WatchModel(Session* session, FramesModel* frames, QObject* parent)
    : ValueTree(session, frames, QStringLiteral("watch"), parent) {
  // The program waits for an evaluation before it goes on.
  connect(frames, &FramesModel::placeChanged, this, [this] {
    if (!this->frames()->readable()) this->session()->drop(evaluateChannel());
  });
}

void WatchModel::append(const QString& expression) {
  expressions_ << expression;
  protocol::ValueInfo info;
  info.name = expression.toStdString();
  addRoot(info, Plain, rowCount())->scope = protocol::ValueScope::result;
}

void WatchModel::setExpressions(const QStringList& expressions) {
  while (rowCount() > 0) removeRoot(rowCount() - 1);
  expressions_.clear();
  waiting_ = QSet<QString>(expressions.cbegin(), expressions.cend());
  for (const QString& expression : expressions) append(expression);
  session()->drop(evaluateChannel());  // its answers are of rows that are gone
  emit waitingChanged();
}

QStringList WatchModel::waiting() const {
  QStringList waiting;
  for (const QString& expression : expressions_)
    if (waiting_.contains(expression)) waiting << expression;
  return waiting;
}

bool WatchModel::waits(const QModelIndex& index) const {
  return index.isValid() && !index.parent().isValid() && waiting_.contains(expressions_.value(index.row()));
}

void WatchModel::tellWaiting() {
  if (rowCount() > 0) emit dataChanged(index(0, 0), index(rowCount() - 1, ColumnCount - 1));
  emit waitingChanged();
}

void WatchModel::accept() {
  if (waiting_.isEmpty()) return;
  waiting_.clear();
  tellWaiting();
  if (active()) refresh();
}

void WatchModel::discard() {
  if (waiting_.isEmpty()) return;
  for (int row = rowCount() - 1; row >= 0; --row)
    if (waiting_.contains(expressions_[row])) removeRow(row);
  waiting_.clear();
  emit waitingChanged();
  emit expressionsChanged();
}

void WatchModel::add(const QString& expression) {
  const QString text = expression.trimmed();
  if (text.isEmpty()) return;
  if (expressions_.contains(text)) {
    if (!waiting_.remove(text)) return;
    tellWaiting();
  } else {
    append(text);
    emit expressionsChanged();
  }
  if (active()) refresh();
}

void WatchModel::removeRow(int row) {
  expressions_.removeAt(row);
  removeRoot(row);
}

void WatchModel::remove(int row) {
  if (row < 0 || row >= rowCount()) return;
  const QString text = expressions_[row];
  removeRow(row);
  if (!expressions_.contains(text) && waiting_.remove(text)) tellWaiting();
  emit expressionsChanged();
  if (active()) refresh();
}

QString WatchModel::rootExpression(const Node& node) const {
  const QString text = QString::fromStdString(node.info.name);
  return node.info.items ? QStringLiteral("(%1)").arg(text) : text;
}

void WatchModel::refresh() {
  if (frames()->readable()) evaluateFrom(0);
}

// One after the other: the answers come in the order in which the user wrote them, and a slow one is reported
// by its own row.
void WatchModel::evaluateFrom(int row) {
  while (row < rowCount() && waits(index(row, 0))) ++row;
  if (row >= rowCount()) return;
  session()->request<protocol::Evaluation>(
      protocol::Evaluate{protocol::if_there(frames()->stop()),
                         static_cast<std::uint32_t>(frames()->current()), expressions_[row].toStdString(),
                         false, time_limit_ms, protocol::if_there(frames()->moment())},
      this,
      [this, row](const protocol::Evaluation& answer) {
        take(row, answer);
        evaluateFrom(row + 1);
      },
      [this, row](const protocol::Failure& failure) {
        if (failure.code != "bad_request" && failure.code != "too_expensive") return;
        if (row < rowCount()) updateError(nodeOf(index(row, 0)), QString::fromStdString(failure.reason));
        evaluateFrom(row + 1);
      },
      evaluateChannel());
}

QString WatchModel::evaluateChannel() const {
  return channel() + QStringLiteral("/evaluate");
}

void WatchModel::take(int row, const protocol::Evaluation& answer) {
  if (row >= rowCount()) return;
  Node* node = nodeOf(index(row, 0));
  if (!answer.value)
    return updateError(node, QString::fromStdString(answer.error.value_or("")), answer.moment);
  protocol::ValueInfo info = *answer.value;
  info.name = node->info.name;
  info.as_of = answer.moment;
  info.edit.reset();  // an expression is no place that a value could be put into
  node->name = std::to_string(answer.result.value_or(0));
  update(node, info);
}

Qt::ItemFlags WatchModel::flags(const QModelIndex& index) const {
  const Qt::ItemFlags flags = ValueTree::flags(index);
  return !index.parent().isValid() && index.column() == Name ? flags | Qt::ItemIsEditable : flags;
}

QVariant WatchModel::data(const QModelIndex& index, int role) const {
  if (role == Qt::EditRole && index.isValid() && !index.parent().isValid())
    return expressions_.value(index.row());
  if (role == Qt::DisplayRole && index.column() == Value && waits(index))
    return QStringLiteral("not evaluated until you accept it");
  return ValueTree::data(index, role);
}

bool WatchModel::setData(const QModelIndex& index, const QVariant& value, int role) {
  if (index.parent().isValid() || index.column() != Name) return ValueTree::setData(index, value, role);
  const QString text = value.toString().trimmed();
  if (role != Qt::EditRole || text == expressions_.value(index.row())) return false;
  if (text.isEmpty()) {
    remove(index.row());
    return true;
  }
  const QString before = std::exchange(expressions_[index.row()], text);
  if (waiting_.remove(text) + (!expressions_.contains(before) && waiting_.remove(before)) > 0) tellWaiting();
  protocol::ValueInfo info;
  info.name = text.toStdString();
  update(nodeOf(index), info);
  emit expressionsChanged();
  if (active()) refresh();
  return true;
}

}  // namespace tapedeck::inspector
