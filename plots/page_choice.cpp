#include "plots/page_choice.h"

#include <QActionGroup>
#include <QToolBar>
#include <tuple>

#include "inspector/ui/keyed_action.h"

namespace tapedeck::plots {

PageChoice::PageChoice(QWidget* panel, QToolBar* bar) : QObject(panel) {
  auto* group = new QActionGroup(this);
  const std::tuple<QString, QKeySequence, QString> texts[] = {
      {QStringLiteral("Curves"), Qt::Key_C, QStringLiteral("The page of curves: numbers over the steps")},
      {QStringLiteral("Histograms"), Qt::Key_H,
       QStringLiteral("The page of histograms: how values were spread over the steps")},
      {QStringLiteral("Images"), Qt::Key_I,
       QStringLiteral("The page of images, with a slider over the steps")}};
  for (std::size_t i = 0; i < actions_.size(); ++i) {
    const auto& [text, key, tip] = texts[i];
    actions_[i] = inspector::addKeyedAction(panel, text, {key}, tip);
    actions_[i]->setCheckable(true);
    actions_[i]->setVisible(false);
    group->addAction(actions_[i]);
    bar->addAction(actions_[i]);
    connect(actions_[i], &QAction::triggered, this, [this, i] { choose(static_cast<PlotsPage>(i)); });
  }
  actions_[0]->setChecked(true);
  QAction* const end = bar->addSeparator();
  connect(actions_[0], &QAction::visibleChanged, end,
          [this, end] { end->setVisible(actions_[0]->isVisible()); });
  end->setVisible(false);
}

void PageChoice::choose(PlotsPage page) {
  if (!filled_[static_cast<std::size_t>(page)]) return;
  chosen_ = true;
  show(page);
}

void PageChoice::setFilled(const std::array<bool, 3>& filled) {
  if (filled == filled_) return;
  filled_ = filled;
  const bool choice = filled[1] || filled[2];
  for (std::size_t i = 0; i < actions_.size(); ++i) {
    actions_[i]->setVisible(choice);
    actions_[i]->setEnabled(filled[i]);
  }
  if (!filled[0] && !choice) chosen_ = false;
  if (chosen_ && filled[static_cast<std::size_t>(page_)]) return;
  show(filled[0] || !choice ? PlotsPage::curves : filled[1] ? PlotsPage::histograms : PlotsPage::images);
}

void PageChoice::show(PlotsPage page) {
  actions_[static_cast<std::size_t>(page)]->setChecked(true);
  if (page == page_) return;
  page_ = page;
  emit changed();
}

}  // namespace tapedeck::plots
