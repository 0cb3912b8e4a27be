#include "inspector/model/compare/compare_rows.h"

#include "inspector/model/format.h"
#include "inspector/model/plain_tip.h"
#include "inspector/model/session/cell_names.h"

namespace tapedeck::inspector {

using protocol::Agreement;
using protocol::ComparedRow;
using protocol::RowKind;

namespace {

QString sideShapes(const protocol::Record& record) {
  const auto list = [](const std::vector<protocol::TensorInfo>& tensors) {
    QStringList shapes;
    for (const protocol::TensorInfo& tensor : tensors)
      shapes << (tensor.id == 0 && tensor.dtype.empty()
                     ? QStringLiteral("none")
                     : (tensor.preview.empty() ? shapeText(tensor.shape)
                                               : QString::fromStdString(tensor.preview)));
    return shapes.join(QStringLiteral(", "));
  };
  return list(record.inputs) + QStringLiteral(" → ") + list(record.outputs);
}

}  // namespace

QString rowSign(const ComparedRow& row) {
  switch (row.kind) {
    case RowKind::only_left:
      return QStringLiteral("−");
    case RowKind::only_right:
      return QStringLiteral("+");
    case RowKind::other_shapes:
      return QStringLiteral("◇");
    case RowKind::other_attributes:
      return QStringLiteral("±");
    case RowKind::same:
      break;
  }
  return row.results == Agreement::differ  ? QStringLiteral("≠")
         : row.results == Agreement::agree ? QStringLiteral("=")
                                           : QStringLiteral("·");
}

QString rowWord(const ComparedRow& row) {
  switch (row.kind) {
    case RowKind::only_left:
      return QStringLiteral("left only");
    case RowKind::only_right:
      return QStringLiteral("right only");
    case RowKind::other_shapes:
      return QStringLiteral("other shapes");
    case RowKind::other_attributes:
      return QStringLiteral("other attributes");
    case RowKind::same:
      break;
  }
  return row.results == Agreement::differ  ? QStringLiteral("values differ")
         : row.results == Agreement::agree ? QStringLiteral("same results")
                                           : QStringLiteral("values not compared");
}

/// What the other side's graph made of the op.
static QString noteText(const ComparedRow& row) {
  return row.note ? QStringLiteral(" · ") + QString::fromStdString(*row.note) : QString();
}

CompareRows::CompareRows(CompareModel* model, const CellNames* cells, QObject* parent)
    : QAbstractTableModel(parent), model_(model), cells_(cells) {
  connect(model, &CompareModel::compareReset, this, [this] {
    beginResetModel();
    endResetModel();
  });
  const auto refresh = [this](int first, int last) {
    last = std::min(last, rowCount() - 1);
    if (first <= last) emit dataChanged(index(first, 0), index(last, ColumnCount - 1));
  };
  connect(model, &CompareModel::rowsChanged, this, refresh);
  connect(cells, &CellNames::changed, this, [this, refresh] { refresh(0, rowCount() - 1); });
  connect(model, &CompareModel::changed, this,
          [this] { emit headerDataChanged(Qt::Horizontal, 0, ColumnCount - 1); });
}

int CompareRows::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : model_->rowCount();
}
int CompareRows::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : ColumnCount;
}

QString CompareRows::text(const ComparedRow& row, int column) const {
  if (column == Sign) return rowSign(row) + QLatin1Char(' ') + rowWord(row) + noteText(row);
  const auto& side = isRight(column) ? row.right : row.left;
  if (!side) return {};
  const protocol::Record& record = *side;
  switch (column) {
    case LeftOp:
    case RightOp:
      return QString(static_cast<qsizetype>(record.depth) * 2, QChar(0x2002)) + kindGlyph(record) +
             QLatin1Char(' ') + opText(record) + QStringLiteral(" · ") + countText(record.number);
    case LeftPlace:
    case RightPlace: {
      QString where = record.cell.empty() ? QString::fromStdString(record.file).section(QLatin1Char('/'), -1)
                                          : cells_->name(record);
      if (record.line)
        where += (where.isEmpty() ? QStringLiteral("line %1") : QStringLiteral(" line %1")).arg(record.line);
      return where;
    }
    default:
      return sideShapes(record);
  }
}

QString CompareRows::tip(const ComparedRow& row) const {
  QStringList lines{rowWord(row) + noteText(row)};
  for (const auto& [name, record] :
       {std::pair(QStringLiteral("Left"), &row.left), std::pair(QStringLiteral("Right"), &row.right)}) {
    if (!*record) continue;
    QStringList parts;
    for (const auto& attribute : (*record)->attributes)
      parts << QString::fromStdString(attribute.name) + QLatin1Char('=') +
                   QString::fromStdString(attribute.value);
    lines << QStringLiteral("%1: %2, op %3, %4 %5")
                 .arg(name, QString::fromStdString((*record)->op), countText((*record)->number),
                      sideShapes(**record), parts.join(QStringLiteral(", ")));
  }
  lines << QStringLiteral("Enter or a click moves the cursor to the op.");
  return lines.join(QLatin1Char('\n'));
}

QVariant CompareRows::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const bool shown = role == Qt::DisplayRole || role == Qt::ToolTipRole || role == Qt::AccessibleTextRole;
  const ComparedRow* row = shown ? model_->row(index.row()) : model_->cachedRow(index.row());
  if (!row) {
    if (role == Qt::DisplayRole) return index.column() == Sign ? QStringLiteral("…") : QString();
    return role == HereRole ? QVariant(false) : QVariant();
  }
  const auto& record = isRight(index.column()) ? row->right : row->left;
  switch (role) {
    case Qt::DisplayRole:
      return text(*row, index.column());
    case Qt::ToolTipRole:
      return plainTip(tip(*row));
    case Qt::AccessibleTextRole: {
      const QString mine = text(*row, index.column());
      return mine.isEmpty() ? QStringLiteral("nothing on this side") : mine;
    }
    case HereRole:
      return true;
    case KindRole:
      return static_cast<int>(row->kind);
    case DiffersRole:
      return row->results == Agreement::differ;
    case MissingRole:
      return index.column() != Sign && !record;
    case BackwardRole:
      return record && record->backward;
    default:
      return {};
  }
}

QVariant CompareRows::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
  const auto side = [](const std::optional<CompareChoice>& choice, const QString& name) {
    return choice ? QStringLiteral("%1: %2").arg(name, choice->brief) : name;
  };
  switch (section) {
    case Sign:
      return QStringLiteral("What");
    case LeftOp:
      return side(model_->left(), QStringLiteral("Left"));
    case RightOp:
      return side(model_->right(), QStringLiteral("Right"));
    case LeftPlace:
    case RightPlace:
      return QStringLiteral("Where");
    default:
      return QStringLiteral("Values, shapes");
  }
}

}  // namespace tapedeck::inspector
