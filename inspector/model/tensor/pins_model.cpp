#include "inspector/model/tensor/pins_model.h"

#include <algorithm>

#include "inspector/model/format.h"

namespace tapedeck::inspector {

namespace {

Pin makePin(const TensorChip& chip, const protocol::Record* record) {
  Pin pin;
  pin.chip = chip;
  const QString op = record ? QString::fromStdString(record->op) : QString();
  pin.name = !chip.info.name.empty() ? QString::fromStdString(chip.info.name)
             : !op.isEmpty()         ? op
                                     : QStringLiteral("tensor %1").arg(chip.info.id);
  QStringList parts{pin.name};
  if (record && !chip.info.name.empty()) parts << op;
  if (chip.role == TensorRole::input)
    parts.last() += QStringLiteral(", input %1").arg(chip.slot);
  else if (record && record->outputs.size() > 1)
    parts.last() += QStringLiteral(", output %1").arg(chip.slot);
  parts << shapeText(chip.info.shape);
  if (chip.record) parts << QStringLiteral("op %1").arg(countText(chip.record));
  pin.text = parts.join(QStringLiteral(" · "));
  pin.chip.label =
      chip.record ? QStringLiteral("%1 of op %2").arg(pin.name, countText(chip.record)) : pin.name;
  return pin;
}

}  // namespace

PinsModel::PinsModel(Session* session, QObject* parent) : QObject(parent), session_(session) {
  connect(session, &Session::cleared, this, [this] {
    if (pins_.empty()) return;
    pins_.clear();
    emit changed();
  });
}

std::vector<Pin>::const_iterator PinsModel::find(TensorId tensor) const {
  return std::find_if(pins_.begin(), pins_.end(),
                      [tensor](const Pin& pin) { return pin.chip.info.id == tensor; });
}

void PinsModel::pin(const TensorChip& chip) {
  const TensorId tensor = chip.info.id;
  if (tensor == 0 || pinned(tensor)) return;
  pins_.push_back(makePin(chip, session_->cachedRecord(chip.record)));
  emit changed();
  const bool asked = session_->request<protocol::Status>(
      protocol::Pin{tensor, true}, this,
      [this, tensor](const protocol::Status&) {
        // Fetching it may have taken longer than the user wanted it.
        if (!pinned(tensor)) session_->send(protocol::Pin{tensor, false});
      },
      [this, tensor](const protocol::Failure& failure) {
        // What it kept until it ended was pinned to the end.
        if (failure.code != "ended") refuse(tensor, QString::fromStdString(failure.reason));
      });
  if (!asked) refuse(tensor, QStringLiteral("The session has ended: it can't keep any more values."));
}

void PinsModel::unpin(TensorId tensor) {
  if (!pinned(tensor)) return;
  remove(tensor);
  session_->send(protocol::Pin{tensor, false});
}

void PinsModel::unpinAll() {
  for (const Pin& pin : std::vector<Pin>(pins_)) unpin(pin.chip.info.id);
}

void PinsModel::remove(TensorId tensor) {
  const auto found = find(tensor);
  if (found == pins_.end()) return;
  pins_.erase(found);
  emit changed();
}

void PinsModel::refuse(TensorId tensor, const QString& reason) {
  remove(tensor);
  emit refused(reason);
}

}  // namespace tapedeck::inspector
