// Records of a long session, each an op with one output.
#pragma once

#include <vector>

#include "engine/protocol/record.h"

namespace tapedeck::test {

inline std::vector<protocol::Record> manyRecords(std::size_t count) {
  std::vector<protocol::Record> records(count);
  for (std::size_t i = 0; i < count; ++i) {
    records[i].number = i + 1;
    records[i].op = "add";
    protocol::TensorInfo out;
    out.id = 1000 + i;
    out.dtype = "float32";
    records[i].outputs = {out};
  }
  return records;
}

}  // namespace tapedeck::test
