// One sample or notebook on the start page: a button with an icon, a title and a sentence.
#pragma once

#include <QPushButton>

namespace tapedeck::app {

/// As high as its sentence needs at its width. Its text and icon grow with the window's font.
class StartCard : public QPushButton {
  Q_OBJECT
 public:
  /// An icon is as high as a line of text, a thumbnail as two or three.
  enum class Picture { icon, thumbnail };
  StartCard(const QString& title, const QString& sentence, Picture picture, QWidget* parent = nullptr);
  QSize sizeHint() const override;
  QSize minimumSizeHint() const override;
  bool hasHeightForWidth() const override { return true; }
  int heightForWidth(int width) const override;

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  QFont titleFont() const;
  QSize pictureSize() const;
  int textLeft() const;
  /// Position and height of title and sentence in a card of that width.
  QRect titleRect(int width) const;
  QRect sentenceRect(int width) const;

  QString title_, sentence_;
  Picture picture_;
};

}  // namespace tapedeck::app
