// A form below something else: as high as it is where there is room, and scrolled where there is not. A field
// that gets the focus by key is scrolled to.
#pragma once

#include <QScrollArea>

namespace tapedeck::inspector {

class FormArea : public QScrollArea {
  Q_OBJECT
 public:
  explicit FormArea(QWidget* form, QWidget* parent = nullptr);
  QSize sizeHint() const override;
  QSize minimumSizeHint() const override;
  /// Scrolls to the field once the form is laid out with it.
  void reveal(QWidget* field);

 protected:
  bool eventFilter(QObject* object, QEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  void scrollTo(const QWidget* field);
};

}  // namespace tapedeck::inspector
