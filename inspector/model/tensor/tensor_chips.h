// The strip above the tensor: the tensors that can be shown at the cursor, and which is shown first.
#pragma once

#include <optional>
#include <vector>

#include "inspector/model/tensor/tensor_model.h"

namespace tapedeck::inspector {

struct ChipChoice {
  TensorRole role = TensorRole::output;
  int slot = 0;
};

/// Whether the record is the place where a gradient arrives at a leaf of a PyTorch program. Its inputs are
/// the leaf and the gradient, which is what it is about; it has no outputs.
bool isArrivalOfGradient(const protocol::Record& record);

/// The chips at the record `cursor`. `justRan`: the record that finished last, if the gate is stopped before
/// `cursor`; else nullptr.
std::vector<TensorChip> tensorChips(const protocol::Record& cursor, const protocol::Record* justRan);

/// Index of the chip to show; -1: none. `sticky`: what the user picked before. `stepped`: `justRan` ran in a
/// step that led here, so its output is what is new.
int chooseChip(const std::vector<TensorChip>& chips, const std::optional<ChipChoice>& sticky, bool stepped);

/// Why a chip has nothing to show; empty where it has.
QString unavailableText(const TensorChip& chip, const protocol::Record* record);

}  // namespace tapedeck::inspector
