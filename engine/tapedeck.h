// Everything that a program needs of the engine: tensors, ops, tapes, variables.
//
//   #include "engine/tapedeck.h"
//   using namespace tapedeck;
//   int main() {
//     Tensor x = Tensor::scalar(3.0);
//     Tape tape;
//     tape.start();
//     tape.watch(x);
//     Tensor y = x * x;
//     Tensor slope = tape.gradient(std::array{y}, std::array{x})[0];  // 6
//   }
#pragma once

#include "engine/ops/core/observer.h"
#include "engine/ops/core/op.h"
#include "engine/ops/core/ops.h"
#include "engine/ops/core/run_op.h"
#include "engine/ops/linear_algebra/linear_algebra.h"
#include "engine/ops/neural/neural.h"
#include "engine/tape/gradients.h"
#include "engine/tape/tape.h"
#include "engine/tape/variable.h"
#include "engine/tensor/tensor.h"
