// Pictures in outputs: bitmaps and SVG, as wide as they are or as there is room.
#pragma once

#include <QImage>
#include <QSize>
#include <functional>

#include "app/notebook/output/block.h"
#include "app/notebook/output/notebook_theme.h"
#include "app/notebook/output/picture_jobs.h"
#include "app/notebook/output/svg_drawing.h"

class QToolButton;

namespace tapedeck::app {

/// A small bitmap is decoded at once, a larger one in another thread when it is painted first; it is held as
/// long as those that are shown together have no more than most_held_pixels, else it is decoded each time
/// that it is painted in another size. One with more than most_decoded_pixels is shown when its button is
/// pressed. Another process draws SVG (SvgDrawer); until its picture arrives the output shows a sentence.
class ImageOutput : public Block {
  Q_OBJECT
 public:
  /// Of all outputs of the program together.
  static constexpr qint64 most_held_pixels = 64'000'000;
  /// Of a natural size, in logical pixels.
  static constexpr int largest_side = largest_svg_side;

  /// Keeps the aspect; never larger than its own size. `error` is shown instead where it can't be.
  ImageOutput(const NotebookTheme& theme, QWidget* parent);
  ~ImageOutput() override;

  void setBitmap(const QByteArray& bytes);  ///< base64
  /// In logical pixels, where the notebook's metadata has one.
  void setNaturalSize(QSize size);
  QSize naturalSize() const { return natural_; }
  void setSvg(const QByteArray& svg);
  QString error() const { return error_; }
  /// The sentence shown instead of the picture; empty where it is shown.
  QString told() const { return error_.isEmpty() ? waiting_ : error_; }
  QToolButton* showButton() const { return show_; }  ///< null: it is shown, or can't be
  QSize shownSize() const;                           ///< at the present width
  bool held() const { return !image_.isNull(); }

 protected:
  int computeHeight(int width) override;
  void place() override;
  void hideEvent(QHideEvent* event) override;
  void paintEvent(QPaintEvent* event) override;
  void contextMenuEvent(QContextMenuEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;

 private:
  bool isSvg() const { return !svg_.isEmpty(); }
  bool isShown() const { return told().isEmpty() && !natural_.isEmpty(); }
  QSize fitted(int width) const;
  int toldHeight(int width) const;
  void fail(const QString& kind, const QString& reason);
  void showBitmap();
  void hold(const QImage& image);
  bool mayHold(QSize size) const;
  void prepare(QSize pixels);
  void take(const PreparedPicture& made);
  void withBitmap(std::function<void(const QImage&)> use);
  void drawSvg(int width);
  void takeSvg(const SvgAnswer& answer);
  void copy();
  void save();

  QByteArray bitmap_;  ///< as it came
  QImage image_;       ///< decoded, or null
  QByteArray svg_;     ///< as it came; once it is shown, cleaned: what is shown is what is saved
  quint64 job_ = 0;    ///< of SvgDrawer; 0: none
  int drawnFor_ = -1;  ///< the width that SVG was drawn for, or is being drawn for
  qreal drawnRatio_ = 0;
  QSize natural_;
  QSize expected_;        ///< of SVG that is being drawn, as its first element says
  bool painted_ = false;  ///< since it was hidden last
  QString error_;
  QString waiting_;
  QToolButton* show_ = nullptr;
  QColor text_;
  QColor faint_;
  QColor background_;
  QPixmap cache_;  ///< as it was painted last
  PictureJob preparing_;
  QSize preparedFor_;  ///< what the job makes
  PictureJob using_;   ///< for the clipboard or a file
};

}  // namespace tapedeck::app
