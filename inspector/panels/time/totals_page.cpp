#include "inspector/panels/time/totals_page.h"

#include <QButtonGroup>
#include <QHeaderView>
#include <QLineEdit>
#include <QTableView>
#include <QVBoxLayout>

#include "inspector/panels/time/profile_table.h"
#include "inspector/ui/clear_by_escape.h"
#include "inspector/ui/follow_font.h"
#include "inspector/ui/segment_button.h"
#include "inspector/ui/wrapping_layout.h"

namespace tapedeck::inspector {

namespace {

constexpr int group_count = 5;  ///< op, line, cell, scope, Python

}  // namespace

TotalsPage::TotalsPage(ProfileModel* model, CellNames* cells, QWidget* parent)
    : QWidget(parent), model_(model), cells_(cells) {
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(4, 0, 4, 4);
  layout->setSpacing(4);
  layout->addLayout(makeBar());
  makeTable();
  layout->addWidget(table_, 1);
  setFocusProxy(table_);
  clearByEscape(filter_, this, [this] {
    filter_->clear();
    table_->setFocus();
  });
  connect(groups_, &QButtonGroup::idClicked, this, &TotalsPage::setGroup);
  connect(filter_, &QLineEdit::textChanged, this, [this](const QString& text) {
    std::vector<std::string> labels;
    for (auto cell = cells_->all().begin(); cell != cells_->all().end(); ++cell) {
      labels.push_back(cell.key().toStdString());
      labels.push_back(cell.value().toStdString());
    }
    model_->setFilter(text.trimmed(), labels);
  });
  connect(table_, &QTableView::clicked, this,
          [this](const QModelIndex& index) { emit clicked(rows_->slowest(index.row())); });
  connect(table_, &QTableView::doubleClicked, this, &TotalsPage::doubleClicked);
}

QLayout* TotalsPage::makeBar() {
  auto* bar = new WrappingLayout(nullptr);
  bar->setSpacing(6);
  groups_ = new QButtonGroup(this);
  bar->addWidget(segmentRow(
      groups_,
      {QStringLiteral("Op"), QStringLiteral("Line"), QStringLiteral("Cell"), QStringLiteral("Scope"),
       QStringLiteral("Python")},
      {QStringLiteral("A row for each op (G: the next)"), QStringLiteral("A row for each line (G: the next)"),
       QStringLiteral("A row for each cell (G: the next)"),
       QStringLiteral("A row for each scope (G: the next)"),
       QStringLiteral("A row for each place between two ops where Python took time (G: the next)")},
      this));
  filter_ = new QLineEdit(this);
  filter_->setObjectName(QStringLiteral("timeFilter"));
  filter_->setAccessibleName(QStringLiteral("Filter of the totals"));
  filter_->setPlaceholderText(QStringLiteral("Filter by op, scope, cell"));
  filter_->setClearButtonEnabled(true);
  followFont(filter_, [this] {
    filter_->setMinimumWidth(filter_->fontMetrics().horizontalAdvance(filter_->placeholderText()) + 44);
  });
  filter_->setToolTip(QStringLiteral("Only rows that contain every word (Ctrl+F; Esc clears)"));
  bar->addWidget(filter_);
  return bar;
}

void TotalsPage::makeTable() {
  table_ = new QTableView(this);
  rows_ = new ProfileTable(model_, cells_, this);
  table_->setObjectName(QStringLiteral("timeTotals"));
  table_->setAccessibleName(QStringLiteral("Totals"));
  table_->setModel(rows_);
  table_->setSelectionBehavior(QAbstractItemView::SelectRows);
  table_->setSelectionMode(QAbstractItemView::SingleSelection);
  table_->setShowGrid(false);
  table_->setTabKeyNavigation(false);
  table_->setWordWrap(false);
  table_->verticalHeader()->hide();
  followFont(table_,
             [this] { table_->verticalHeader()->setDefaultSectionSize(table_->fontMetrics().height() + 6); });
  table_->horizontalHeader()->setSectionsMovable(false);
  table_->horizontalHeader()->setHighlightSections(false);
  table_->horizontalHeader()->setSortIndicator(ProfileTable::self_column, Qt::DescendingOrder);
  table_->setSortingEnabled(true);
  table_->setColumnWidth(ProfileTable::name_column, table_->fontMetrics().averageCharWidth() * 34);
  const QFontMetrics metrics = table_->fontMetrics();
  for (int column = 1; column < ProfileTable::column_count; ++column) {
    const bool rate = column == ProfileTable::flops_column || column == ProfileTable::bytes_column;
    const QString widest = rate ? QStringLiteral("99.9 GFLOP/s") : QStringLiteral("1,000,000");
    table_->setColumnWidth(column, metrics.horizontalAdvance(widest) + 14);
  }
}

RecordNumber TotalsPage::slowest() const {
  return rows_->slowest(table_->currentIndex().row());
}

void TotalsPage::nextGroup() {
  setGroup((groups_->checkedId() + 1) % group_count);
}

void TotalsPage::enterTable() {
  table_->setFocus();
  if (rows_->rowCount() > 0) table_->selectRow(0);
}

void TotalsPage::setGroup(int group) {
  groups_->button(group)->setChecked(true);
  rows_->setGaps(group == group_count - 1);
  filter_->setEnabled(!rows_->gaps());
  if (!rows_->gaps()) model_->setGroup(static_cast<protocol::ProfileGroup>(group));
  table_->horizontalHeader()->headerDataChanged(Qt::Horizontal, 0, ProfileTable::column_count - 1);
  for (int column = 0; column < ProfileTable::column_count; ++column)
    table_->setColumnHidden(column, rows_->gaps() && (column == ProfileTable::total_column ||
                                                      column >= ProfileTable::flops_column));
  table_->setColumnWidth(ProfileTable::name_column,
                         table_->fontMetrics().averageCharWidth() * (group == 0 ? 34 : 56));
  if (rows_->rowCount() > 0) table_->selectRow(0);
}

}  // namespace tapedeck::inspector
