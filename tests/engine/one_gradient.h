// The gradient of one target with respect to one source.
#pragma once

#include <span>

#include "engine/tape/tape.h"

inline tapedeck::Tensor gradient(tapedeck::Tape& tape, const tapedeck::Tensor& target,
                                 const tapedeck::Tensor& source) {
  return tape.gradient(std::span(&target, 1), std::span(&source, 1))[0];
}
