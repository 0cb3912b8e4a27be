// The curves of both sides, over their steps.
#pragma once

#include <QWidget>

#include "inspector/model/compare/compare_model.h"

class QComboBox;

namespace tapedeck::inspector {

/// One curve of each side, of one name until the user chooses another for the right side: the left side's
/// drawn through with round marks, the right side's dashed with square
/// ones. A click on a point moves the cursor there; the arrows walk over the steps, Enter and Alt+Enter go to
/// the left and the right side's op. The step walked to, or under the mouse, is shown in numbers.
class CompareCurvesView : public QWidget {
  Q_OBJECT
 public:
  explicit CompareCurvesView(CompareModel* model, QWidget* parent = nullptr);
  QComboBox* names() const { return names_; }
  QComboBox* rightNames() const { return rightNames_; }  ///< the right side's

 private:
  class Chart;
  void showNames();

  CompareModel* model_;
  QComboBox *names_, *rightNames_;
  Chart* chart_;
};

}  // namespace tapedeck::inspector
