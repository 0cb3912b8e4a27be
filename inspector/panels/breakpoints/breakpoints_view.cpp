#include "inspector/panels/breakpoints/breakpoints_view.h"

#include <QtWidgets>

#include "inspector/model/breakpoints/breakpoint_text.h"
#include "inspector/model/format.h"
#include "inspector/model/plain_tip.h"
#include "inspector/model/session/cell_names.h"
#include "inspector/panels/breakpoints/breakpoint_form.h"
#include "inspector/ui/form_area.h"
#include "inspector/ui/keyed_action.h"
#include "inspector/ui/wrapping_layout.h"

namespace tapedeck::inspector {

using protocol::Breakpoint;
using protocol::BreakpointKind;

namespace {

enum Column { What, Condition, Hits, ColumnCount };
constexpr int id_role = Qt::UserRole;

struct KindRow {
  BreakpointKind kind;
  const char *text, *key, *tip;
};
constexpr KindRow kind_rows[] = {
    {BreakpointKind::condition, "Where a &condition holds", "Alt+Shift+C",
     "An op, VJP or value that you describe"},
    {BreakpointKind::op, "At an &op", "Alt+Shift+O", "An op by its name, or a pattern such as *pool*"},
    {BreakpointKind::vjp, "At a &VJP", "Alt+Shift+V", "A vector-Jacobian product of a playback"},
    {BreakpointKind::playback, "At each &playback", "Alt+Shift+P",
     "When a tape begins to be played backwards"},
    {BreakpointKind::read, "Where a variable is &read", "Alt+Shift+R", "An op that reads a variable"},
    {BreakpointKind::write, "Where a variable is &written", "Alt+Shift+W", "An assignment to a variable"}};

}  // namespace

BreakpointsView::BreakpointsView(BreakpointsModel& breakpoints, Session& session, CellNames& cells,
                                 QWidget* parent)
    : Panel(parent),
      breakpoints_(breakpoints),
      session_(session),
      cells_(cells),
      list_(new QTreeWidget(this)),
      form_(new BreakpointForm(breakpoints, session, this)) {
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(4, 4, 4, 4);
  layout->setSpacing(4);
  makeList();
  makeActions();
  makeBar(layout);
  layout->addWidget(list_, 1);
  auto* area = new FormArea(form_, this);
  area->setObjectName(QStringLiteral("breakpointFormArea"));
  area->setAccessibleName(QStringLiteral("Fields of the breakpoint"));
  layout->addWidget(area);
  connect(form_, &BreakpointForm::appeared, area, &FormArea::reveal);
  setFocusProxy(list_);
  connect(&breakpoints_, &BreakpointsModel::changed, this, &BreakpointsView::show);
  connect(&cells_, &CellNames::changed, this, &BreakpointsView::show);
  show();
}

bool BreakpointsView::isEmpty() const {
  return empty_;
}

QList<QAction*> BreakpointsView::menuActions() const {
  return QList<QAction*>{goTo_, edit_, enable_, remove_} + kinds_;
}

void BreakpointsView::makeList() {
  list_->setObjectName(QStringLiteral("breakpoints"));
  list_->setAccessibleName(QStringLiteral("Breakpoints"));
  list_->setColumnCount(ColumnCount);
  list_->setHeaderLabels({QStringLiteral("Stops at"), QStringLiteral("Condition"), QStringLiteral("Hits")});
  list_->setMinimumHeight(2 * list_->fontMetrics().height());
  list_->setRootIsDecorated(false);
  list_->setUniformRowHeights(true);
  list_->header()->setStretchLastSection(false);
  list_->header()->setSectionResizeMode(What, QHeaderView::ResizeToContents);
  list_->header()->setSectionResizeMode(Condition, QHeaderView::Stretch);
  list_->header()->setSectionResizeMode(Hits, QHeaderView::ResizeToContents);
  list_->setContextMenuPolicy(Qt::ActionsContextMenu);
  connect(list_, &QTreeWidget::currentItemChanged, this, [this] {
    if (!filling_) showForm();
  });
  connect(list_, &QTreeWidget::itemChanged, this, [this](QTreeWidgetItem* row, int column) {
    if (!filling_ && column == What)
      breakpoints_.setEnabled(row->data(0, id_role).toULongLong(), row->checkState(What) == Qt::Checked);
  });
  connect(list_, &QTreeWidget::itemActivated, this, [this] { goTo_->trigger(); });
}

void BreakpointsView::makeActions() {
  const auto add = [this](const QString& text, const QKeySequence& key, const QString& tip, auto&& act) {
    QAction* const action = addKeyedAction(list_, text, {key}, tip);
    connect(action, &QAction::triggered, this, act);
    return action;
  };
  goTo_ = add(QStringLiteral("Go to its line"), Qt::ALT | Qt::Key_Return,
              QStringLiteral("The text cursor goes to the line of this breakpoint"), [this] {
                const BreakpointEntry* entry = breakpoints_.find(current());
                if (!entry) return;
                if (entry->breakpoint.line > 0 || !entry->breakpoint.cell.empty())
                  breakpoints_.want(entry->breakpoint.id);
                else
                  form_->focusFirst();
              });
  edit_ = add(QStringLiteral("Edit"), Qt::Key_F2, QStringLiteral("Edit this breakpoint's condition"),
              [this] { form_->focusFirst(); });
  enable_ = add(QStringLiteral("Switch on or off"), Qt::SHIFT | Qt::Key_Space,
                QStringLiteral("Whether this breakpoint stops"), [this] {
                  if (const BreakpointEntry* entry = breakpoints_.find(current()))
                    breakpoints_.setEnabled(entry->breakpoint.id, !entry->breakpoint.enabled);
                });
  remove_ = add(QStringLiteral("Remove"), QKeySequence::Delete, QStringLiteral("Remove this breakpoint"),
                [this] { breakpoints_.remove(current()); });
  for (const KindRow& row : kind_rows) {
    QAction* const action =
        addKeyedAction(this, QString::fromUtf8(row.text), {QKeySequence(QString::fromLatin1(row.key))},
                       QString::fromUtf8(row.tip));
    connect(action, &QAction::triggered, this, [this, kind = row.kind] { addOf(kind); });
    kinds_ << action;
  }
}

void BreakpointsView::makeBar(QBoxLayout* layout) {
  auto* bar = new WrappingLayout(nullptr);
  bar->setSpacing(4);
  auto* fresh = new QToolButton(this);
  fresh->setObjectName(QStringLiteral("addBreakpoint"));
  fresh->setText(QStringLiteral("Add"));
  fresh->setToolTip(
      QStringLiteral("A breakpoint at an op, a VJP, a variable, or wherever a condition holds"));
  fresh->setPopupMode(QToolButton::InstantPopup);
  fresh->setFocusPolicy(Qt::StrongFocus);
  auto* menu = new QMenu(fresh);
  menu->setToolTipsVisible(true);
  menu->addActions(kinds_);
  fresh->setMenu(menu);
  bar->addWidget(fresh);
  const auto button = [&](const QString& text, const QString& tip, const char* name) {
    auto* check = new QCheckBox(text, this);
    check->setObjectName(QString::fromLatin1(name));
    check->setToolTip(plainTip(tip));
    bar->addWidget(check);
    return check;
  };
  auto* odd =
      button(QStringLiteral("NaN or infinity"),
             QStringLiteral("Stop after each op whose result has a NaN or an infinity (Ctrl+Shift+F9)"),
             "stopAtNaN");
  auto* failures = button(
      QStringLiteral("Exceptions"),
      QStringLiteral("Stop at an op that fails, before its exception reaches the program (Ctrl+Shift+F8)"),
      "stopAtExceptions");
  connect(odd, &QCheckBox::clicked, &breakpoints_, &BreakpointsModel::setStopAtNotFinite);
  connect(failures, &QCheckBox::clicked, &breakpoints_, &BreakpointsModel::setStopAtExceptions);
  const auto follow = [this, odd, failures] {
    odd->setChecked(breakpoints_.stopsAtNotFinite());
    failures->setChecked(breakpoints_.stopsAtExceptions());
  };
  connect(&breakpoints_, &BreakpointsModel::changed, this, follow);
  follow();
  layout->addLayout(bar);
}

void BreakpointsView::addOf(BreakpointKind kind) {
  Breakpoint breakpoint;
  breakpoint.kind = kind;
  // Else a program that runs stops at its next op, before anyone could type which.
  breakpoint.enabled = !BreakpointForm::hasTarget(kind);
  const quint64 id = breakpoints_.add(std::move(breakpoint));
  for (int i = 0; i < list_->topLevelItemCount(); ++i)
    if (list_->topLevelItem(i)->data(0, id_role).toULongLong() == id)
      list_->setCurrentItem(list_->topLevelItem(i));
  showForm();
  form_->focusFirst();
}

QString BreakpointsView::placeOf(const Breakpoint& breakpoint) const {
  const QString cell =
      breakpoint.cell.empty() ? QString() : cells_.name(QString::fromStdString(breakpoint.cell));
  const QString text = breakpointText(breakpoint);
  return cell.isEmpty() ? text : QStringLiteral("%1, %2").arg(cell, text);
}

void BreakpointsView::showRow(QTreeWidgetItem* row, const BreakpointEntry& entry) {
  const Breakpoint& breakpoint = entry.breakpoint;
  row->setFlags(Qt::ItemIsEnabled | Qt::ItemIsSelectable | Qt::ItemIsUserCheckable);
  row->setData(0, id_role, QVariant::fromValue<qulonglong>(breakpoint.id));
  row->setCheckState(What, breakpoint.enabled ? Qt::Checked : Qt::Unchecked);
  const bool stopped = breakpoints_.stoppedBy(breakpoint.id);
  const QString sign = stopped                                                  ? QStringLiteral("▶ ")
                       : !entry.problem.isEmpty()                               ? QStringLiteral("✗ ")
                       : !entry.note.isEmpty()                                  ? QStringLiteral("⚠ ")
                       : breakpoint.action == protocol::BreakpointAction::log   ? QStringLiteral("✎ ")
                       : breakpoint.action == protocol::BreakpointAction::point ? QStringLiteral("∿ ")
                                                                                : QString();
  row->setText(What, QStringLiteral("%1%2 · %3").arg(sign).arg(breakpoint.id).arg(placeOf(breakpoint)));
  QString condition = QString::fromStdString(breakpoint.condition);
  if (breakpoint.kind == BreakpointKind::condition && breakpointText(breakpoint) == condition)
    condition.clear();
  if (breakpoint.from_hit > 1)
    condition += (condition.isEmpty() ? QString() : QStringLiteral(", ")) +
                 QStringLiteral("from hit %1 on").arg(breakpoint.from_hit);
  row->setText(Condition, condition);
  row->setText(Hits, countText(entry.hits));
  row->setTextAlignment(Hits, Qt::AlignRight | Qt::AlignVCenter);
  QFont letters = list_->font();
  letters.setBold(stopped);
  row->setFont(What, letters);
  QStringList tips;
  for (const QString& text :
       {entry.problem, entry.note,
        stopped ? QString::fromStdString(session_.status().stop_reason.value_or("")) : QString()})
    if (!text.isEmpty()) tips << text;
  for (int column = 0; column < ColumnCount; ++column) row->setToolTip(column, plainTip(tips.join(u'\n')));
}

void BreakpointsView::show() {
  filling_ = true;
  const quint64 selected = current();
  std::vector<const BreakpointEntry*> shown;
  for (const BreakpointEntry& entry : breakpoints_.all())
    if (!entry.passing) shown.push_back(&entry);
  while (list_->topLevelItemCount() > static_cast<int>(shown.size()))
    delete list_->takeTopLevelItem(list_->topLevelItemCount() - 1);
  while (list_->topLevelItemCount() < static_cast<int>(shown.size())) new QTreeWidgetItem(list_);
  for (int i = 0; i < static_cast<int>(shown.size()); ++i) {
    showRow(list_->topLevelItem(i), *shown[static_cast<std::size_t>(i)]);
    if (shown[static_cast<std::size_t>(i)]->breakpoint.id == selected)
      list_->setCurrentItem(list_->topLevelItem(i));
  }
  if (!list_->currentItem() && list_->topLevelItemCount() > 0) list_->setCurrentItem(list_->topLevelItem(0));
  filling_ = false;
  showForm();
  if (std::exchange(empty_, shown.empty()) != empty_) emit emptyChanged();
}

void BreakpointsView::showForm() {
  form_->show(breakpoints_.find(current()));
}

quint64 BreakpointsView::current() const {
  const QTreeWidgetItem* row = list_->currentItem();
  return row ? row->data(0, id_role).toULongLong() : 0;
}

}  // namespace tapedeck::inspector
