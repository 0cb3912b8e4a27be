#include "engine/ops/core/core_ops.h"

#include <array>

#include "engine/ops/core/alias.h"
#include "engine/ops/core/run_op.h"

namespace tapedeck::detail {
namespace {

const OpDef& required_op(const char* name) {
  const OpDef* op = Registry::instance().find(name);
  if (!op) fail<FailedPreconditionError>("no op '", name, "' is registered");
  return *op;
}

Attributes defaults_of(const OpDef& op) {
  if (op.attributes.empty()) return {};
  std::vector<Attribute> values;
  for (const AttributeSpec& spec : op.attributes) values.push_back(spec.fallback);
  return Attributes(std::move(values));
}

}  // namespace

CoreOp::CoreOp(const char* name) : op(required_op(name)), attributes(defaults_of(op)) {}

Tensor CoreOp::operator()(std::span<const Tensor> inputs) const {
  return run_op1(op, inputs, attributes);
}

Tensor add(Tensor a, Tensor b) {
  static const CoreOp op("add");
  return op(std::array{std::move(a), std::move(b)});
}

Tensor ones_like(const Tensor& tensor) {
  static const CoreOp op("ones_like");
  return op({&tensor, 1});
}

Tensor zeros_like(const Tensor& tensor) {
  static const CoreOp op("zeros_like");
  return op({&tensor, 1});
}

Tensor identity(const Tensor& tensor) {
  static const CoreOp op("identity");
  const Tensor result = op({&tensor, 1});
  return result.same_body(tensor) ? alias(result) : result;
}

}  // namespace tapedeck::detail
