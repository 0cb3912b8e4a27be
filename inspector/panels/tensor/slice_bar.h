// Controls for tensors of more than two axes: which two are shown, and where the others are cut.
#pragma once

#include <QList>
#include <QWidget>
#include <vector>

#include "inspector/model/tensor/tensor_model.h"

class QComboBox;
class QSlider;
class QSpinBox;

namespace tapedeck::inspector {

/// Hidden for tensors of up to two axes.
class SliceBar : public QWidget {
  Q_OBJECT
 public:
  explicit SliceBar(TensorModel* model, QWidget* parent = nullptr);

  /// In less room: no sliders, and names inside of the boxes.
  void setNarrow(bool narrow);
  QSpinBox* indexOf(int axis) const;  ///< nullptr: the axis is shown
  QComboBox* rowAxis() const { return rows_; }
  QComboBox* columnAxis() const { return columns_; }

 private:
  struct Cut {
    int axis = 0;
    QSpinBox* box = nullptr;
    QSlider* slider = nullptr;
    QWidget* label = nullptr;
  };
  void update();
  void rebuild();
  void chooseAxes();
  /// Controls that stay together, at the end of the bar.
  QWidget* group(std::initializer_list<QWidget*> controls);

  TensorModel* model_;
  QComboBox* rows_ = nullptr;
  QComboBox* columns_ = nullptr;
  QList<QWidget*> groups_;  ///< of the controls of one axis each
  std::vector<Cut> cuts_;
  std::vector<std::int64_t> shape_;
  std::vector<bool> shown_;
  QList<QWidget*> labels_;  ///< of the boxes for rows and columns
  bool narrow_ = false;
};

}  // namespace tapedeck::inspector
