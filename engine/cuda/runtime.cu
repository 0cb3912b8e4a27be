#include <unistd.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "engine/cuda/faults.h"
#include "engine/cuda/memory.h"
#include "engine/cuda/runtime.h"
#include "engine/cuda/spans.h"

namespace tapedeck::cuda {
namespace {

constexpr std::size_t most_devices = detail::most_gpus;

const GpuHost* given = nullptr;
pid_t process = 0;  ///< that loaded this library
std::array<int, most_devices> cuda_devices{};
thread_local int chosen_device = -1;  ///< of the innermost OnDevice

struct Streams {
  std::mutex mutex;
  std::array<std::vector<Stream*>, most_devices> all;
  std::array<std::vector<Stream*>, most_devices> idle;  ///< that no thread has now
};
Streams& streams() {
  static auto* const instance = new Streams;
  return *instance;
}

/// The text is written before the mark is set, once.
struct Loss {
  std::mutex mutex;
  std::string text;
  std::atomic<bool> happened{false};
};
Loss& loss() {
  static auto* const instance = new Loss;
  return *instance;
}

/// All its work is done, and its faults are reported: the next thread gets only its own faults.
bool is_done(const Stream& stream) {
  if (cudaStreamQuery(stream.handle) != cudaSuccess) {
    cudaGetLastError();
    return false;
  }
  return !stream.faults || !stream.faults->found();
}

Stream* make_stream(int device) {
  Streams& known = streams();
  std::lock_guard lock(known.mutex);
  std::vector<Stream*>& idle = known.idle[static_cast<std::size_t>(device)];
  // The last one first: it has its handles and its staging already.
  if (const auto found = std::find_if(idle.rbegin(), idle.rend(), [](Stream* one) { return is_done(*one); });
      found != idle.rend()) {
    Stream* stream = *found;
    idle.erase(std::next(found).base());
    stream->ended.clear();
    stream->owned.store(true, std::memory_order_relaxed);
    return stream;
  }
  auto stream = std::make_unique<Stream>();
  stream->device = device;
  check(cudaStreamCreateWithFlags(&stream->handle, cudaStreamNonBlocking), "a stream");
  check(cudaEventCreateWithFlags(&stream->tail, cudaEventDisableTiming), "an event");
  known.all[static_cast<std::size_t>(device)].push_back(stream.get());
  return stream.release();
}

/// What another stream had been given when this thread's waited for it last.
struct Waited {
  const Stream* later;
  const Stream* earlier;
  std::uint64_t work;
};

struct ThreadStreams {
  std::array<Stream*, most_devices> of_device{};
  int current = -1;  ///< CUDA's current device
  std::vector<Waited> waited;

  ~ThreadStreams() {
    Streams& known = streams();
    std::lock_guard lock(known.mutex);
    for (std::size_t device = 0; device < most_devices; ++device) {
      if (!of_device[device]) continue;
      of_device[device]->owned.store(false, std::memory_order_release);
      known.idle[device].push_back(of_device[device]);
    }
  }
};
thread_local ThreadStreams thread_streams;

/// "softmax (kernels row_sum, row_max), add (kernel binary) and 3 kernels before them": what the device may
/// have been at, the newest first. Empty: nothing.
std::string in_flight(const Stream& stream) {
  const std::uint64_t count = stream.kernel_count.load(std::memory_order_relaxed);
  const std::uint64_t open = count - stream.kernels_done.load(std::memory_order_relaxed);
  const std::uint64_t shown = std::min<std::uint64_t>(open, Stream::remembered);
  std::string text;
  for (std::uint64_t i = 0; i < shown;) {
    const auto at = [&](std::uint64_t back) -> const Stream::Started& {
      return stream.kernels[(count - 1 - back) % Stream::remembered];
    };
    const char* const op = at(i).op.load(std::memory_order_relaxed);
    std::string kernels;
    std::uint64_t number = 0;
    for (; i < shown && at(i).op.load(std::memory_order_relaxed) == op; ++i, ++number)
      kernels += (number == 0 ? "" : ", ") + std::string(at(i).kernel.load(std::memory_order_relaxed));
    kernels = (number == 1 ? "kernel " : "kernels ") + kernels;
    text += (text.empty() ? "" : ", ") + (op ? std::string(op) + " (" + kernels + ")" : kernels);
  }
  if (open > shown) text += " and " + std::to_string(open - shown) + " kernels before them";
  return text;
}

std::string in_flight(int device) {
  std::string text;
  for (const Stream* stream : all_streams(device))
    if (const std::string of_one = in_flight(*stream); !of_one.empty())
      text += (text.empty() ? "; in flight, the newest first: " : "; of another thread: ") + of_one;
  return text;
}

/// CUDA's errors of which its documentation (CUDA Runtime API, version 13, cudaError) says that the process
/// has to end, and those of memory and links that no kernel's result can be believed after. By number:
/// toolkits of version 12 lack some of the names.
bool loses_the_device(cudaError_t error) {
  switch (static_cast<int>(error)) {
    case 214:  // cudaErrorECCUncorrectable
    case 220:  // cudaErrorNvlinkUncorrectable
    case 226:  // cudaErrorContained
    case 700:  // cudaErrorIllegalAddress
    case 702:  // cudaErrorLaunchTimeout
    case 709:  // cudaErrorContextIsDestroyed
    case 710:  // cudaErrorAssert
    case 714:  // cudaErrorHardwareStackError
    case 715:  // cudaErrorIllegalInstruction
    case 716:  // cudaErrorMisalignedAddress
    case 717:  // cudaErrorInvalidAddressSpace
    case 718:  // cudaErrorInvalidPc
    case 719:  // cudaErrorLaunchFailure
    case 721:  // cudaErrorTensorMemoryLeak
    case 810:  // cudaErrorMpsClientTerminated
    case 911:  // cudaErrorExternalDevice
      return true;
    default:
      return false;
  }
}

[[noreturn]] void throw_loss() {
  std::lock_guard lock(loss().mutex);
  throw DeviceError(loss().text);
}

/// Two threads may find out at once: the first one is believed.
[[noreturn]] void lose(const std::string& text) {
  bool is_first = false;
  {
    std::lock_guard lock(loss().mutex);
    is_first = loss().text.empty();
    if (is_first) loss().text = text;
    loss().happened.store(true, std::memory_order_release);
  }
  if (is_first && given) given->lost(text.c_str());
  throw_loss();
}

[[noreturn]] void refuse(cudaError_t error, const char* what, int device) {
  cudaGetLastError();  // else the next call tells it again
  if (is_lost()) throw_loss();
  if (error == cudaErrorMemoryAllocation && device >= 0)
    refuse_memory(device, std::string(what) + " needs memory");
  std::string text =
      std::string(what) + " failed: " + cudaGetErrorString(error) + " (" + cudaGetErrorName(error) + ")";
  if (device >= 0) text += " on /gpu:" + std::to_string(device);
  // 999: cudaErrorUnknown
  if (getpid() != process && (error == cudaErrorInitializationError || static_cast<int>(error) == 999))
    text = std::string(what) +
           " failed: a process that was forked from one that has GPUs cannot use them; start a new process "
           "(multiprocessing: set_start_method(\"spawn\"))";
  if (!loses_the_device(error)) throw DeviceError(text);
  if (device >= 0) text += in_flight(device);
  lose(text + ". This process cannot use its GPUs any more");
}

}  // namespace

void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) [[likely]]
    return;
  refuse(error, what, thread_streams.current);
}

void note_error(cudaError_t error, const char* what, int device) noexcept {
  if (error == cudaSuccess) return;
  try {
    refuse(error, what, device);
  } catch (const std::exception&) {
  }
}

bool is_lost() noexcept {
  return loss().happened.load(std::memory_order_acquire);
}

void Stream::note_kernel(const char* name) {
  const std::uint64_t number = kernel_count.load(std::memory_order_relaxed);
  Started& started = kernels[number % remembered];
  started.op.store(given ? given->op_name() : nullptr, std::memory_order_relaxed);
  started.kernel.store(name, std::memory_order_relaxed);
  kernel_count.store(number + 1, std::memory_order_relaxed);
}

std::vector<Stream*> all_streams(int device) {
  Streams& known = streams();
  std::lock_guard lock(known.mutex);
  return known.all[static_cast<std::size_t>(device)];
}

void wait_for_all(Stream& stream) {
  const std::uint64_t kernels = stream.kernel_count.load(std::memory_order_relaxed);
  unlocked([&stream] { return cudaStreamSynchronize(stream.handle); }, "work on a GPU");
  stream.kernels_done.store(kernels, std::memory_order_relaxed);
  if (Spans* spans = stream.spans.load(std::memory_order_relaxed)) spans->note_idle(stream);
}

Stream& stream_of(int device) {
  if (is_lost()) [[unlikely]]
    throw_loss();
  ThreadStreams& own = thread_streams;
  if (own.current != device) [[unlikely]] {
    check(cudaSetDevice(cuda_device(device)), "choosing a device");
    own.current = device;
  }
  Stream*& stream = own.of_device[static_cast<std::size_t>(device)];
  if (!stream) [[unlikely]]
    stream = make_stream(device);
  return *stream;
}

std::span<Stream* const> streams_of_thread() {
  return thread_streams.of_device;
}

void wait_for(Stream& later, Stream& earlier) {
  if (&later == &earlier) return;
  const std::uint64_t work = earlier.work.load(std::memory_order_acquire);
  std::vector<Waited>& waited = thread_streams.waited;
  auto known = std::find_if(waited.begin(), waited.end(), [&](const Waited& one) {
    return one.later == &later && one.earlier == &earlier;
  });
  if (known == waited.end())
    known = waited.insert(known, {&later, &earlier, 0});
  else if (known->work == work)
    return;
  wait_again(later, earlier);
  known->work = work;
}

void hear_of(Stream& later, Stream& maker) {
  if (&later == &maker || maker.owned.load(std::memory_order_acquire)) return;
  if (std::find(later.ended.begin(), later.ended.end(), &maker) == later.ended.end())
    later.ended.push_back(&maker);
}

void throw_faults_of_ended(Stream& stream) {
  if (stream.ended.empty()) return;
  std::lock_guard lock(streams().mutex);  // so that no thread gets one of them meanwhile
  while (!stream.ended.empty()) {
    const Stream* other = stream.ended.back();
    stream.ended.pop_back();
    if (other->owned.load(std::memory_order_relaxed)) continue;
    stream.ended.insert(stream.ended.end(), other->ended.begin(), other->ended.end());
    if (other->faults) other->faults->throw_found();
  }
}

void wait_again(Stream& later, Stream& earlier) {
  std::lock_guard lock(earlier.mutex);
  check(cudaEventRecord(earlier.tail, earlier.handle), "an event");
  check(cudaStreamWaitEvent(later.handle, earlier.tail, 0), "waiting for an event");
}

int current_device() {
  if (chosen_device >= 0) return chosen_device;
  const Device device = given->op_device();
  if (device.kind != DeviceKind::gpu)
    throw DeviceError("a kernel of a GPU was called where no op runs on one");
  return device.index;
}

OnDevice::OnDevice(int device) : before_(chosen_device) {
  chosen_device = device;
}
OnDevice::~OnDevice() {
  chosen_device = before_;
}

const GpuHost& host() {
  return *given;
}
void set_host(const GpuHost& host) {
  process = getpid();
  given = new GpuHost(host);
}
void without_lock(void (*wait)(void* context), void* context) {
  if (given)
    given->unlocked(wait, context);
  else
    wait(context);
}
bool rounds_to_tensor_float_32() {
  return given && given->tensor_float_32_allowed();
}
int cuda_device(int device) {
  return cuda_devices[static_cast<std::size_t>(device)];
}
void set_devices(std::span<const int> devices) {
  std::copy(devices.begin(), devices.end(), cuda_devices.begin());
}

}  // namespace tapedeck::cuda
