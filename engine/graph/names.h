// What the program's names held where a graph's nodes were traced: so that a debugger shows the function's
// own variables while its graph runs.
//
// A name held a symbolic tensor, whose value a run has (run_log.h), or something of the host language, which
// is as it was while the function was traced.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/tensor/tensor.h"

namespace tapedeck::graph {

struct NamedValue {
  enum class Kind : std::uint8_t {
    tensor,
    variable,
    host,       ///< of the host language: `type` and `text` alone
    items,      ///< a list, tuple or dict of these
    unassigned  ///< a name of the function that has no value yet
  };
  std::string name;  ///< of an item: "[0]"
  Kind kind = Kind::host;
  bool symbolic = false;     ///< tensor: of the trace
  std::uint64_t tensor = 0;  ///< tensor: its id; variable: that of its value while it was traced
  Tensor held;               ///< tensor: itself, where it is a small constant
  std::string type, text;    ///< text: empty where it is not known
  std::vector<NamedValue> items;
  bool operator==(const NamedValue& other) const;
};

/// The names of one function of the program. Immutable.
struct NamesFrame {
  std::shared_ptr<const NamesFrame> around;  ///< its caller's; nullptr: it is the traced function itself
  std::string function;
  std::uint32_t location = 0;  ///< record/trace/source_location.h
  std::vector<NamedValue> values;
};
using Names = std::shared_ptr<const NamesFrame>;

/// Asked for each node that is traced: the names of the innermost function; nullptr: not known.
using CaptureNames = Names (*)();
void set_capture_names(CaptureNames capture);
Names capture_names();

/// The same names, with other tensors for the symbolic ones; those of which `tensor_of` gives 0 stay.
/// `around`: of the outermost one.
Names with_tensors(const NamesFrame& names, const std::function<std::uint64_t(std::uint64_t)>& tensor_of,
                   const Names& around);

}  // namespace tapedeck::graph
