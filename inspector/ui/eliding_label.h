// A line of text that gives way: where it has less room than it needs, it is cut with "…" and its tooltip has
// the whole.
#pragma once

#include <QLabel>

namespace tapedeck::inspector {

class ElidingLabel : public QLabel {
  Q_OBJECT
 public:
  /// `mode`: which end may go; Qt::ElideMiddle keeps both.
  explicit ElidingLabel(Qt::TextElideMode mode, QWidget* parent = nullptr);

  QSize minimumSizeHint() const override;
  QSize sizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;
  bool event(QEvent* event) override;

 private:
  bool cut() const;

  Qt::TextElideMode mode_;
};

}  // namespace tapedeck::inspector
