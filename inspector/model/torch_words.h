// Which records are of PyTorch's programs, whose words the window uses for them.
#pragma once

#include <QString>

#include "engine/protocol/foreign_tapes.h"
#include "engine/protocol/record.h"

namespace tapedeck::inspector {

/// By the name of an op: "aten.mm", "VJP of autograd.Scaled".
inline bool isTorchOp(QString op) {
  if (op.startsWith(QStringLiteral("VJP of "))) op.remove(0, 7);
  return op.startsWith(QStringLiteral("aten.")) || op.startsWith(QStringLiteral("autograd."));
}

/// An op of another library has a graph's number where its gradients are on.
inline bool isOfTorch(const protocol::Record& record) {
  return record.tape >= protocol::first_foreign_tape || isTorchOp(QString::fromStdString(record.op));
}

/// What a playback of autograd's graph is called; its record is "gradient", as those of tapes.
inline const QString torchPlayback = QStringLiteral("backward");

/// "/cpu:0" and "/gpu:1" as PyTorch writes them: "cpu", "cuda:1". A device that has its own name keeps it.
inline QString torchDevice(const QString& device) {
  if (device.startsWith(QStringLiteral("/cpu:"))) return QStringLiteral("cpu");
  return device.startsWith(QStringLiteral("/gpu:")) ? QStringLiteral("cuda:") + device.mid(5) : device;
}

}  // namespace tapedeck::inspector
