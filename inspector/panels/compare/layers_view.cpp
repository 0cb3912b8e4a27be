#include "inspector/panels/compare/layers_view.h"

#include <QAction>
#include <QHeaderView>
#include <QLabel>
#include <QTreeWidget>
#include <QVBoxLayout>

#include "inspector/model/format.h"
#include "inspector/model/plain_tip.h"
#include "inspector/ui/keyed_action.h"
#include "inspector/ui/plain_text.h"
#include "inspector/ui/row_list.h"
#include "inspector/ui/theme.h"

namespace tapedeck::inspector {

using protocol::Agreement;
using protocol::ComparedLayer;
using protocol::ComparedLayerPart;

namespace {

enum LayerColumn { layer_column, value_column, verdict_column, distance_column };
constexpr int row_role = Qt::UserRole;

QString titleOf(const std::optional<std::string>& name) {
  return name->empty() ? QStringLiteral("(outside of layers)") : QString::fromStdString(*name);
}

QString layerText(const ComparedLayer& layer) {
  if (!layer.right) return titleOf(layer.left) + QStringLiteral(" | —");
  if (!layer.left) return QStringLiteral("— | ") + titleOf(layer.right);
  const QString left = titleOf(layer.left), right = titleOf(layer.right);
  return left == right ? left : QStringLiteral("%1 | %2").arg(left, right);
}

QString verdictOf(const protocol::ComparedOperand& one) {
  if (!one.left || !one.right)
    return one.left ? QStringLiteral("on the left only") : QStringLiteral("on the right only");
  const QString layout = QString::fromStdString(one.layout.value_or(""));
  if (one.values == Agreement::agree)
    return layout.isEmpty() ? QStringLiteral("= agrees") : QStringLiteral("= agrees ") + layout;
  if (one.values == Agreement::unknown) return QStringLiteral("? unknown");
  if (one.count == 0) return QStringLiteral("≠ other shapes");
  const QString text = QStringLiteral("≠ %1 of %2").arg(countText(one.differing), countText(one.count));
  return layout.isEmpty() ? text : text + QStringLiteral(", ") + layout;
}

QString distanceOf(const protocol::ComparedOperand& one) {
  if (one.values != Agreement::differ || one.count == 0)
    return QString::fromStdString(one.problem.value_or(""));
  return QStringLiteral("%1 (relative %2)")
      .arg(QString::number(one.max_absolute, 'g', 3), QString::number(one.max_relative, 'g', 3));
}

QString shapesOf(const protocol::ComparedOperand& one) {
  const auto side = [](const std::optional<protocol::TensorInfo>& tensor) {
    return tensor ? tensorText(*tensor) : QStringLiteral("—");
  };
  return side(one.left) + QStringLiteral(" | ") + side(one.right);
}

/// "output 2×8×16": several values of a layer may have one name.
QString valueText(const protocol::ComparedOperand& one) {
  const auto shape = [](const std::optional<protocol::TensorInfo>& tensor) {
    return tensor ? shapeText(tensor->shape) : QString();
  };
  const QString left = shape(one.left), right = shape(one.right);
  const QString both = left.isEmpty() || right.isEmpty() || left == right
                           ? (left.isEmpty() ? right : left)
                           : left + QStringLiteral(" | ") + right;
  return QString::fromStdString(one.role) + (both.isEmpty() ? QString() : QLatin1Char(' ') + both);
}

}  // namespace

LayersView::LayersView(CompareModel* model, QWidget* parent)
    : QWidget(parent),
      model_(model),
      table_(makeRowList(this, QStringLiteral("compareLayers"), QStringLiteral("Layers of both sides"),
                         {QStringLiteral("Layer"), QStringLiteral("Value"), QStringLiteral("Verdict"),
                          QStringLiteral("Largest difference")})),
      note_(plainLabel(this)),
      show_(new QAction(QStringLiteral("Show the layer's op"), this)) {
  table_->header()->setStretchLastSection(true);
  setKey(
      show_, {Qt::Key_Return, Qt::Key_Enter},
      QStringLiteral("Go to the op in which the layer differs first, else to the one that made its output, "
                     "and show its operands side by side"));
  show_->setShortcutContext(Qt::WidgetShortcut);
  table_->addAction(show_);
  setFocusProxy(table_);
  note_->setObjectName(QStringLiteral("compareLayersNote"));
  note_->setWordWrap(true);
  note_->setContentsMargins(8, 0, 8, 2);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(2);
  layout->addWidget(note_);
  layout->addWidget(table_, 1);
  connect(show_, &QAction::triggered, this, &LayersView::follow);
  connect(table_, &QTreeWidget::itemClicked, this, &LayersView::follow);
  connect(model, &CompareModel::layersChanged, this, &LayersView::showLayers);
  showLayers();
}

void LayersView::follow() {
  const QTreeWidgetItem* item = table_->currentItem();
  if (!item || item->data(layer_column, row_role).isNull()) return;
  const int row = item->data(layer_column, row_role).toInt();
  model_->setCurrentRow(row);
  model_->show(row, false);
  emit opChosen();
}

void LayersView::showLayers() {
  table_->clear();
  const protocol::ComparedLayers* layers = model_->layers();
  note_->setText(!model_->compared() ? QStringLiteral("Compare a port with its original to see its layers.")
                 : !model_->compared()->port
                     ? QStringLiteral("Both sides are of one framework: rows above are their ops. "
                                      "With a name map (M) their layers are compared.")
                 : model_->askingForLayers() ? QStringLiteral("Comparing layers …")
                                             : QStringLiteral("The layers could not be compared."));
  note_->setVisible(!layers);
  if (!layers) return;
  const Theme theme = Theme::fromPalette(palette());
  QTreeWidgetItem* first = nullptr;
  for (std::size_t i = 0; i < layers->layers.size(); ++i) {
    const ComparedLayer& layer = layers->layers[i];
    const QString name = layerText(layer);
    QVariant row;
    for (const ComparedLayerPart& part : layer.parts)
      if (part.row) row = static_cast<int>(*part.row);
    if (layers->first == i && layers->row) row = static_cast<int>(*layers->row);
    if (layer.parts.empty()) {
      const QString only = !layer.right  ? QStringLiteral("on the left only")
                           : !layer.left ? QStringLiteral("on the right only")
                                         : QStringLiteral("nothing of it could be paired");
      new QTreeWidgetItem(table_, {name, QString(), only, QString()});
    }
    for (const ComparedLayerPart& part : layer.parts) {
      auto* item = new QTreeWidgetItem(
          table_, {name, valueText(part.tensors), verdictOf(part.tensors), distanceOf(part.tensors)});
      item->setData(layer_column, row_role, row);
      for (const int column : {layer_column, value_column, verdict_column, distance_column})
        item->setToolTip(column, plainTip(name + QLatin1Char('\n') + shapesOf(part.tensors)));
      if (part.tensors.values != Agreement::differ) continue;
      QFont bold = table_->font();
      bold.setBold(true);
      item->setFont(verdict_column, bold);
      item->setForeground(verdict_column, theme.error.stroke);
      if (layers->first == i && !first) first = item;
    }
  }
  for (const int column : {layer_column, value_column, verdict_column})
    table_->resizeColumnToContents(column);
  if (!first) first = table_->topLevelItem(0);
  if (!first) return;
  table_->setCurrentItem(first);
  table_->scrollToItem(first, QAbstractItemView::PositionAtCenter);
}

}  // namespace tapedeck::inspector
