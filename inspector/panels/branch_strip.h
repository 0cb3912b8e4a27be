// Which of a branch and the original a panel shows.
#pragma once

#include <QWidget>

namespace tapedeck::inspector {

class ElidingLabel;
class Session;

/// "Branch: W:0[0, 0] = 5", with an icon. Takes no room while there is no branch.
class BranchStrip : public QWidget {
  Q_OBJECT
 public:
  explicit BranchStrip(Session& session, QWidget* parent = nullptr);
  QString text() const;

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  void showLook();

  Session& session_;
  ElidingLabel* text_;
};

}  // namespace tapedeck::inspector
