// The test rows of every op. They are compiled once: each test that goes through all ops would take half a
// minute more.
#pragma once

#include "tests/engine/ops/rows/op_row.h"

namespace tapedeck::testing {

const Rows& all_rows();
/// nullptr if no row tests the op.
const Row* row_of(const std::string& op);

}  // namespace tapedeck::testing
