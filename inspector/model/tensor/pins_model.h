// The values that the user pinned: the recorder never drops them, and they can be shown from anywhere.
#pragma once

#include <QObject>
#include <QString>
#include <vector>

#include "inspector/model/tensor/tensor_model.h"

namespace tapedeck::inspector {

struct Pin {
  TensorChip chip;  ///< where it was pinned: which tensor, and of which record
  QString name;     ///< as users know it: "W:0", "matmul"
  QString text;     ///< the same with what distinguishes it: "W:0 · 784×10 · op 1,204"
};

/// The pins of one session, in the order in which they were made; none after it is cleared. It adds a
/// pin at once; where the session can't keep the value, it removes the pin, and refused() says why.
class PinsModel : public QObject {
  Q_OBJECT
 public:
  explicit PinsModel(Session* session, QObject* parent = nullptr);

  const std::vector<Pin>& pins() const { return pins_; }
  bool pinned(TensorId tensor) const { return find(tensor) != pins_.end(); }

 public slots:
  void pin(const tapedeck::inspector::TensorChip& chip);
  void unpin(tapedeck::inspector::TensorId tensor);
  void unpinAll();

 signals:
  void changed();
  void refused(const QString& reason);

 private:
  std::vector<Pin>::const_iterator find(TensorId tensor) const;
  void remove(TensorId tensor);
  void refuse(TensorId tensor, const QString& reason);

  Session* session_;
  std::vector<Pin> pins_;
};

}  // namespace tapedeck::inspector
