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

#include "engine/ops/linear_algebra.h"
#include "engine/ops/neural.h"
#include "engine/ops/observer.h"
#include "engine/ops/op.h"
#include "engine/ops/ops.h"
#include "engine/ops/run_op.h"
#include "engine/tape/gradients.h"
#include "engine/tape/tape.h"
#include "engine/tape/variable.h"
#include "engine/tensor/tensor.h"
