// Which of a branch and the original a panel shows.
#pragma once

#include <QWidget>

class QLabel;

namespace tapedeck::inspector {

class ElidingLabel;
class Session;

/// "Branch: W:0[0, 0] = 5", with an icon. Takes no room while there is no branch.
class BranchStrip : public QWidget {
  Q_OBJECT
 public:
  explicit BranchStrip(Session* session, QWidget* parent = nullptr);
  QString text() const;

 protected:
  void changeEvent(QEvent* event) override;

 private:
  void show();

  Session* session_;
  QLabel* icon_;
  ElidingLabel* text_;
};

}  // namespace tapedeck::inspector
