// A change of all ops that a condition finds, to be typed.
#pragma once

#include <QWidget>

#include "inspector/model/what_if/set_change.h"
#include "inspector/panels/what_if/change_rows.h"

class QComboBox;
class QLineEdit;

namespace tapedeck::inspector {

class ConditionEdit;

/// Errors appear below the field that they are about.
class SetForm : public QWidget {
  Q_OBJECT
 public:
  explicit SetForm(Session& session, QWidget* parent = nullptr);

  /// A new change; of ops like that one, where there is one.
  void start(const protocol::Record& op);
  /// An existing one, to be edited.
  void edit(const BranchChange& change);
  void focusFirst();

 signals:
  void done(const tapedeck::inspector::BranchChange& change);
  void closed();

 private:
  void addField(SetField field, const char* name, const QString& label, QWidget* widget, const QString& tip);
  void fill(const protocol::SetChange& set);
  protocol::SetChange draft() const;
  void commit();

  QFormLayout* layout_;
  FieldProblems problems_;
  ConditionEdit* filter_;
  QComboBox *subject_, *action_;
  QLineEdit* value_;
  QPushButton* add_ = nullptr;
};

}  // namespace tapedeck::inspector
