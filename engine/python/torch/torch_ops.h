// PyTorch's OpOverloads as rows, and their calls as the recorder's events.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "engine/ops/core/foreign.h"
#include "engine/python/torch/torch_library.h"

namespace tapedeck::python::torch {

/// Whether a call of the op gives the same bits when it runs again on the same inputs.
enum class Repeats : std::uint8_t { unknown, yes, no };

/// An op of PyTorch, made at its first call.
struct Row {
  const ForeignOp* op = nullptr;
  PyObject* overload = nullptr;           ///< the OpOverload, which lives as long as PyTorch
  PyObject* callable = nullptr;           ///< what the OpOverload calls
  bool random = false;                    ///< tagged as drawing from a generator
  bool only_reads_in_evaluation = false;  ///< batch normalisation, whose schema always says that it writes
  bool is_read = false;                   ///< Python gets the tensor's number: item()
  bool ends_graph = false;                ///< that, or detach(): no node is made, whatever it reads
  bool is_view = false;                   ///< a result is an unwritten alias of an argument
  std::array<Repeats, 2> repeats{};       ///< on the CPU, on other devices
  std::uint8_t failed_tries = 0;          ///< to find out
  Attributes defaults;
};

/// nullptr for what has no schema (a higher-order operator); no exception is set then.
Row* row_of(PyObject* overload);
/// The row that a record's op has in this process; nullptr where PyTorch has no such op.
Row* row_of(const ForeignOp& op);

/// What a call was given, in the order of the schema.
struct Call {
  Tensors inputs;
  std::vector<PyObject*> input_objects;  ///< borrowed; nullptr for a number or None
  std::vector<PyObject*> written;        ///< borrowed: the tensors that it writes into
  std::vector<std::string> problems;     ///< why the input has no value; empty: it has
  Attributes attributes;
  SmallVector<std::uint32_t, 4> requiring;  ///< the inputs that require a gradient
  bool taped = false;                       ///< there are such, and gradients are on
  bool is_elsewhere = false;                ///< one of its inputs is on another device than the CPU
};
/// `args` is a tuple, `kwargs` a dict or nullptr. Never raises.
Call read_call(const Row& row, PyObject* args, PyObject* kwargs);

/// ForeignFacts and the lengths of lists follow the declared attributes where there are any: they are needed
/// to call the op again.
std::size_t hidden_place(const ForeignOp& op);

}  // namespace tapedeck::python::torch
