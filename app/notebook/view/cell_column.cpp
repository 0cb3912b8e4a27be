#include "app/notebook/view/cell_column.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QToolButton>

#include "app/notebook/output/output_area.h"
#include "app/notebook/view/cell_metrics.h"
#include "app/notebook/view/cell_widget.h"
#include "inspector/model/plain_tip.h"
#include "inspector/ui/icons.h"
#include "inspector/ui/plain_text.h"

namespace tapedeck::app {

namespace metrics = cell_metrics;

CellColumn::CellColumn(const NotebookTheme& theme, QWidget* parent)
    : Block(parent), bar_(new QWidget(this)), hint_(inspector::plainLabel(bar_)) {
  auto* layout = new QHBoxLayout(bar_);
  layout->setContentsMargins(0, 2, 0, 2);
  layout->setSpacing(6);
  code_ = addButton("Code", "Add a code cell at the end", CellType::code);
  markdown_ = addButton("Markdown", "Add a Markdown cell at the end", CellType::markdown);
  layout->addWidget(code_);
  layout->addWidget(markdown_);
  layout->addWidget(hint_);
  layout->addStretch(1);
  hint_->setText("The notebook is empty.");
  setTheme(theme);
}

QToolButton* CellColumn::addButton(const QString& text, const QString& tip, CellType type) {
  auto* button = new QToolButton(bar_);
  button->setText(text);
  button->setToolTip(inspector::plainTip(tip));
  button->setAccessibleName(tip);
  button->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
  button->setFocusPolicy(Qt::TabFocus);
  connect(button, &QToolButton::clicked, this, [this, type] { emit addRequested(type); });
  return button;
}

void CellColumn::setTheme(const NotebookTheme& theme) {
  theme_ = theme;
  for (QToolButton* button : {code_, markdown_}) button->setIcon(inspector::icon("add"));
  bar_->setStyleSheet(
      QString("QToolButton { border: 1px solid %1; border-radius: 4px; padding: 3px 8px; color: %2; "
              "background: transparent; }"
              "QToolButton:hover, QToolButton:focus { background: %3; color: %4; }"
              "QLabel { color: %2; }")
          .arg(theme.border.name(), theme.faintText.name(), theme.hover.name(), theme.text.name()));
  bar_->layout()->setContentsMargins(gutterWidth(theme), 2, 0, 2);
  contentsChanged();
}

void CellColumn::setGrows(bool on) {
  bar_->setVisible(on);
}

int CellColumn::computeHeight(int width) {
  int height = metrics::top_of_notebook(theme_);
  const int room = std::min(width, metrics::most_width());
  for (CellWidget* cell : cells) height += cell->heightFor(room) + metrics::gap(theme_);
  return height + bar_->sizeHint().height() + 60;
}

void CellColumn::placeAtEnd(CellWidget* cell) const {
  const int room = std::min(width(), metrics::most_width());
  const int y = cells.isEmpty() ? metrics::top_of_notebook(theme_)
                                : cells.last()->y() + cells.last()->height() + metrics::gap(theme_);
  cell->setGeometry(0, y, room, cell->heightFor(room));
}

void CellColumn::place() {
  int y = metrics::top_of_notebook(theme_);
  const int room = std::min(width(), metrics::most_width());
  for (CellWidget* cell : cells) {
    const int height = cell->heightFor(room);
    cell->setGeometry(0, y, room, height);
    cell->arrange();
    y += height + metrics::gap(theme_);
  }
  hint_->setVisible(cells.isEmpty());
  bar_->setGeometry(0, y, room, bar_->sizeHint().height());
}

}  // namespace tapedeck::app
