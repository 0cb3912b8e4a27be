#include "engine/ops/core/placement.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>

#include "engine/backend/backend.h"
#include "engine/backend/devices.h"
#include "engine/ops/core/checks.h"
#include "engine/ops/core/cost.h"
#include "engine/ops/core/device_policy.h"
#include "engine/ops/core/floating.h"
#include "engine/ops/core/thread_state.h"
#include "engine/tensor/device_memory.h"
#include "engine/tensor/foreign_devices.h"
#include "engine/tensor/interrupt.h"

namespace tapedeck {

using detail::thread_state;

std::optional<Device> device_scope() {
  return thread_state.device;
}
std::optional<Device> set_device_scope(std::optional<Device> device) {
  return std::exchange(thread_state.device, device);
}
DeviceScope::DeviceScope(std::optional<Device> device) : before_(set_device_scope(device)) {}
DeviceScope::~DeviceScope() {
  thread_state.device = before_;
}

namespace {
constinit std::atomic<CopyPolicy> process_policy{CopyPolicy::silent};
}  // namespace

CopyPolicy copy_policy() {
  if (thread_state.copy_policy < 0) return process_policy.load(std::memory_order_relaxed);
  return static_cast<CopyPolicy>(thread_state.copy_policy);
}
void set_copy_policy(std::optional<CopyPolicy> policy) {
  thread_state.copy_policy = policy ? static_cast<std::int8_t>(*policy) : std::int8_t{-1};
}
void set_process_copy_policy(CopyPolicy policy) {
  process_policy.store(policy, std::memory_order_relaxed);
}

Device default_device() {
  if (thread_state.device) return *thread_state.device;
  if (thread_state.default_device) return *thread_state.default_device;
  return gpu_count() > 0 ? Device{DeviceKind::gpu, 0} : Device{};
}
DefaultDeviceScope::DefaultDeviceScope(Device device)
    : before_(std::exchange(thread_state.default_device, device)) {}
DefaultDeviceScope::~DefaultDeviceScope() {
  thread_state.default_device = before_;
}

namespace detail {
namespace {

/// A number that kernels take by value, without device memory.
bool is_immediate(const Tensor& tensor) {
  return tensor.on_cpu() && tensor.rank() == 0 && !has_partial_support(tensor.dtype());
}

Device wanted_device(std::span<const Tensor> inputs) {
  if (thread_state.device) return *thread_state.device;
  bool has_values = false, all_whole = !inputs.empty();
  for (const Tensor& input : inputs) {
    if (!input) continue;
    // Of a device that the engine's kernels do not reach: a copy on the host.
    if (!input.on_cpu()) return is_foreign(input.device()) ? Device{} : input.device();
    has_values |= !is_immediate(input);
    all_whole &= input.dtype() == DType::int32 || input.dtype() == DType::int64;
  }
  // Counters and sizes: TensorFlow keeps ops on up to 64 such numbers on the host, too, where they are done
  // before a GPU would begin. Here longer tensors of the host keep their ops there anyway.
  return has_values || all_whole ? Device{} : default_device();
}

/// According to the policy, which does not apply to copies for a missing kernel.
void check_policy(const std::string& op, const Tensor& input, Device device) {
  const CopyPolicy policy = thread_state.quiet != 0 ? CopyPolicy::silent : copy_policy();
  if (policy == CopyPolicy::silent ||
      (policy == CopyPolicy::silent_for_int32 && input.dtype() == DType::int32))
    return;
  if (policy == CopyPolicy::warn) {
    if (host_hooks().print)
      host_hooks().print(op + ": an input is on " + to_string(input.device()) + " and is copied to " +
                         to_string(device));
    return;
  }
  fail<InvalidArgumentError>(op, ": an input is on ", to_string(input.device()), " and the op runs on ",
                             to_string(device), "; copy it first (.gpu(), .cpu()), or choose another policy");
}

/// The GPU selected by the call's tf.device or one of its inputs.
std::optional<Device> asked_gpu(std::span<const Tensor> inputs) {
  std::optional<Device> asked = thread_state.device;
  for (const Tensor& input : inputs)
    if (!asked && input && !input.on_cpu() && !is_foreign(input.device())) asked = input.device();
  return asked && asked->kind == DeviceKind::gpu ? asked : std::nullopt;
}

std::string no_kernel(const OpDef& op) {
  return "no CUDA kernel for " + op.name;
}

/// Asynchronous errors name the ops whose kernels are in flight.
class NamedOnDevice {
 public:
  explicit NamedOnDevice(const char* op) : before_(std::exchange(op_on_device, op)) {}
  ~NamedOnDevice() { op_on_device = before_; }
  NamedOnDevice(const NamedOnDevice&) = delete;

 private:
  const char* before_;
};

struct Missing {
  std::mutex mutex;
  std::set<std::string> names;
};
Missing& missing() {
  static auto* const instance = new Missing;
  return *instance;
}

Tensors compute_by_copies(const OpContext& context, Tensors (*compute)(const OpContext&)) {
  {
    std::lock_guard lock(missing().mutex);
    missing().names.insert(context.op.name);
  }
  const Device device = context.device;
  Tensors inputs;
  for (const Tensor& input : context.inputs) inputs.push_back(input.on_host());
  const DeviceScope parts{Device{}};
  Tensors outputs = compute({context.op, inputs, context.attributes, context.outputs});
  for (Tensor& output : outputs) {
    if (!output || output.dtype() == DType::string) continue;
    const Tensor source = output.make_contiguous();
    output = Tensor::allocate(source.dtype(), source.shape(), device);
    device_memory(device).write(source.raw(), output.writable_data<std::byte>(), source.bytes());
  }
  return outputs;
}

}  // namespace

bool runs_on_gpus(const OpDef& op, std::span<const Tensor> inputs, const Attributes& attributes) {
  if (!op.gpu_kernel) return false;
  for (const Tensor& input : inputs)
    if (input && has_partial_support(input.dtype())) return false;
  for (std::size_t i = 0; i < attributes.size(); ++i)
    if (const auto* dtype = std::get_if<DType>(&attributes[i]); dtype && has_partial_support(*dtype))
      return false;
  return true;
}

void check_number(const OpDef& op, std::span<const Tensor> inputs, std::size_t place) {
  if (!op.gpu_kernel || !is_immediate(inputs[place])) return;
  if (const auto device = asked_gpu(inputs)) check_policy(op.name, inputs[place], *device);
}

void check_assigned(const std::string& action, const Tensor& value, Device device) {
  if (value.device() != device) check_policy(action, value, device);
}

Placed place_call(const OpDef& op, std::span<const Tensor> inputs, const Attributes& attributes) {
  const Device wanted = wanted_device(inputs);
  Placed placed{.device = wanted, .results = {}, .inputs = {}};
  const bool lacks_kernel = wanted.kind == DeviceKind::gpu && !runs_on_gpus(op, inputs, attributes);
  if (lacks_kernel) {
    placed.device = Device{};
    placed.results = wanted;
  }
  const auto stays = [&](const Tensor& input) {
    return !input || input.device() == placed.device ||
           (op.immediates && placed.device.kind == DeviceKind::gpu && is_immediate(input));
  };
  if (std::all_of(inputs.begin(), inputs.end(), stays)) return placed;
  Tensors& moved = placed.inputs.emplace();
  for (const Tensor& input : inputs) {
    if (stays(input)) {
      moved.push_back(input);
      continue;
    }
    if (!lacks_kernel && !is_immediate(input) && !is_foreign(input.device()))
      check_policy(op.name, input, placed.device);
    moved.push_back(ops::copy_to(input, placed.device, lacks_kernel ? no_kernel(op) : ""));
  }
  return placed;
}

Tensors bring_back(const OpDef& op, Tensors results, Device device) {
  for (Tensor& result : results)
    if (result && result.dtype() != DType::string) result = ops::copy_to(result, device, no_kernel(op));
  return results;
}

Device working_device(const OpContext& context) {
  if (&context.op != &ops::copy_to_device_op) return context.device;
  const Device target = device_from_name(context.get<std::string>("device"));
  const bool is_there = target.kind == DeviceKind::gpu && int{target.index} < gpu_count();
  const Device source = context.inputs[0].device();
  return is_there ? target : is_foreign(source) ? Device{} : source;
}

Tensors compute_placed(const OpContext& context, Tensors (*compute)(const OpContext&)) {
  const DeviceScope parts(context.device);
  const NamedOnDevice named(context.op.name.c_str());
  if (context.device.kind == DeviceKind::cpu) return compute(context);
  for (const Tensor& input : context.inputs)
    if (DeviceBlock* block = input.storage()->device_block()) block->memory->use(block);
  try {
    const OpDeviceScope scope(context.device);
    return compute(context);
  } catch (const NoKernel&) {
    return compute_by_copies(context, compute);
  }
}

std::vector<std::string> kernels_found_missing() {
  std::lock_guard lock(missing().mutex);
  return {missing().names.begin(), missing().names.end()};
}

}  // namespace detail

namespace ops {

// ---- copy_to_device ----
TAPEDECK_OP(copy_to_device_op) = {
    .name = "copy_to_device",
    .python_names = {},  // tensors' cpu() and gpu(), and run_op for inputs that are elsewhere
    .inputs = {{.name = "x"}},
    .attributes = {{.name = "device", .kind = AttributeKind::text, .fallback = {}, .required = true},
                   {.name = "reason", .kind = AttributeKind::text, .fallback = std::string{}}},
    .shape_rule =
        [](const OpContext& c) {
          const Device device = device_from_name(c.get<std::string>("device"));
          if (device.kind == DeviceKind::gpu && c.inputs[0].dtype() == DType::string)
            fail<TypeMismatchError>("copy_to_device: x is string, which stays on the CPU");
          return like_first(c);
        },
    .forward =
        [](const OpContext& c) {
          const Tensor& x = c.inputs[0];
          Device device = device_from_name(c.get<std::string>("device"));
          // A record of a machine with more GPUs is run again.
          if (device.kind == DeviceKind::gpu && int{device.index} >= gpu_count()) device = Device{};
          if (x.device() == device) return one(view_of(x, x.shape(), x.strides()));
          if (device.kind == DeviceKind::cpu) return one(x.on_host().make_contiguous());
          const Tensor source = x.make_contiguous();
          Tensor out = Tensor::allocate(source.dtype(), source.shape(), device);
          DeviceMemory& memory = device_memory(device);
          if (source.on_cpu())
            memory.write(source.raw(), out.writable_data<std::byte>(), source.bytes());
          else
            memory.copy(*source.storage()->device_block(), source.raw(), out.writable_data<std::byte>(),
                        source.bytes());
          return one(std::move(out));
        },
    .vjp_reads = VjpReads::shapes,
    .vjp = [](const VjpContext& c) { return one(copy_to(c.cotangents[0], c.inputs[0].device())); },
    .vjp_formula = "dx = dz, brought to the device of x",
    .cost = cost::moves,
    .doc =
        "The same values in the memory of a device.\n\nx: any dtype and shape (strings stay on the CPU); "
        "device: its name, \"/cpu:0\" or \"/gpu:0\"; reason: why, for a copy that the program did not "
        "request.\nReturns: the "
        "dtype and shape of x.\nErrors: NotFoundError if there is no such device.",
    .takes_narrow = true,
};
Tensor copy_to(const Tensor& x, Device device, const std::string& reason) {
  // What a graph under trace computes is nowhere yet: nothing needs to be brought there.
  if (x.device() == device || device.kind == DeviceKind::symbolic) return x;
  if (device.kind == DeviceKind::gpu && int{device.index} >= gpu_count())
    fail<NotFoundError>("there is no ", to_string(device), "; this machine has ", gpu_count(),
                        " GPUs that this build can use");
  // Without conversion: inside a FloatingScope that would request this copy again.
  return detail::run_as_given(copy_to_device_op, {&x, 1}, {to_string(device), reason})[0];
}

}  // namespace ops
}  // namespace tapedeck
