// What the forms of a change share: below each field what is wrong with it, and the buttons.
#pragma once

#include <QHash>
#include <QString>

class QFormLayout;
class QLabel;
class QPushButton;
class QWidget;

namespace tapedeck::inspector {

/// A hidden label below a field, shown with a sentence while something is wrong with what is typed there.
class FieldProblems {
 public:
  /// `name`: what the labels' object names begin with; the field's number follows.
  FieldProblems(QFormLayout* layout, const QString& name) : layout_(layout), name_(name) {}

  /// Below the row that was added last.
  void add(int field);
  void hide(int field);
  void hideAll();
  void show(int field, const QString& sentence);

 private:
  QFormLayout* layout_;
  QString name_;
  QHash<int, QLabel*> labels_;
};

struct ChangeButtons {
  QPushButton *add = nullptr, *close = nullptr;
};
/// The form's last row. Their object names are `name` with Add and Close.
ChangeButtons addChangeButtons(QFormLayout* layout, const QString& name);

}  // namespace tapedeck::inspector
