#include "inspector/panels/ops/headings_view.h"

#include <QComboBox>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QScopedValueRollback>
#include <QScrollBar>
#include <QSettings>
#include <QShortcut>
#include <QTimer>
#include <algorithm>

#include "inspector/ui/keyed_action.h"

namespace tapedeck::inspector {

namespace {

constexpr int heading_indent = 14, heading_arrow = 16, heading_edge = 4;

const QString heading_key = QStringLiteral("ops/headings");

/// As settings have them: never changes.
const QStringList& levelNames() {
  static const QStringList names{QStringLiteral("none"), QStringLiteral("cell"), QStringLiteral("step"),
                                 QStringLiteral("scope")};
  return names;
}

}  // namespace

OpsTable::OpsTable(RecordsModel* model, QWidget* parent) : RowTable(parent), rows_(model) {
  setModel(model);
  connect(verticalScrollBar(), &QScrollBar::valueChanged, this, [this] {
    if (!own_scroll_ && !rows_->changingRows()) kept_ = currentIsWhole();
  });
  // Rows, scroll bars and row heights change it while the table is being laid out.
  connect(verticalScrollBar(), &QScrollBar::rangeChanged, this, &OpsTable::keepCurrent, Qt::QueuedConnection);
}

// ---- the current row stays in view

bool OpsTable::currentIsWhole() const {
  if (!currentIndex().isValid()) return false;
  const int row = currentIndex().row(), top = rowViewportPosition(row);
  return top >= 0 && top + rowHeight(row) <= viewport()->height();
}

void OpsTable::scrollToCurrent() {
  if (!currentIndex().isValid()) return;
  const QScopedValueRollback own(own_scroll_, true);
  scrollTo(currentIndex().siblingAtColumn(0));
  const int row = currentIndex().row();
  if (currentIsWhole() || rowHeight(row) > viewport()->height()) return;
  // On the last page the offset is not that of a row, and a bar that keeps its value leaves it so.
  QScrollBar* bar = verticalScrollBar();
  bar->setValue(bar->value() + (rowViewportPosition(row) < 0 ? -1 : 1));
}

void OpsTable::showCurrent() {
  kept_ = true;
  scrollToCurrent();
}

void OpsTable::keepCurrent() {
  if (!kept_ || !currentIndex().isValid() || currentIsWhole()) return;
  const int left = horizontalScrollBar()->value();
  scrollToCurrent();
  horizontalScrollBar()->setValue(left);
}

// A view scrolls to a new current row by itself, also where the user looks elsewhere.
void OpsTable::setCurrentQuietly(const QModelIndex& index, QItemSelectionModel::SelectionFlags selection) {
  const bool scrolls = hasAutoScroll();
  setAutoScroll(false);
  selectionModel()->setCurrentIndex(index, selection);
  setAutoScroll(scrolls);
}

void OpsTable::resizeEvent(QResizeEvent* event) {
  {
    const QScopedValueRollback own(own_scroll_, true);
    RowTable::resizeEvent(event);
  }
  keepCurrent();
}

// Before it is shown, a table may not have its size yet.
void OpsTable::showEvent(QShowEvent* event) {
  RowTable::showEvent(event);
  keepCurrent();
}

// ---- what one does

void OpsTable::goToRow(int row) {
  if (row < 0 || row >= rows_->rowCount()) return;
  setCurrentIndex(rows_->index(row, std::max(currentIndex().column(), 0)));
  showCurrent();
}

void OpsTable::toggle(int heading_row) {
  const auto heading = rows_->headingAt(heading_row);
  if (!heading) return;
  const int top = rowAt(0);
  rows_->setFolded(heading_row, !heading->folded);
  goToRow(heading_row);
  // The heading stays under the mouse.
  if (top >= 0 && top <= heading_row) scrollTo(rows_->index(top, 0), PositionAtTop);
}

int OpsTable::headingOfCurrent() const {
  const int row = currentIndex().row();
  if (rows_->headingAt(row)) return row;
  const QList<int> around = rows_->headingsAround(row);
  return around.isEmpty() ? -1 : around.last();
}

void OpsTable::goToHeading() {
  const QList<int> around = rows_->headingsAround(currentIndex().row());
  if (!around.isEmpty()) goToRow(around.last());
}

void OpsTable::foldAll(bool fold) {
  const int row = headingOfCurrent();
  if (row < 0) return;
  const RecordsModel::HeadingPlace place = rows_->headingPlace(row);
  rows_->setAllFolded(row, fold);
  goToRow(rows_->rowOfHeading(place));
}

bool OpsTable::moveOnHeading(int key) {
  const int row = currentIndex().row();
  const auto heading = rows_->headingAt(row);
  if (!heading) return false;
  switch (key) {
    case Qt::Key_Left:
      heading->folded ? goToHeading() : toggle(row);
      return true;
    case Qt::Key_Right:
      heading->folded ? toggle(row) : goToRow(row + 1);
      return true;
    case Qt::Key_Return:
    case Qt::Key_Enter:
    case Qt::Key_Space:
      toggle(row);
      return true;
    default:
      return false;
  }
}

/// A key that is held to scroll back ends at the left edge.
bool OpsTable::moveOnRecord(const QKeyEvent& event) {
  const QScrollBar* bar = horizontalScrollBar();
  if (event.key() != Qt::Key_Left || event.isAutoRepeat() || bar->value() > bar->minimum()) return false;
  if (rows_->headingsAround(currentIndex().row()).isEmpty()) return false;
  goToHeading();
  return true;
}

void OpsTable::keyPressEvent(QKeyEvent* event) {
  if (event->modifiers().testFlags(Qt::KeypadModifier) || event->modifiers() == Qt::NoModifier)
    if (moveOnHeading(event->key()) || moveOnRecord(*event)) return event->accept();
  RowTable::keyPressEvent(event);
}

void OpsTable::mousePressEvent(QMouseEvent* event) {
  const int row = rowAt(qRound(event->position().y()));
  pressed_ = event->button() == Qt::LeftButton && rows_->headingAt(row) ? row : -1;
  RowTable::mousePressEvent(event);
}

void OpsTable::mouseReleaseEvent(QMouseEvent* event) {
  RowTable::mouseReleaseEvent(event);
  const int row = std::exchange(pressed_, -1);
  if (row >= 0 && row == rowAt(qRound(event->position().y()))) toggle(row);
}

QItemSelectionModel::SelectionFlags OpsTable::selectionCommand(const QModelIndex& index,
                                                               const QEvent* event) const {
  if (index.isValid() && !index.data(RecordsModel::HeadingRole).isNull())
    return QItemSelectionModel::NoUpdate;
  return RowTable::selectionCommand(index, event);
}

// ---- how it looks

void OpsTable::paintHeading(QPainter& painter, int row, const Heading& heading) const {
  const QRect band(0, rowViewportPosition(row), viewport()->width(), rowHeight(row));
  const bool current = currentIndex().row() == row;
  painter.fillRect(
      band, mix(theme_.background, current ? theme_.selection : theme_.border, theme_.dark ? 0.5 : 0.6));
  painter.setPen(theme_.border);
  painter.drawLine(band.bottomLeft(), band.bottomRight());
  int left = band.left() + heading_edge + heading.depth * heading_indent;
  painter.setPen(theme_.text);
  painter.drawText(QRect(left, band.top(), heading_arrow, band.height()), Qt::AlignLeft | Qt::AlignVCenter,
                   heading.folded ? QStringLiteral("▸") : QStringLiteral("▾"));
  left += heading_arrow;
  QString rest = QStringLiteral(" · ") + heading.count;
  if (!heading.state.isEmpty()) rest += QStringLiteral(" · ") + heading.state;
  if (heading.holdsCursor) rest += QStringLiteral(" · ◆ cursor");
  QFont bold = font();
  bold.setBold(true);
  const int room = band.right() - left - heading_edge;
  const int for_rest = std::min(fontMetrics().horizontalAdvance(rest), room);
  const QFontMetrics wide(bold);
  const QString name = wide.elidedText(heading.name, Qt::ElideRight, std::max(room - for_rest, room / 3));
  painter.setFont(bold);
  painter.drawText(QRect(left, band.top(), room, band.height()), Qt::AlignLeft | Qt::AlignVCenter, name);
  left += wide.horizontalAdvance(name);
  painter.setFont(font());
  painter.setPen(heading.holdsCursor ? theme_.text : theme_.faintText);
  painter.drawText(QRect(left, band.top(), band.right() - left, band.height()),
                   Qt::AlignLeft | Qt::AlignVCenter,
                   fontMetrics().elidedText(rest, Qt::ElideRight, band.right() - left));
  if (!current || !hasFocus()) return;
  painter.setPen(theme_.accent);
  painter.drawRect(band.adjusted(0, 0, -1, -1));
}

void OpsTable::paintEvent(QPaintEvent* event) {
  RowTable::paintEvent(event);
  QPainter painter(viewport());
  painter.setFont(font());
  // None, where rows went and the table is scrolled behind the last one: that changes at once.
  const int first = rowAt(0);
  if (first < 0) return;
  for (int row = first; row < rows_->rowCount() && rowViewportPosition(row) < viewport()->height(); ++row)
    if (const auto heading = rows_->headingAt(row)) paintHeading(painter, row, *heading);
}

// ---- in which groups one is

HeadingTrail::HeadingTrail(OpsTable* table, RecordsModel* model, QWidget* parent)
    : ElidingLabel(Qt::ElideLeft, parent), table_(table), rows_(model) {
  setObjectName(QStringLiteral("headingTrail"));
  setContentsMargins(heading_edge, 0, heading_edge, 0);
  setToolTip(QStringLiteral("The groups of the first visible row. A click goes to its heading."));
  const auto later = [this] {
    if (std::exchange(due_, true)) return;
    QTimer::singleShot(0, this, [this] {
      due_ = false;
      look();
    });
  };
  connect(table->verticalScrollBar(), &QScrollBar::valueChanged, this, later);
  connect(table->verticalScrollBar(), &QScrollBar::rangeChanged, this, later);
  for (const auto signal : {&QAbstractItemModel::rowsInserted, &QAbstractItemModel::rowsRemoved})
    connect(model, signal, this, later);
  connect(model, &QAbstractItemModel::modelReset, this, later);
  connect(model, &RecordsModel::regrouped, this, later);
  connect(model, &RecordsModel::headingsProgressed, this, later);
  later();
}

void HeadingTrail::look() {
  if (const std::optional<int> done = rows_->headingProgress()) {
    const QString text =
        QStringLiteral("Laying out the headings: %1 %. Esc keeps those there are.").arg(*done);
    setVisible(true);
    setText(text);
    return setAccessibleName(text);
  }
  const int row = table_->rowAt(0);
  QStringList names;
  QList<int> rows = rows_->headingsAround(row);
  if (rows_->headingAt(row)) rows << row;
  for (const int heading : rows)
    if (const auto shown = rows_->headingAt(heading)) names << shown->name;
  const QString text = names.join(QStringLiteral(" › "));
  setVisible(rows_->headingLevel() != HeadingLevel::none && rows_->rowCount() > 0);
  if (text == this->text()) return;
  setText(text);
  setAccessibleName(QStringLiteral("Groups of the first visible row: %1")
                        .arg(names.isEmpty() ? QStringLiteral("none") : names.join(QStringLiteral(", "))));
}

void HeadingTrail::mouseReleaseEvent(QMouseEvent* event) {
  ElidingLabel::mouseReleaseEvent(event);
  const QList<int> around = rows_->headingsAround(table_->rowAt(0));
  if (event->button() != Qt::LeftButton || around.isEmpty()) return;
  table_->setFocus();
  table_->setCurrentIndex(rows_->index(around.last(), 0));
  table_->scrollTo(rows_->index(around.last(), 0));
}

// ---- which headings

HeadingChoice::HeadingChoice(RecordsModel* model, QWidget* parent)
    : QObject(parent), model_(model), box_(new QComboBox(parent)) {
  box_->setObjectName(QStringLiteral("headingLevel"));
  box_->setAccessibleName(QStringLiteral("Headings of the ops"));
  box_->addItems({QStringLiteral("No headings"), QStringLiteral("Cells"), QStringLiteral("Steps"),
                  QStringLiteral("Scopes")});
  const qsizetype kept =
      levelNames().indexOf(QSettings().value(heading_key, QStringLiteral("step")).toString());
  const auto level = static_cast<HeadingLevel>(kept < 0 ? 2 : kept);
  model_->setHeadingLevel(level);
  box_->setCurrentIndex(static_cast<int>(level));
  connect(box_, &QComboBox::currentIndexChanged, this, [this](int index) {
    model_->setHeadingLevel(static_cast<HeadingLevel>(index));
    QSettings().setValue(heading_key, levelNames().value(index));
  });
  keepByEscape(box_);
}

void HeadingChoice::keepByEscape(QWidget* focused) {
  auto* escape = new QShortcut(QKeySequence(Qt::Key_Escape), focused, nullptr, nullptr, Qt::WidgetShortcut);
  escape->setEnabled(false);
  connect(model_, &RecordsModel::headingsProgressed, escape,
          [this, escape] { escape->setEnabled(model_->headingProgress().has_value()); });
  connect(escape, &QShortcut::activated, this,
          [this] { box_->setCurrentIndex(static_cast<int>(model_->headingLevel())); });
}

void HeadingChoice::next() {
  box_->setCurrentIndex((box_->currentIndex() + 1) % box_->count());
}

QList<QAction*> headingActions(OpsTable* table, HeadingChoice* choice) {
  QList<QAction*> all;
  const auto add = [&](const QString& text, const QKeySequence& key, const QString& tip, auto done) {
    QAction* const action = addKeyedAction(table, text, {key}, tip);
    QObject::connect(action, &QAction::triggered, table, done);
    all << action;
  };
  add(QStringLiteral("Next kind of headings"), Qt::Key_H,
      QStringLiteral("Show headings for cells and their runs, also for steps, also for scopes, or none"),
      [choice] { choice->next(); });
  choice->box()->setToolTip(all.last()->toolTip());
  choice->keepByEscape(table);
  add(QStringLiteral("Go to its heading"), Qt::CTRL | Qt::Key_Up,
      QStringLiteral("Go from an op or a heading to the heading around it"),
      [table] { table->goToHeading(); });
  add(QStringLiteral("Fold all of this kind"), Qt::SHIFT | Qt::Key_Left,
      QStringLiteral("Fold all cells, all steps or all scopes, whichever the heading is of"),
      [table] { table->foldAll(true); });
  add(QStringLiteral("Unfold all of this kind"), Qt::SHIFT | Qt::Key_Right,
      QStringLiteral("Unfold all cells, all steps or all scopes, whichever the heading is of"),
      [table] { table->foldAll(false); });
  return all;
}

}  // namespace tapedeck::inspector
