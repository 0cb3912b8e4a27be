// How Python's arguments of one op become its inputs and attributes: decided once per op from its registry
// row.
#pragma once

#include <string>
#include <vector>

#include "engine/ops/core/op.h"
#include "engine/python/python.h"
#include "engine/python/tensor/convert.h"

namespace tapedeck::python {

struct Parameter {
  PyObject* name = nullptr;  ///< interned
  bool is_input = false;
  int index = 0;                 ///< into the op's inputs or attributes
  bool changes_nothing = false;  ///< `name`, where TensorFlow has it in between; then there is no index
};

class Signature {
 public:
  explicit Signature(const OpDef& op);

  const OpDef& op() const { return op_; }
  const std::vector<Parameter>& parameters() const { return parameters_; }
  /// "(a, b, transpose_a=False, name=None)".
  std::string text() const;
  bool is_required(const Parameter& parameter) const;

  /// The call's arguments as Python's vectorcall hands them over. Throws TypeMismatchError as Python words
  /// it.
  void parse(PyObject* const* arguments, std::size_t positional, PyObject* keyword_names, Tensors& inputs,
             Attributes& attributes) const;

 private:
  int slot_of(PyObject* keyword) const;
  /// `name` is among the parameters; else it is the last argument.
  bool has_name_inside() const;
  void fill_slots(PyObject* const* arguments, std::size_t positional, PyObject* keyword_names,
                  PyObject** slots) const;

  const OpDef& op_;
  std::vector<Parameter> parameters_;
  std::vector<std::pair<PyObject*, int>>
      aliases_;  ///< TensorFlow 1's spellings, and the parameter that they mean
  Attributes defaults_;
  bool is_random_ = false;  ///< its attributes `key` and `counter` are resolved from the seed at each call
};

/// The op's defaults with some attributes replaced. For ops that the bindings call by themselves.
Attributes named_attributes(const OpDef& op,
                            std::initializer_list<std::pair<std::string_view, Attribute>> given);
/// The op of that name. Throws UnimplementedError where the engine has none.
const OpDef& required_op(const char* name);

/// One attribute's value.
Attribute to_attribute(const AttributeSpec& spec, PyObject* value, const Where& where);

}  // namespace tapedeck::python
