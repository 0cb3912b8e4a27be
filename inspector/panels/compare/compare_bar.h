// What is compared, and how exactly.
#pragma once

#include <QWidget>

#include "inspector/model/compare/compare_model.h"

class QComboBox;
class QLineEdit;

namespace tapedeck::inspector {

class WrappingLayout;

/// The choice of both sides, and the tolerance as it is typed.
class CompareBar : public QWidget {
  Q_OBJECT
 public:
  explicit CompareBar(CompareModel* model, QWidget* parent = nullptr);
  QComboBox* left() const { return left_; }
  QComboBox* right() const { return right_; }
  /// Their fields are in a row of the panel that has room for them.
  void addTolerances(QLayout* layout);
  QLineEdit* relative() const { return relative_; }
  QLineEdit* absolute() const { return absolute_; }
  /// Asks for a trace file, and makes it the side.
  void askFile(bool right);
  /// Asks for a name map.
  void askNames();

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  QComboBox* addSide(WrappingLayout* layout, const QString& name, bool right);
  QLineEdit* addNumber(QLayout* layout, const char* id, const QString& name, const QString& tip);
  void fill(QComboBox* box, const std::optional<CompareChoice>& chosen);
  void take(int entry, bool right);
  void takeTolerance();
  void showAll();

  CompareModel* model_;
  std::vector<CompareChoice> choices_;
  QComboBox *left_, *right_;
  QLineEdit *relative_ = nullptr, *absolute_ = nullptr;
};

}  // namespace tapedeck::inspector
