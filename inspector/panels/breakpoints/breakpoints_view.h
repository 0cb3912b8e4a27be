// The list of breakpoints, and the form in which one of them is edited.
#pragma once

#include "inspector/model/breakpoints/breakpoints_model.h"
#include "inspector/panels/panel.h"

class QBoxLayout;
class QTreeWidget;
class QTreeWidgetItem;

namespace tapedeck::inspector {

class BreakpointForm;

class BreakpointsView : public Panel {
  Q_OBJECT
 public:
  BreakpointsView(BreakpointsModel& breakpoints, Session& session, CellNames& cells,
                  QWidget* parent = nullptr);

  bool isEmpty() const override;
  QList<QAction*> menuActions() const override;
  QTreeWidget* list() const { return list_; }
  BreakpointForm* form() const { return form_; }

 private:
  void makeActions();
  void makeBar(QBoxLayout* layout);
  void makeList();
  void addOf(protocol::BreakpointKind kind);
  void show();
  void showRow(QTreeWidgetItem* row, const BreakpointEntry& entry);
  void showForm();
  quint64 current() const;
  QString placeOf(const protocol::Breakpoint& breakpoint) const;

  BreakpointsModel& breakpoints_;
  Session& session_;
  CellNames& cells_;
  QTreeWidget* list_;
  BreakpointForm* form_;
  QAction *goTo_, *remove_, *enable_, *edit_;
  QList<QAction*> kinds_;
  bool filling_ = false;
  bool empty_ = true;
};

}  // namespace tapedeck::inspector
