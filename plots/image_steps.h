// The images of a summary: those of one step, with a slider over the steps.
#pragma once

#include <QPointF>
#include <QWidget>
#include <memory>

#include "inspector/model/runs/picture_model.h"

class QLabel;
class QScrollArea;
class QSlider;

namespace tapedeck::plots {

struct DecodedImages;
class ImageGrid;

/// Images are unpacked on another thread; until then the ones before stay.
class ImageSteps : public QWidget {
  Q_OBJECT
 public:
  explicit ImageSteps(QWidget* parent = nullptr);

  /// Follows the newest step until an older one is chosen.
  void setImages(const inspector::Pictures<inspector::StepImages>& images, const QString& name);
  /// Goes to the newest step of that record or an older one; where there is none, the caption says so. The
  /// session's cursor stays where it is.
  void setCursorRecord(inspector::RecordNumber record);
  int chosen() const;  ///< the index of the chosen step; -1: there is none
  void choose(int step);
  void zoomIn() { zoomBy(1.5); }
  void zoomOut() { zoomBy(1 / 1.5); }
  void fit();  ///< as large as there is room for
  ImageGrid* grid() const { return grid_; }
  /// The caption: "step 30 · cell [4] · 28×28 · 3 images"; with the pixel under the mouse.
  QString caption() const;
  const QString& name() const { return name_; }

 signals:
  void stepChosen(quint64 record);
  /// Another run began to make them: the earlier ones are gone. `record`: of that.
  void beganAgain(quint64 record);
  void shown();  ///< the shown images changed

 protected:
  void resizeEvent(QResizeEvent* event) override;
  void changeEvent(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void paintEvent(QPaintEvent* event) override;
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void moved(int step);
  void look();
  void decode();
  void take(std::shared_ptr<const inspector::StepImages> images, DecodedImages decoded);
  void lay();
  void zoomBy(double factor);
  void tell();

  inspector::Pictures<inspector::StepImages> images_;
  QString name_, pixel_;
  std::shared_ptr<const inspector::StepImages> wanted_, shown_;
  bool decoding_ = false;
  inspector::RecordNumber cursor_ = 0;  ///< 0: not known yet
  QScrollArea* scroll_;
  ImageGrid* grid_;
  QSlider* slider_;
  QLabel* caption_;
  double zoom_ = 0;     ///< 0: fits
  bool newest_ = true;  ///< the newest is followed
  QPointF pressed_;
};

}  // namespace tapedeck::plots
