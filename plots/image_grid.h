// The images of one step beside one another, whole pixels of the screen for each of theirs.
#pragma once

#include <QImage>
#include <QWidget>
#include <vector>

#include "inspector/model/runs/picture_model.h"
#include "inspector/ui/accessible_parts.h"

namespace tapedeck::plots {

/// An image and its reductions by halves, for places with little room.
struct DecodedImage {
  std::vector<QImage> levels;  ///< the first as it is; never empty
};
struct DecodedImages {
  std::vector<DecodedImage> images;
  QString problem;  ///< a sentence where they can't be shown
};
/// On any thread.
DecodedImages decodeImages(const inspector::StepImages& images);

class ImageGrid : public QWidget, public inspector::AccessibleParts {
  Q_OBJECT
 public:
  explicit ImageGrid(QWidget* parent = nullptr);

  /// `name`: for screen readers: "digits, step 30".
  void setImages(DecodedImages images, const QString& name = {});
  const DecodedImages& images() const { return images_; }
  /// `zoom`: pixels of the screen for one of the image; 0: as large as there is room for in `room`.
  void layOut(double zoom, const QSizeF& room);
  double scale() const { return scale_; }
  QRectF place(std::size_t image) const;  ///< where it is drawn
  /// "[1] row 3, column 5: 128"; empty where there is no image.
  QString pixelText(QPointF position) const;
  int columns() const { return columns_; }

  /// The images, by name and step.
  int accessiblePartCount() const override { return static_cast<int>(images_.images.size()); }
  inspector::AccessiblePart accessiblePart(int index) const override;

 signals:
  void hovered(const QString& pixel);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;

 private:
  QSizeF imageSize() const;
  double labelHeight() const;
  double fitting(const QSizeF& room, int* columns) const;
  void drawImage(QPainter& painter, std::size_t image, const QRectF& clip) const;

  DecodedImages images_;
  QString name_;
  double scale_ = 1;
  int columns_ = 1;
};

}  // namespace tapedeck::plots
