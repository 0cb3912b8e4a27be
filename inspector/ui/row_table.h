// A table of rows: Home and End go to the first and last row, keys never to another column.
#pragma once

#include <QTableView>

namespace tapedeck::inspector {

class RowTable : public QTableView {
  Q_OBJECT
  Q_PROPERTY(QString placeholder READ placeholder WRITE setPlaceholder)
 public:
  explicit RowTable(QWidget* parent = nullptr);
  /// Shown in the middle while there are no rows.
  void setPlaceholder(const QString& text);
  QString placeholder() const { return placeholder_; }

 protected:
  QModelIndex moveCursor(CursorAction action, Qt::KeyboardModifiers modifiers) override;
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  QString placeholder_;
  bool in_sight_ = false;  ///< the current row was visible when last drawn
};

}  // namespace tapedeck::inspector
