// The figures of a whole tensor.
#pragma once

#include <QHash>
#include <QWidget>

#include "inspector/model/tensor/tensor_model.h"

class QLabel;

namespace tapedeck::inspector {

/// Name and value of each figure: count, shape, minimum, maximum, mean, standard deviation, zeros, NaN,
/// infinities.
QList<std::pair<QString, QString>> statisticsTexts(const TensorModel& model);
/// The same in one line, for narrow panels.
QString statisticsLine(const TensorModel& model);
/// A note that arithmetic on the tensor's values is slow, and what to do; empty where it is not.
QString subnormalNote(const protocol::Statistics& statistics);

class StatisticsPanel : public QWidget {
  Q_OBJECT
 public:
  explicit StatisticsPanel(TensorModel* model, QWidget* parent = nullptr);
  QString text(const QString& name) const;  ///< the text beside a name
  QString note() const;                     ///< the text below the histogram

 protected:
  void changeEvent(QEvent* event) override;

 private:
  class Bars;
  void update();
  void setUsualWidth();

  TensorModel* model_;
  QHash<QString, QLabel*> values_;
  QLabel* note_ = nullptr;
  Bars* bars_ = nullptr;
};

}  // namespace tapedeck::inspector
