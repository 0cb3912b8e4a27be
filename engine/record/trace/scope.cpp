#include "engine/record/trace/scope.h"

#include <utility>
#include <vector>

#include "engine/record/trace/interner.h"
#include "engine/tensor/error.h"

namespace tapedeck {
namespace {

Interner<std::string>& scopes() {
  static Interner<std::string> interner(std::uint64_t{32} << 20, "(scopes full)");
  return interner;
}

std::vector<std::uint32_t>& stack() {
  thread_local std::vector<std::uint32_t> open;
  return open;
}

[[gnu::tls_model("initial-exec")]] constinit thread_local std::uint32_t innermost = 0;

}  // namespace

void push_scope(std::string_view name) {
  std::string text;
  if (name.ends_with('/')) {
    text = name.substr(0, name.size() - 1);
  } else {
    text = scope_text(innermost);
    if (!text.empty()) text += '/';
    text += name;
  }
  stack().push_back(innermost);
  innermost = intern_scope(text);
}

std::uint32_t intern_scope(const std::string& text) {
  return text.empty() ? 0 : scopes().intern(text);
}

void pop_scope() {
  if (stack().empty()) fail<FailedPreconditionError>("name_scope: no scope is open on this thread");
  innermost = stack().back();
  stack().pop_back();
}

WholeScope::WholeScope(std::uint32_t scope) : before_(std::exchange(innermost, scope)) {}
WholeScope::~WholeScope() {
  innermost = before_;
}

std::uint32_t current_scope() {
  return innermost;
}

std::string scope_text(std::uint32_t scope) {
  return scopes().at(scope);
}

}  // namespace tapedeck
