// The list that a panel's run is chosen from.
#pragma once

#include <QComboBox>

namespace tapedeck::inspector {

/// The first entry means all runs, -1; the others are runs from 0 on.
class RunBox : public QComboBox {
  Q_OBJECT
 public:
  RunBox(const QString& objectName, const QString& spokenName, const QString& tip, QWidget* parent);

 signals:
  void runChosen(int run);  ///< by the user

 protected:
  /// Keeps the list open and where it is while the same runs are shown.
  void showRuns(const QStringList& texts, int run);

 private:
  bool syncing_ = false;
};

}  // namespace tapedeck::inspector
