#include "inspector/panels/run_box.h"

#include "inspector/model/plain_tip.h"

namespace tapedeck::inspector {

RunBox::RunBox(const QString& objectName, const QString& spokenName, const QString& tip, QWidget* parent)
    : QComboBox(parent) {
  setObjectName(objectName);
  setAccessibleName(spokenName);
  setToolTip(plainTip(tip));
  setSizeAdjustPolicy(QComboBox::AdjustToContents);
  setFocusPolicy(Qt::TabFocus);
  connect(this, &QComboBox::activated, this, [this](int at) {
    if (!syncing_) emit runChosen(at - 1);
  });
}

void RunBox::showRuns(const QStringList& texts, int run) {
  syncing_ = true;
  QStringList there;
  for (int i = 0; i < count(); ++i) there << itemText(i);
  if (there != texts) {
    clear();
    addItems(texts);
  }
  setCurrentIndex(run + 1);
  syncing_ = false;
}

}  // namespace tapedeck::inspector
