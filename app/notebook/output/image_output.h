// Pictures in outputs: bitmaps and SVG, as wide as they are or as there is room.
#pragma once

#include <QImage>
#include <QSize>
#include <memory>

#include "app/notebook/output/block.h"
#include "app/notebook/output/notebook_theme.h"

class QSvgRenderer;

namespace tapedeck::app {

class ImageOutput : public Block {
  Q_OBJECT
 public:
  /// Keeps the aspect; never larger than its own size. `error` stands in its place where it can't be shown.
  ImageOutput(const NotebookTheme& theme, QWidget* parent);
  ~ImageOutput() override;

  void setBitmap(const QByteArray& bytes);  ///< base64
  /// In logical pixels, where the notebook's metadata has one.
  void setNaturalSize(QSize size);
  void setSvg(const QByteArray& svg);
  QString error() const { return error_; }
  QSize shownSize() const;  ///< at the present width
  const QImage& bitmap() const { return image_; }

 protected:
  int computeHeight(int width) override;
  void paintEvent(QPaintEvent* event) override;
  void contextMenuEvent(QContextMenuEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;

 private:
  QSize fitted(int width) const;
  void fail(const QString& kind, const QString& reason);
  QImage render(QSize size, qreal ratio) const;
  void copy();
  void save();

  QImage image_;
  QByteArray svg_;  ///< cleaned: what is shown is what is saved
  std::unique_ptr<QSvgRenderer> renderer_;
  QSize natural_;
  QString error_;
  QColor text_;
  QColor background_;
  QPixmap cache_;  ///< as it was painted last
};

}  // namespace tapedeck::app
