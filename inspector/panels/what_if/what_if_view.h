// The panel What if: the changes, their results, and which of branch and original the panels show.
#pragma once

#include <memory>

#include "inspector/panels/panel.h"
#include "inspector/panels/what_if_actions.h"

class QLabel;
class QTreeWidget;

namespace tapedeck::inspector {

class ChangeForm;
class SetForm;

/// Empty until the user changes something. Keys, with the focus in it: Alt+Shift+A adds a change, F2 edits
/// and Del removes one; Enter shows a result that moved, or an op that stays as recorded; Esc closes the
/// form, or cancels the replay.
class WhatIfView : public Panel {
  Q_OBJECT
 public:
  WhatIfView(WhatIfActions& actions, CellNames& cells, QWidget* parent = nullptr);
  ~WhatIfView() override;

  bool isEmpty() const override;
  QList<QAction*> menuActions() const override;
  QTreeWidget* changes() const;
  QTreeWidget* moved() const;
  QTreeWidget* reads() const;
  QLabel* sentence() const;
  ChangeForm* form() const;
  SetForm* setForm() const;

 protected:
  void resizeEvent(QResizeEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  struct Private;
  std::unique_ptr<Private> d_;
};

}  // namespace tapedeck::inspector
