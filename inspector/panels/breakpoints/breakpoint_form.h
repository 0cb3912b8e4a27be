// One breakpoint, to be edited: what it is for, its condition, from which hit on, and what it does.
#pragma once

#include <QWidget>

#include "inspector/model/breakpoints/breakpoints_model.h"

class QComboBox;
class QLabel;
class QLineEdit;
class QSpinBox;

namespace tapedeck::inspector {

class ConditionEdit;

class BreakpointForm : public QWidget {
  Q_OBJECT
 public:
  BreakpointForm(BreakpointsModel& breakpoints, Session& session, QWidget* parent = nullptr);

  /// nullptr: none. Text that is being typed stays; text typed for another breakpoint is applied to that one.
  void show(const BreakpointEntry* entry);
  void focusFirst();
  /// Whether one of this kind is at an op or a variable, which is to be named.
  static bool hasTarget(protocol::BreakpointKind kind);

 signals:
  /// The user's choice or entry made that appear below the other fields.
  void appeared(QWidget* below);

 protected:
  bool eventFilter(QObject* object, QEvent* event) override;

 private:
  void commit();
  void showProblem(const BreakpointEntry& entry);

  BreakpointsModel& breakpoints_;
  quint64 shown_ = 0;
  bool filling_ = false;
  QLineEdit* target_;
  ConditionEdit* condition_;
  QSpinBox* fromHit_;
  QComboBox* action_;
  QLineEdit* text_;
  QLabel *targetLabel_, *textLabel_, *problem_;
};

}  // namespace tapedeck::inspector
