// One change of the past, to be typed.
#pragma once

#include <QWidget>

#include "inspector/model/what_if/branch_change.h"
#include "inspector/panels/what_if/change_rows.h"

class QComboBox;
class QLineEdit;

namespace tapedeck::inspector {

class ElidingLabel;

/// Errors appear below the field that they are about.
class ChangeForm : public QWidget {
  Q_OBJECT
 public:
  explicit ChangeForm(QWidget* parent = nullptr);

  /// A new change of that tensor or op.
  void start(const ChangeSubject& subject);
  /// An existing one, to be edited.
  void edit(const BranchChange& change);
  /// Nothing was typed yet, so it may be about something else.
  bool untouched() const { return !touched_; }
  void focusFirst();
  /// "Set one element of W:0"
  QString kindText() const;

 signals:
  void done(const tapedeck::inspector::BranchChange& change);
  void closed();

 private:
  QLineEdit* addLine(ChangeField field, const char* name, const QString& label, const QString& tip);
  void fillResults();
  void fillKinds(ChangeKind chosen);
  void showFields();
  void showSetting();
  void commit();
  ChangeDraft draft() const;
  ChangeKind kind() const;

  ChangeSubject subject_;
  bool touched_ = false, filling_ = false;
  QFormLayout* layout_;
  FieldProblems problems_;
  ElidingLabel* about_;
  QComboBox *kind_, *result_, *attribute_;
  QLineEdit *element_, *numbers_, *setting_;
  QPushButton* add_;
};

}  // namespace tapedeck::inspector
