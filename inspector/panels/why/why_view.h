// The panel of answers: a sentence, and the records behind it, each a click away.
#pragma once

#include <functional>
#include <memory>

#include "inspector/panels/panel.h"
#include "inspector/panels/why_actions.h"

class QLabel;
class QTreeWidget;

namespace tapedeck::inspector {

/// Empty until a question was asked. Keys, with the focus in it: Enter shows a reason's record and element,
/// Alt+PgUp and Alt+PgDown go through the answers, Esc cancels.
class WhyView : public Panel {
  Q_OBJECT
 public:
  explicit WhyView(WhyModel& model, QWidget* parent = nullptr);
  ~WhyView() override;

  bool isEmpty() const override;
  QList<QAction*> menuActions() const override;
  void setCellName(std::function<QString(const QString& id, RecordNumber record)> name);
  QTreeWidget* reasons() const;
  QLabel* sentence() const;
  QLabel* question() const;

 public slots:
  void showAnswer();

 private:
  struct Private;
  std::unique_ptr<Private> d_;
};

}  // namespace tapedeck::inspector
