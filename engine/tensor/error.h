// What the engine throws. The Python module maps each to TensorFlow's exception of the same name.
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace tapedeck {

struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
  std::string op_name = {};   ///< the op that failed, with whose name the text begins; empty: none
  std::string argument = {};  ///< which of its arguments, if known
};
struct InvalidArgumentError : Error {  ///< a ValueError in Python
  using Error::Error;
};
struct TypeMismatchError : Error {  ///< a TypeError in Python
  using Error::Error;
};
struct OutOfRangeError : Error {  ///< an IndexError in Python
  using Error::Error;
};
struct ResourceExhaustedError : Error {  ///< a MemoryError in Python
  using Error::Error;
};
struct NotFoundError : Error {  ///< a RuntimeError in Python: a device that does not exist
  using Error::Error;
};
struct UnimplementedError : Error {  ///< a NotImplementedError in Python: no kernel for this dtype or device
  using Error::Error;
};
struct FailedPreconditionError : Error {  ///< a RuntimeError in Python: a used-up tape, say
  using Error::Error;
};
/// The user interrupted. The Python module converts it to the exception that is already set
/// (KeyboardInterrupt).
struct Interrupted : Error {
  Interrupted() : Error("interrupted") {}
};
/// A Python exception is set, and propagates through C++ code unchanged.
struct ForeignException {};

/// Throws E with all parts streamed into its text: `fail<InvalidArgumentError>("matmul: a ", shape, …)`.
template <class E, class... Parts>
[[noreturn]] void fail(const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  throw E(text.str());
}

/// The same for an op's argument, with which the text begins: "gather: axis" and the parts.
template <class E, class... Parts>
[[noreturn]] void fail_of(const std::string_view op, const std::string_view argument, const Parts&... parts) {
  std::ostringstream text;
  text << op << ": " << argument;
  (text << ... << parts);
  E error(text.str());
  error.op_name = op;
  error.argument = argument;
  throw error;
}

}  // namespace tapedeck
