// A part of a panel under a heading that folds it away.
#pragma once

#include <QToolButton>
#include <QWidget>

namespace tapedeck::inspector {

class Section : public QWidget {
  Q_OBJECT
 public:
  Section(const QString& title, QWidget* content, QWidget* parent = nullptr);
  bool isOpen() const { return heading_->isChecked(); }
  void setOpen(bool open) { heading_->setChecked(open); }

 private:
  void fold(bool open);

  QToolButton* heading_;
  QWidget* content_;
};

}  // namespace tapedeck::inspector
