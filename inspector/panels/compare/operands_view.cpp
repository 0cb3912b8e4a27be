#include "inspector/panels/compare/operands_view.h"

#include <QAction>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QMouseEvent>
#include <QPainter>
#include <QTreeWidget>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>
#include <limits>

#include "inspector/model/format.h"
#include "inspector/model/plain_tip.h"
#include "inspector/panels/heat_picture.h"
#include "inspector/ui/keyed_action.h"
#include "inspector/ui/plain_text.h"
#include "inspector/ui/row_list.h"
#include "inspector/ui/theme.h"

namespace tapedeck::inspector {

using protocol::Agreement;
using protocol::ComparedOperand;

namespace {

enum OperandColumn { role_column, left_column, right_column, differs_column, most_column, operand_columns };

QString numberText(double value) {
  if (std::isinf(value)) return QStringLiteral("∞");
  return QString::number(value, 'g', 3);
}

QString elementText(const std::vector<std::int64_t>& element) {
  if (element.empty()) return {};
  QStringList places;
  for (const std::int64_t at : element) places << QString::number(at);
  return QStringLiteral(" [%1]").arg(places.join(QStringLiteral(", ")));
}

/// Its values on one line, or what it is.
QString sideText(const std::optional<protocol::TensorInfo>& tensor, const std::optional<std::string>& text) {
  if (!tensor) return QStringLiteral("—");
  if (!text) return tensorText(*tensor);
  const QString values = QString::fromStdString(*text).simplified();
  return tensor->name.empty() ? values
                              : QString::fromStdString(tensor->name) + QStringLiteral(" = ") + values;
}

QString sideTip(const std::optional<protocol::TensorInfo>& tensor, const std::optional<std::string>& text) {
  return tensorText(tensor.value_or(protocol::TensorInfo())) + QLatin1Char('\n') +
         QString::fromStdString(text.value_or(""));
}

QString verdictText(const ComparedOperand& operand) {
  const QString layout = QString::fromStdString(operand.layout.value_or(""));
  if (operand.values == Agreement::agree)
    return layout.isEmpty() ? QStringLiteral("= agrees") : QStringLiteral("= agrees ") + layout;
  if (operand.values == Agreement::unknown)
    return operand.left && operand.right ? QStringLiteral("? unknown") : QString();
  if (operand.count <= 1) return QStringLiteral("≠ differs");
  const QString text =
      QStringLiteral("≠ %1 of %2").arg(countText(operand.differing), countText(operand.count));
  return layout.isEmpty() ? text : text + QStringLiteral(", ") + layout;
}

QString mostText(const ComparedOperand& operand) {
  if (operand.values != Agreement::differ || operand.count == 0)
    return QString::fromStdString(operand.problem.value_or(""));
  QString text = numberText(operand.max_absolute);
  if (operand.max_relative > 0)
    text += QStringLiteral(" (relative %1)").arg(numberText(operand.max_relative));
  if (operand.left_value)
    text += QStringLiteral(" at%1: %2 | %3")
                .arg(!operand.element || operand.element->empty() ? QStringLiteral(" its value")
                                                                  : elementText(*operand.element),
                     QString::fromStdString(*operand.left_value),
                     QString::fromStdString(operand.right_value.value_or("")));
  return text;
}

std::pair<double, double> extent(const std::optional<protocol::Tile>& a,
                                 const std::optional<protocol::Tile>& b) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const auto* tile : {&a, &b}) {
    if (!*tile) continue;
    for (const double value : (*tile)->values) {
      if (!std::isfinite(value)) continue;
      low = std::min(low, value);
      high = std::max(high, value);
    }
  }
  return low <= high ? std::pair(low, high) : std::pair(0.0, 1.0);
}

}  // namespace

QString OperandPicturesView::rangeText(const std::optional<protocol::Tile>& tile) {
  const auto finite = [](double value) { return std::isfinite(value); };
  if (!tile || std::ranges::none_of(tile->values, finite)) return QStringLiteral("no finite numbers");
  const auto [low, high] = extent(tile, std::nullopt);
  return QStringLiteral("%1 … %2").arg(numberText(low), numberText(high));
}

// ---- pictures

OperandPicturesView::OperandPicturesView(CompareModel* model, QWidget* parent)
    : QWidget(parent), model_(model) {
  setObjectName(QStringLiteral("comparePictures"));
  setToolTip(QStringLiteral("A click on left or right shows the tensor in Tensor"));
  connect(model, &CompareModel::picturesChanged, this, [this] {
    setVisible(hasPictures() || !model_->pictures().problem.isEmpty());
    const OperandPictures& shown = model_->pictures();
    setAccessibleName(
        hasPictures() ? QStringLiteral("Left, right and their difference as heat maps: %1; %2; %3")
                            .arg(rangeText(shown.left), rangeText(shown.right), rangeText(shown.difference))
                      : QString());
    update();
  });
  setVisible(false);
}

bool OperandPicturesView::hasPictures() const {
  return model_->pictures().left || model_->pictures().right;
}

QRectF OperandPicturesView::place(int which) const {
  const double gap = 8, title = fontMetrics().height() * 2.0 + 6;
  const double wide = (width() - 4 * gap) / 3;
  return {gap + which * (wide + gap), title, wide, std::max(8.0, height() - title - gap)};
}

void OperandPicturesView::mousePressEvent(QMouseEvent* event) {
  for (int which = 0; which < 2; ++which)
    if (place(which).contains(event->position())) emit sideChosen(which == 1);
}

void OperandPicturesView::paintEvent(QPaintEvent*) {
  const Theme theme = Theme::fromPalette(palette());
  QPainter painter(this);
  const OperandPictures& pictures = model_->pictures();
  const auto [low, high] = extent(pictures.left, pictures.right);
  const auto [least, most] = extent(pictures.difference, std::nullopt);
  const struct {
    const std::optional<protocol::Tile>& tile;
    QString title;
    double low, high;
    ColorScale scale;
  } all[] = {{pictures.left, QStringLiteral("Left"), low, high, ColorScale::automatic},
             {pictures.right, QStringLiteral("Right"), low, high, ColorScale::automatic},
             {pictures.difference, QStringLiteral("Right − left"), least, most, ColorScale::diverging}};
  for (int which = 0; which < 3; ++which) {
    const auto& one = all[which];
    const QRectF room = place(which);
    painter.setPen(theme.text);
    painter.drawText(QPointF(room.left(), fontMetrics().ascent() + 2), one.title);
    if (!one.tile) continue;
    painter.setPen(theme.faintText);
    painter.drawText(
        QPointF(room.left(), fontMetrics().height() + fontMetrics().ascent() + 2),
        fontMetrics().elidedText(rangeText(one.tile), Qt::ElideRight, static_cast<int>(room.width())));
    const HeatPicture picture = heatPicture(*one.tile, ColorMap(one.low, one.high, one.scale, theme.dark));
    if (picture.image.isNull()) continue;
    const QSizeF fitted = QSizeF(picture.world.size()).scaled(room.size(), Qt::KeepAspectRatio);
    // A vector is a thin line: it gets some height.
    const QSizeF size(fitted.width(), std::max(fitted.height(), std::min(room.height(), 14.0)));
    painter.drawImage(QRectF(room.topLeft(), size), picture.image);
    painter.setPen(theme.border);
    painter.drawRect(QRectF(room.topLeft(), size));
  }
  if (pictures.problem.isEmpty()) return;
  painter.setPen(theme.error.stroke);
  painter.drawText(place(2), Qt::AlignLeft | Qt::TextWordWrap, pictures.problem);
}

// ---- the table

OperandsView::OperandsView(CompareModel* model, QWidget* parent)
    : QWidget(parent),
      model_(model),
      table_(makeRowList(this, QStringLiteral("compareOperands"),
                         QStringLiteral("Operands of the row, left and right"),
                         {QStringLiteral("Operand"), QStringLiteral("Left"), QStringLiteral("Right"),
                          QStringLiteral("Values"), QStringLiteral("Largest difference")})),
      attributes_(plainLabel(this)),
      pictures_(new OperandPicturesView(model, this)) {
  table_->header()->setStretchLastSection(true);
  table_->header()->setSectionResizeMode(QHeaderView::Interactive);
  table_->header()->setSectionResizeMode(role_column, QHeaderView::ResizeToContents);
  table_->header()->setSectionResizeMode(differs_column, QHeaderView::ResizeToContents);
  table_->installEventFilter(this);
  show_ = new QAction(QStringLiteral("Show the operand"), this);
  setKey(show_, {Qt::Key_Return, Qt::Key_Enter},
         QStringLiteral("Show the left tensor in Tensor, at the element that differs most"));
  showRight_ = new QAction(QStringLiteral("Show the operand of the right side"), this);
  setKey(showRight_, {Qt::ALT | Qt::Key_Return, Qt::ALT | Qt::Key_Enter},
         QStringLiteral("Show the right tensor in Tensor, at the element that differs most"));
  for (QAction* action : {show_, showRight_}) {
    action->setShortcutContext(Qt::WidgetShortcut);
    table_->addAction(action);
  }
  connect(showRight_, &QAction::triggered, this,
          [this] { model_->pick(table_->indexOfTopLevelItem(table_->currentItem()), true); });
  connect(show_, &QAction::triggered, this,
          [this] { model_->pick(table_->indexOfTopLevelItem(table_->currentItem()), false); });
  connect(table_, &QTreeWidget::itemClicked, this, [this](QTreeWidgetItem* item, int column) {
    model_->pick(table_->indexOfTopLevelItem(item), column == right_column);
  });
  connect(table_, &QTreeWidget::currentItemChanged, this, [this](QTreeWidgetItem* item) {
    const int row = item ? table_->indexOfTopLevelItem(item) : -1;
    const auto* operands = model_->operands();
    const bool large = operands && row >= 0 && !operands->operands[static_cast<std::size_t>(row)].left_text &&
                       !operands->operands[static_cast<std::size_t>(row)].right_text;
    model_->setPictured(large ? row : -1);
  });
  connect(pictures_, &OperandPicturesView::sideChosen, this,
          [this](bool right) { model_->pick(model_->pictures().operand, right); });
  attributes_->setObjectName(QStringLiteral("compareAttributes"));
  attributes_->setWordWrap(true);
  attributes_->setTextFormat(Qt::PlainText);
  attributes_->setContentsMargins(8, 0, 8, 2);
  auto* side = new QVBoxLayout;
  side->setSpacing(2);
  side->addWidget(attributes_);
  side->addWidget(table_, 1);
  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addLayout(side, 3);
  layout->addWidget(pictures_, 2);
  connect(model, &CompareModel::operandsChanged, this, &OperandsView::showOperands);
  showOperands();
}

bool OperandsView::eventFilter(QObject* watched, QEvent* event) {
  const int room = table_->viewport()->width();
  if (watched == table_ && event->type() == QEvent::Resize && room > 300) {
    table_->setColumnWidth(left_column, room / 4);
    table_->setColumnWidth(right_column, room / 4);
  }
  return QWidget::eventFilter(watched, event);
}

void OperandsView::showOperands() {
  const int row = table_->indexOfTopLevelItem(table_->currentItem());
  table_->clear();
  const protocol::ComparedOperands* operands = model_->operands();
  QStringList attributes;
  if (operands)
    for (const std::string& one : operands->attributes) attributes << QString::fromStdString(one);
  if (operands)
    attributes_->setText(
        QStringLiteral("Attributes, left | right:  %1").arg(attributes.join(QStringLiteral("   "))));
  else if (model_->currentRow() >= 0)
    attributes_->setText(model_->askingForOperands()
                             ? QStringLiteral("Looking at the row's operands …")
                             : QStringLiteral("The row's operands could not be fetched."));
  else
    attributes_->setText(QStringLiteral("Choose a row to see its operands side by side."));
  attributes_->setVisible(!operands || !attributes.isEmpty());
  if (!operands) return;
  int chosen = -1;
  for (std::size_t i = 0; i < operands->operands.size(); ++i) {
    const ComparedOperand& one = operands->operands[i];
    auto* item = new QTreeWidgetItem(
        table_, {(one.result ? QStringLiteral("→ ") : QString()) + QString::fromStdString(one.role),
                 sideText(one.left, one.left_text), sideText(one.right, one.right_text), verdictText(one),
                 mostText(one)});
    item->setToolTip(left_column, plainTip(sideTip(one.left, one.left_text)));
    item->setToolTip(right_column, plainTip(sideTip(one.right, one.right_text)));
    item->setToolTip(most_column, plainTip(mostText(one)));
    if (one.values == Agreement::differ) {
      QFont bold = table_->font();
      bold.setBold(true);
      item->setFont(differs_column, bold);
      if (chosen < 0) chosen = static_cast<int>(i);
    }
  }
  if (table_->topLevelItemCount() == 0) return;
  const int at = row >= 0 && row < table_->topLevelItemCount() ? row : std::max(chosen, 0);
  table_->setCurrentItem(table_->topLevelItem(at));
}

}  // namespace tapedeck::inspector
