// Arrays of tensors that graphs carry: a tf.TensorArray whose indices only a run knows, and a list that a
// loop makes longer.
//
// An array holds the tensors that were written, as eager code does: so reads give these very tensors, a write
// copies none, and tapes find gradients by the same ops in the same order. A graph has it as a scalar, whose
// storage keeps it alive; of the elements' dtype where that has gradients, so that a trace sees what is
// connected, else int64. An array never changes: a write makes another one, which shares what stays.
//
// Each function here is a call in the graph that this thread traces, and runs at once where nothing is
// traced. Errors begin with "TensorArray: ".
#pragma once

#include <optional>
#include <span>

#include "engine/graph/arrays/element_tree.h"
#include "engine/graph/graph.h"

namespace tapedeck::graph {

struct ArrayKind {
  /// Dtype, and what is known of all elements' shapes.
  ValueSpec element;
  bool infers = true;  ///< the shape of the first one that is written is that of all
  bool grows = false;  ///< with writes beyond its end
};

/// What a carrier carries.
struct TensorArray {
  ArrayKind kind;
  ElementTree elements;
};

/// An array with `count` (a scalar integer) elements, of which those of these numbers are written, and others
/// cleared.
Tensor array_of(ArrayKind kind, const Tensor& count, std::span<const std::int64_t> numbers,
                std::span<const Tensor> written, std::span<const std::int64_t> cleared);
/// What it carries. InvalidArgumentError for another tensor.
const TensorArray& array_carried_by(const Tensor& carrier);
/// False for an undefined one: an absent gradient.
bool carries_array(const Tensor& tensor);

/// A call as data.
struct ArrayCallForm {
  std::string name = {};                                 ///< "TensorArray.write"; "TensorArray" makes one
  std::optional<ArrayKind> kind = {};                    ///< of one that it makes
  std::vector<std::int64_t> numbers = {}, cleared = {};  ///< of its elements: as array_of() has them
  std::int64_t axis = 0;                                 ///< of stack and concat
};

/// Whether the node is one of these calls: it depends on its inputs alone, and may be made again.
bool is_array_call(const Node& node);
/// nullptr for other nodes.
const ArrayCallForm* array_call_form(const Node& node);
/// The call of so many inputs. Throws InvalidArgumentError where there is no such call.
HostCall array_call(ArrayCallForm form, std::size_t inputs);
/// Whether the node, or one of the graphs in it, calls a function whose ops tapes are to see as they run.
bool has_differentiable_calls(const Node& node);

// `result`: what the trace knows of the tensor that a read gives.
Tensor array_write(const Tensor& array, const Tensor& index, const Tensor& value);
/// Behind the last element, of an array that grows.
Tensor array_append(const Tensor& array, const Tensor& value);
/// Zeros where nothing was written and the whole shape is known.
Tensor array_read(const Tensor& array, const Tensor& index, const ValueSpec& result);
/// All elements along a new axis; those of these indices along a new first one; all, joined along an axis.
Tensor array_stack(const Tensor& array, std::int64_t axis, const ValueSpec& result);
Tensor array_gather(const Tensor& array, const Tensor& indices, const ValueSpec& result);
Tensor array_concat(const Tensor& array, std::int64_t axis, const ValueSpec& result);
/// A scalar int32.
Tensor array_size(const Tensor& array);
/// The slices of the first axis in place of all elements.
Tensor array_unstack(const Tensor& array, const Tensor& value);
Tensor array_scatter(const Tensor& array, const Tensor& indices, const Tensor& value);
/// Parts of the first axis, of these lengths, in place of all elements.
Tensor array_split(const Tensor& array, const Tensor& value, const Tensor& lengths);

}  // namespace tapedeck::graph
