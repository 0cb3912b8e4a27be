#include "inspector/model/tensor/tensor_chips.h"

#include <algorithm>

#include "inspector/model/format.h"

namespace tapedeck::inspector {

using protocol::Record;
using protocol::RecordState;
using protocol::TensorInfo;

namespace {

QString describe(const TensorInfo& tensor) {
  if (!tensor.name.empty()) return QStringLiteral(" · ") + QString::fromStdString(tensor.name);
  if (tensor.id == 0 && tensor.dtype.empty()) return QStringLiteral(" · none");
  return {};
}

TensorChip makeChip(TensorRole role, const Record& record, std::size_t slot) {
  const auto& tensors = role == TensorRole::input ? record.inputs : record.outputs;
  TensorChip chip;
  chip.role = role;
  chip.slot = static_cast<int>(slot);
  chip.record = record.number;
  chip.info = tensors[slot];
  chip.available = chip.info.id != 0 && elementCount(chip.info.shape) >= 0;
  const QString number = tensors.size() > 1 ? QStringLiteral(" %1").arg(slot) : QString();
  if (role == TensorRole::justRan) {
    chip.label = QStringLiteral("just ran: %1%2").arg(QString::fromStdString(record.op), number);
  } else {
    chip.subject = role == TensorRole::input && slot == 1 && isArrivalOfGradient(record);
    chip.label = (role == TensorRole::input ? QStringLiteral("in") : QStringLiteral("out")) + number +
                 (chip.subject ? QStringLiteral(" · gradient") : describe(chip.info));
  }
  return chip;
}

int find(const std::vector<TensorChip>& chips, TensorRole role, int slot) {
  int any = -1;
  for (std::size_t index = 0; index < chips.size(); ++index) {
    const TensorChip& chip = chips[index];
    if (chip.role != role || !chip.available) continue;
    if (chip.slot == slot) return static_cast<int>(index);
    if (any < 0 && slot < 0) any = static_cast<int>(index);
  }
  return any;
}

}  // namespace

bool isArrivalOfGradient(const Record& record) {
  return record.op == "autograd.AccumulateGrad" && record.inputs.size() == 2;
}

std::vector<TensorChip> tensorChips(const Record& cursor, const Record* justRan) {
  std::vector<TensorChip> chips;
  if (justRan && justRan->state == RecordState::done)
    for (std::size_t slot = 0; slot < justRan->outputs.size(); ++slot)
      chips.push_back(makeChip(TensorRole::justRan, *justRan, slot));
  for (std::size_t slot = 0; slot < cursor.inputs.size(); ++slot)
    chips.push_back(makeChip(TensorRole::input, cursor, slot));
  for (std::size_t slot = 0; slot < cursor.outputs.size(); ++slot)
    chips.push_back(makeChip(TensorRole::output, cursor, slot));
  return chips;
}

int chooseChip(const std::vector<TensorChip>& chips, const std::optional<ChipChoice>& sticky, bool stepped) {
  if (sticky) {
    int kept = find(chips, sticky->role, sticky->slot);
    // Rewound, the output of what just ran is the output of the cursor's record; and the other way round.
    if (kept < 0 && sticky->role == TensorRole::justRan) kept = find(chips, TensorRole::output, sticky->slot);
    if (kept < 0 && sticky->role == TensorRole::output) kept = find(chips, TensorRole::justRan, sticky->slot);
    if (kept >= 0) return kept;
  }
  if (stepped)
    if (const int news = find(chips, TensorRole::justRan, -1); news >= 0) return news;
  const auto subject =
      std::ranges::find_if(chips, [](const TensorChip& chip) { return chip.subject && chip.available; });
  if (subject != chips.end()) return static_cast<int>(subject - chips.begin());
  for (const TensorRole role : {TensorRole::output, TensorRole::input, TensorRole::justRan})
    if (const int first = find(chips, role, -1); first >= 0) return first;
  return chips.empty() ? -1 : 0;
}

QString unavailableText(const TensorChip& chip, const Record* record) {
  if (chip.available) return {};
  if (chip.info.id != 0)
    return QStringLiteral("The session gave the shape %1, which no tensor has.")
        .arg(shapeText(chip.info.shape));
  if (chip.role == TensorRole::chosen)
    return QStringLiteral("%1 had no value yet.").arg(QString::fromStdString(chip.info.name));
  const QString op = record ? QString::fromStdString(record->op) : QStringLiteral("the op");
  if (record && record->state == RecordState::pending)
    return chip.role == TensorRole::output
               ? QStringLiteral("Not computed yet: %1 is waiting at the gate.").arg(op)
               : QStringLiteral("None: no gradient arrived here.");
  if (record && record->state == RecordState::running)
    return QStringLiteral("Not computed yet: %1 is running.").arg(op);
  if (record && record->state == RecordState::failed)
    return QStringLiteral("%1 failed: %2%3")
        .arg(op, QString::fromStdString(record->error),
             record->error.find("modified by an inplace operation") == std::string::npos
                 ? QString()
                 : QStringLiteral(
                       "\nWhich op wrote there? Why ▸ Why did this backward pass fail? (Shift+F7)"));
  return QStringLiteral("None: this input of %1 has no gradient.").arg(op);
}

}  // namespace tapedeck::inspector
