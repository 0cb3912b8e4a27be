// Controls side by side, in as many lines as they need: they never make their panel wider.
#pragma once

#include <QLayout>
#include <memory>
#include <vector>

namespace tapedeck::inspector {

/// Each item has its preferred size, or the layout's width where that is less; those that expand share what
/// is left of their line.
class WrappingLayout : public QLayout {
 public:
  explicit WrappingLayout(QWidget* parent) : QLayout(parent) {}
  ~WrappingLayout() override;

  void addItem(QLayoutItem* item) override;
  int count() const override { return static_cast<int>(items_.size()); }
  QLayoutItem* itemAt(int index) const override;
  QLayoutItem* takeAt(int index) override;
  bool hasHeightForWidth() const override { return true; }
  int heightForWidth(int width) const override { return place({0, 0, width, 0}, false); }
  QSize sizeHint() const override;
  QSize minimumSize() const override;
  void setGeometry(const QRect& rectangle) override;

 private:
  /// The height that the items take in a rectangle; `move` puts them there.
  int place(const QRect& rectangle, bool move) const;
  void placeLine(const std::vector<QLayoutItem*>& line, const QRect& room, int used) const;
  static int widthOf(const QLayoutItem& item, int room);

  std::vector<std::unique_ptr<QLayoutItem>> items_;
};

}  // namespace tapedeck::inspector
