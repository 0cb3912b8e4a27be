// Devices, streams and events.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "state.h"
#include "waits.h"

namespace emulation {
namespace {

constexpr std::size_t most_queued = 512;

thread_local int current_device = 0;
thread_local cudaError_t last_error = cudaSuccess;
cudaError_t device_errors[device_count] = {};
std::vector<Stream*> streams[device_count];
std::atomic<unsigned long long> waits{0};

cudaError_t told(cudaError_t error) {
  if (error != cudaSuccess && error != cudaErrorNotReady) last_error = error;
  return error;
}
/// The kernel that TAPEDECK_EMULATED_GPU_FAULT names writes where no memory is, or does what gives the error
/// whose number TAPEDECK_EMULATED_GPU_ERROR is.
void step_aside(const char* name) {
  const char* const chosen = std::getenv("TAPEDECK_EMULATED_GPU_FAULT");
  if (!chosen || std::strcmp(chosen, name) != 0) return;
  const char* const number = std::getenv("TAPEDECK_EMULATED_GPU_ERROR");
  throw Trap{"wrote where no memory is",
             number ? static_cast<cudaError_t>(std::atoi(number)) : cudaErrorIllegalAddress};
}
bool is_in_state(const char* state) {
  const char* const chosen = std::getenv("TAPEDECK_EMULATED_GPU_STATE");
  return chosen && std::strcmp(chosen, state) == 0;
}
int numbers_made[static_cast<int>(Kind::pinned) + 1] = {};

/// A real driver loses what a program leaves behind, and nobody hears of it.
struct LeaksAtTheEnd {
  ~LeaksAtTheEnd() {
    if (!std::getenv("TAPEDECK_EMULATED_GPU_LEAKS")) return;
    for (const cudaError_t error : device_errors)
      if (error != cudaSuccess) return;  // nothing can be freed any more
    const std::string text = leaks();
    if (text.empty()) return;
    std::fprintf(stderr, "emulated GPU: the program ends, and this was not freed:\n%s", text.c_str());
    std::_Exit(1);
  }
} leaks_at_the_end;
bool exists(int device) {
  return device >= 0 && device < device_count;
}

}  // namespace

std::recursive_mutex& mutex() {
  static auto* const instance = new std::recursive_mutex;
  return *instance;
}

void count_made(Kind kind, int more) {
  std::lock_guard lock(mutex());
  numbers_made[static_cast<int>(kind)] += more;
}
int made(Kind kind) {
  std::lock_guard lock(mutex());
  return numbers_made[static_cast<int>(kind)];
}
std::string kept() {
  std::string text;
  constexpr std::pair<Kind, const char*> kinds[] = {{Kind::stream, " streams"},
                                                    {Kind::event, " events"},
                                                    {Kind::products, " of cuBLAS"},
                                                    {Kind::solver, " of cuSOLVER"},
                                                    {Kind::solver_parameters, " parameters"},
                                                    {Kind::solver_info, " infos"},
                                                    {Kind::pinned, " pieces of pinned memory"}};
  for (const auto& [kind, name] : kinds)
    text += (text.empty() ? "" : ", ") + std::to_string(made(kind)) + name;
  return text;
}

void die(const std::string& text) {
  std::fprintf(stderr, "emulated GPU: %s\n", text.c_str());
  std::fflush(stderr);
  std::abort();
}

void break_device(int device, cudaError_t error) {
  device_errors[device] = error;
}
cudaError_t error_of(int device) {
  return device_errors[device];
}

void run_until(Stream& stream, std::uint64_t place) {
  while (stream.done < place && !stream.queue.empty()) {
    const Item item = std::move(stream.queue.front());
    stream.queue.pop_front();
    if (device_errors[stream.device] == cudaSuccess) {
      const OpenMemory open(stream.device);
      try {
        step_aside(item.name);
        item.work();
      } catch (const Trap& trap) {
        std::fprintf(stderr, "emulated GPU: %s: %s\n", item.name, trap.why.c_str());
        break_device(stream.device, trap.error);
      }
      check_redzones(stream.device, item.name);
    }
    ++stream.done;
  }
}

void run_all(int device) {
  for (Stream* stream : streams[device]) run_until(*stream, stream->given);
}

void enqueue(Stream* stream, const char* name, std::function<void()> work) {
  std::lock_guard lock(mutex());
  if (!stream) die(std::string(name) + ": without a stream");
  stream->queue.push_back({name, std::move(work)});
  ++stream->given;
  if (stream->queue.size() > most_queued) run_until(*stream, stream->given - most_queued / 2);
}

}  // namespace emulation

using namespace emulation;

unsigned long long tapedeck_emulated_waits() {
  return waits.load(std::memory_order_relaxed);
}

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 0;
  if (is_in_state("old driver") || is_in_state("no driver")) return told(cudaErrorInsufficientDriver);
  if (is_in_state("no device")) return told(cudaErrorNoDevice);
  if (is_in_state("broken")) return told(cudaErrorInitializationError);
  *count = device_count;
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = is_in_state("no driver") ? 0 : is_in_state("old driver") ? 11040 : 13000;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = 12080;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  *device = current_device;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  if (!exists(device)) return told(cudaErrorInvalidDevice);
  current_device = device;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (!exists(device)) return told(cudaErrorInvalidDevice);
  *properties = {};
  std::snprintf(properties->name, sizeof properties->name, "Emulated GPU");
  std::size_t free = 0;
  cudaMemGetInfo(&free, &properties->totalGlobalMem);
  properties->major = is_in_state("old devices") ? 7 : 8;
  properties->minor = is_in_state("old devices") ? 5 : 0;
  properties->multiProcessorCount = 4;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  if (!exists(device)) return told(cudaErrorInvalidDevice);
  *value = attribute == cudaDevAttrMultiProcessorCount ? 4 : 163 << 10;
  return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() {
  ++waits;
  std::lock_guard lock(mutex());
  run_all(current_device);
  return told(error_of(current_device));
}
cudaError_t cudaGetLastError() {
  const cudaError_t error = last_error;
  last_error = cudaSuccess;
  return error != cudaSuccess ? error : error_of(current_device);
}
cudaError_t cudaPeekAtLastError() {
  return last_error != cudaSuccess ? last_error : error_of(current_device);
}

const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "cudaSuccess";
    case cudaErrorInvalidValue:
      return "cudaErrorInvalidValue";
    case cudaErrorMemoryAllocation:
      return "cudaErrorMemoryAllocation";
    case cudaErrorInitializationError:
      return "cudaErrorInitializationError";
    case cudaErrorInvalidDevice:
      return "cudaErrorInvalidDevice";
    case cudaErrorNotReady:
      return "cudaErrorNotReady";
    case cudaErrorIllegalAddress:
      return "cudaErrorIllegalAddress";
    case cudaErrorLaunchFailure:
      return "cudaErrorLaunchFailure";
    default:
      return "an error without a name here";
  }
}
const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "no error";
    case cudaErrorInvalidValue:
      return "invalid argument";
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorInitializationError:
      return "initialization error";
    case cudaErrorInvalidDevice:
      return "invalid device ordinal";
    case cudaErrorNotReady:
      return "device not ready";
    case cudaErrorIllegalAddress:
      return "an illegal memory access was encountered";
    case cudaErrorLaunchFailure:
      return "unspecified launch failure";
    default:
      return "an error without a text here";
  }
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  std::lock_guard lock(mutex());
  *stream = new Stream{.device = current_device, .queue = {}};
  streams[current_device].push_back(*stream);
  count_made(Kind::stream, 1);
  return told(error_of(current_device));
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  std::lock_guard lock(mutex());
  run_until(*stream, stream->given);
  std::erase(streams[stream->device], stream);
  delete stream;
  count_made(Kind::stream, -1);
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  ++waits;
  std::lock_guard lock(mutex());
  run_until(*stream, stream->given);
  return told(error_of(stream->device));
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  std::lock_guard lock(mutex());
  if (error_of(stream->device) != cudaSuccess) return told(error_of(stream->device));
  return stream->done == stream->given ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  std::lock_guard lock(mutex());
  if (!event->stream) return cudaSuccess;
  stream->queue.push_back(
      {"wait", [earlier = event->stream, place = event->place] { run_until(*earlier, place); }});
  ++stream->given;
  return told(error_of(stream->device));
}
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, void (*function)(void*), void* data) {
  enqueue(stream, "a function of the host", [=] { function(data); });
  return told(error_of(stream->device));
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  *event = new Event{.timed = (flags & cudaEventDisableTiming) == 0};
  count_made(Kind::event, 1);
  return told(error_of(current_device));
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  count_made(Kind::event, -1);
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  std::lock_guard lock(mutex());
  event->stream = stream;
  if (event->timed) {
    event->when = std::make_shared<std::chrono::steady_clock::time_point>();
    const auto happen = [when = event->when] { *when = std::chrono::steady_clock::now(); };
    if (stream->done == stream->given)
      happen();
    else
      enqueue(stream, "an event", happen);
  }
  event->place = stream->given;
  return told(error_of(stream->device));
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  ++waits;
  std::lock_guard lock(mutex());
  if (!event->stream) return cudaSuccess;
  run_until(*event->stream, event->place);
  return told(error_of(event->stream->device));
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  std::lock_guard lock(mutex());
  if (!event->stream) return cudaSuccess;
  if (error_of(event->stream->device) != cudaSuccess) return told(error_of(event->stream->device));
  return event->stream->done < event->place ? cudaErrorNotReady : cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  std::lock_guard lock(mutex());
  for (const Event* event : {start, end}) {
    if (!event->timed || !event->stream) return told(cudaErrorInvalidResourceHandle);
    if (event->stream->done < event->place) return cudaErrorNotReady;
    if (error_of(event->stream->device) != cudaSuccess) return told(error_of(event->stream->device));
  }
  *milliseconds = std::chrono::duration<float, std::milli>(*end->when - *start->when).count();
  return cudaSuccess;
}
