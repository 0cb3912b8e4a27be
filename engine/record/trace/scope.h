// Name scopes, as tf.name_scope opens them: each thread has its own stack.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tapedeck {

/// Opens `name` inside this thread's scope: "outer/inner". A name that ends with '/' is an absolute scope,
/// opened again.
void push_scope(std::string_view name);
/// Closes the innermost scope. Throws FailedPreconditionError where none is open.
void pop_scope();

/// Number of an absolute scope, "outer/inner"; 0 for an empty one.
std::uint32_t intern_scope(const std::string& text);
/// Number of this thread's scope, 0 for none; cheap enough for every op.
std::uint32_t current_scope();
/// "outer/inner"; empty for 0.
std::string scope_text(std::uint32_t scope);

/// While it lives, this thread's scope is the one of that number, whatever is open; push_scope opens inside
/// of it.
class WholeScope {
 public:
  explicit WholeScope(std::uint32_t scope);
  ~WholeScope();
  WholeScope(const WholeScope&) = delete;

 private:
  const std::uint32_t before_;
};

/// A scope for as long as it lives.
class NameScope {
 public:
  explicit NameScope(std::string_view name) { push_scope(name); }
  ~NameScope() { pop_scope(); }
  NameScope(const NameScope&) = delete;
};

}  // namespace tapedeck
