// The emulated GPUs themselves: what kernels may rely on works, and what programs do wrong shows.
#include <cstring>
#include <functional>

#include "engine/cuda/launch.h"
#include "tests/cuda/child.h"
#include "tests/cuda/gpu_values.h"
#include "tests/test_program.h"

using namespace tapedeck;
using cuda::Cooperation;
using cuda::launch;

namespace {

constexpr unsigned all_lanes = 0xffffffffU;

__global__ void turn_round(const int* from, int* to, bool waits) {
  __shared__ int values[128];
  const unsigned first = blockIdx.x * blockDim.x, own = threadIdx.x;
  values[own] = from[first + own];
  if (waits) __syncthreads();
  to[first + own] = values[blockDim.x - 1 - own];
}

/// Five results of each lane.
__global__ void exchange(int* to) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  int* own = to + 5 * threadIdx.x;
  own[0] = __shfl_sync(all_lanes, 10 * lane, 3);
  own[1] = __shfl_up_sync(all_lanes, lane, 2);
  own[2] = __shfl_down_sync(all_lanes, lane, 1, 8);
  own[3] = static_cast<int>(__shfl_xor_sync(all_lanes, static_cast<double>(lane), 5));
  own[4] = static_cast<int>(__ballot_sync(all_lanes, lane % 3 == 0));
  if (lane < 4) own[0] += __shfl_sync(0xfU, lane, 3 - lane);  // some of them alone
}

__global__ void count_threads(int* to) {
  to[0] = __syncthreads_count(threadIdx.x % 3 == 0);
  to[1] = __syncthreads_or(threadIdx.x == 77);
  to[2] = __syncthreads_and(threadIdx.x != 77);
}

__global__ void use_shared(int* to, int past) {
  int* values = cuda::shared_memory<int>();
  values[threadIdx.x + (threadIdx.x == 63 ? past : 0)] = static_cast<int>(threadIdx.x);
  __syncthreads();
  to[threadIdx.x] = values[63 - threadIdx.x];
}

__global__ void add_up(float* sum, int* lowest, int* highest, unsigned long long* claimed,
                       unsigned* exchanged) {
  const int number = static_cast<int>(cuda::thread_number());
  atomicAdd(sum, 0.5F);
  atomicMin(lowest, -number);
  atomicMax(highest, number);
  atomicCAS(claimed, 7ULL, static_cast<unsigned long long>(number + 100));
  atomicExch(exchanged, 5U);
}

__global__ void write_number(int* place, int value) {
  *place = value;
}
__global__ void write_many(int* place, std::int64_t count) {
  for (std::int64_t i = cuda::thread_number(); i < count; i += cuda::thread_count())
    place[i] = static_cast<int>(i);
}
__global__ void wait_apart() {
  if (threadIdx.x < 16)
    __syncthreads();
  else
    __syncwarp();
}
__global__ void trip(int* place) {
  if (*place == 3) __trap();
}

/// Memory of a device, as one allocation of CUDA's.
template <class T>
class Memory {
 public:
  explicit Memory(std::size_t count, int device = 0) : device_(device), count_(count) {
    const cuda::OnDevice here(device_);
    void* place = nullptr;
    cuda::check(cudaMallocAsync(&place, count * sizeof(T), cuda::stream()), "a test");
    data_ = static_cast<T*>(place);
  }
  ~Memory() {
    const cuda::OnDevice here(device_);
    cudaFreeAsync(data_, cuda::stream());
    cudaStreamSynchronize(cuda::stream());
  }
  Memory(const Memory&) = delete;
  T* data() const { return data_; }
  void set(T value) {
    const cuda::OnDevice here(device_);
    const std::vector<T> values(count_, value);
    cuda::check(cudaMemcpyAsync(data_, values.data(), count_ * sizeof(T), cudaMemcpyDefault, cuda::stream()),
                "a test");
  }
  std::vector<T> read() const {
    const cuda::OnDevice here(device_);
    std::vector<T> values(count_);
    cuda::check(cudaMemcpyAsync(values.data(), data_, count_ * sizeof(T), cudaMemcpyDefault, cuda::stream()),
                "a test");
    return values;
  }

 private:
  int device_;
  std::size_t count_;
  T* data_ = nullptr;
};

/// A second stream of the thread on device 0.
struct OtherStream {
  cudaStream_t handle = nullptr;
  OtherStream() {
    cuda::stream_of(0);
    cudaStreamCreateWithFlags(&handle, cudaStreamNonBlocking);
  }
  ~OtherStream() { cudaStreamDestroy(handle); }
};

}  // namespace

class EmulationTest : public QObject {
  Q_OBJECT
 private slots:
  void initTestCase() {
    load_gpus();
    QCOMPARE(why_no_gpu(), std::string());
    QCOMPARE(gpu_count(), 2);
  }
  void cleanup() { QCOMPARE(QString::fromStdString(emulation::leaks()), QString()); }

  // ---- threads ----
  void threads_meet_at_barriers_and_one_that_lacks_shows() {
    const cuda::OnDevice here(0);
    std::vector<int> numbers(3 * 128), turned(3 * 128);
    for (int i = 0; i < 3 * 128; ++i) {
      numbers[static_cast<std::size_t>(i)] = i;
      turned[static_cast<std::size_t>(i)] = i / 128 * 128 + 127 - i % 128;
    }
    for (const bool waits : {true, false}) {
      const Memory<int> from(numbers.size()), to(numbers.size());
      cuda::check(cudaMemcpyAsync(from.data(), numbers.data(), numbers.size() * sizeof(int),
                                  cudaMemcpyDefault, cuda::stream()),
                  "a test");
      launch("turn_round", {.blocks = 3, .threads = 128, .cooperation = Cooperation::block}, turn_round,
             from.data(), to.data(), waits);
      QCOMPARE(to.read() == turned, waits);
    }
  }

  void lanes_exchange_values() {
    const cuda::OnDevice here(0);
    const Memory<int> to(5 * 64);
    launch("exchange", {.threads = 64, .cooperation = Cooperation::block}, exchange, to.data());
    const std::vector<int> results = to.read();
    for (int thread = 0; thread < 64; ++thread) {
      const int lane = thread % 32;
      const int* own = &results[static_cast<std::size_t>(5 * thread)];
      QCOMPARE(own[0], lane < 4 ? 30 + 3 - lane : 30);
      QCOMPARE(own[1], lane < 2 ? lane : lane - 2);
      QCOMPARE(own[2], lane % 8 == 7 ? lane : lane + 1);
      QCOMPARE(own[3], lane ^ 5);
      QCOMPARE(static_cast<unsigned>(own[4]), 0x49249249U);
    }
  }

  void a_barrier_counts() {
    const cuda::OnDevice here(0);
    const Memory<int> to(3);
    launch("count_threads", {.threads = 96, .cooperation = Cooperation::block}, count_threads, to.data());
    QCOMPARE(to.read(), (std::vector<int>{32, 1, 0}));
  }

  void shared_memory_has_the_size_of_the_launch() {
    const cuda::OnDevice here(0);
    const auto run = [](int past) {
      const Memory<int> to(64);
      launch("use_shared", {.threads = 64, .shared_bytes = 256, .cooperation = Cooperation::block},
             use_shared, to.data(), past);
      return to.read();
    };
    QCOMPARE(run(0)[0], 63);
    const Ending ending = ending_of([&] { run(1); });
    QVERIFY(ending.died);
    QVERIFY2(ending.text.find("use_shared") != std::string::npos &&
                 ending.text.find("past the end of its shared memory of 256 bytes") != std::string::npos,
             ending.text.c_str());
  }

  void atomics_lose_nothing() {
    const cuda::OnDevice here(0);
    Memory<float> sum(1);
    Memory<int> lowest(1), highest(1);
    Memory<unsigned long long> claimed(1);
    Memory<unsigned> exchanged(1);
    sum.set(1.0F);
    lowest.set(0);
    highest.set(0);
    claimed.set(7);
    exchanged.set(0);
    launch("add_up", {.blocks = 4, .threads = 100}, add_up, sum.data(), lowest.data(), highest.data(),
           claimed.data(), exchanged.data());
    QCOMPARE(sum.read()[0], 201.0F);
    QCOMPARE(lowest.read()[0], -399);
    QCOMPARE(highest.read()[0], 399);
    QVERIFY(claimed.read()[0] >= 100);
    QCOMPARE(exchanged.read()[0], 5U);
  }

  void barriers_that_cannot_open_end_the_program_with_the_kernels_name() {
    const auto run = [](Cooperation cooperation) {
      return ending_of([=] {
        const cuda::OnDevice here(0);
        launch("wait_apart", {.threads = 64, .cooperation = cooperation}, wait_apart);
        cudaStreamSynchronize(cuda::stream());
      });
    };
    const Ending apart = run(Cooperation::block), alone = run(Cooperation::none);
    QVERIFY(apart.died && alone.died);
    QVERIFY2(apart.text.find("kernel wait_apart") != std::string::npos &&
                 apart.text.find("waits for ever") != std::string::npos,
             apart.text.c_str());
    QVERIFY2(alone.text.find("the launch did not say that its threads cooperate") != std::string::npos,
             alone.text.c_str());
  }

  void no_block_is_no_launch() {
    const cuda::OnDevice here(0);
    Memory<int> place(1);
    place.set(4);
    launch("write_number", {.blocks = 0}, write_number, place.data(), 5);
    QCOMPARE(place.read()[0], 4);
  }

  // ---- streams ----
  void a_stream_runs_when_somebody_waits_for_it() {
    const cuda::OnDevice here(0);
    void* pinned = nullptr;
    cudaHostAlloc(&pinned, sizeof(int), cudaHostAllocMapped);
    int* const number = static_cast<int*>(pinned);
    *number = 1;
    launch("write_number", {.threads = 1}, write_number, number, 2);
    QCOMPARE(*number, 1);
    QCOMPARE(cudaStreamQuery(cuda::stream()), cudaErrorNotReady);
    QCOMPARE(cudaStreamSynchronize(cuda::stream()), cudaSuccess);
    QCOMPARE(*number, 2);
    cudaFreeHost(pinned);
  }

  void a_missing_wait_reads_what_was_there() {
    const cuda::OnDevice here(0);
    for (const bool waits : {false, true}) {
      const OtherStream other;
      Memory<int> place(1);
      place.set(1);
      cudaStreamSynchronize(cuda::stream());
      launch("write_number", {.threads = 1}, write_number, place.data(), 2);
      cudaEvent_t written = nullptr;
      cudaEventCreateWithFlags(&written, cudaEventDisableTiming);
      cudaEventRecord(written, cuda::stream());
      if (waits) cudaStreamWaitEvent(other.handle, written);
      int seen = 0;
      cudaMemcpyAsync(&seen, place.data(), sizeof seen, cudaMemcpyDefault, other.handle);
      cudaStreamSynchronize(other.handle);
      QCOMPARE(seen, waits ? 2 : 1);
      cudaEventDestroy(written);
    }
  }

  void pinned_memory_is_read_late_and_other_memory_at_once() {
    const cuda::OnDevice here(0);
    void* pinned = nullptr;
    cudaHostAlloc(&pinned, sizeof(int), 0);
    int usual = 1, seen[2] = {};
    const Memory<int> places(2);
    std::memcpy(pinned, &usual, sizeof usual);
    cudaMemcpyAsync(places.data(), pinned, sizeof(int), cudaMemcpyDefault, cuda::stream());
    cudaMemcpyAsync(places.data() + 1, &usual, sizeof(int), cudaMemcpyDefault, cuda::stream());
    usual = 2;
    std::memcpy(pinned, &usual, sizeof usual);
    std::memcpy(seen, places.read().data(), sizeof seen);
    QCOMPARE(seen[0], 2);
    QCOMPARE(seen[1], 1);
    cudaFreeHost(pinned);
  }

  void an_error_that_comes_late_names_the_kernels() {
    const Ending ending = ending_of([] {
      const cuda::OnDevice here(0);
      Memory<int> place(1);
      place.set(3);
      launch("trip", {.threads = 2}, trip, place.data());
      try {
        device_memory({DeviceKind::gpu, 0}).synchronize();
      } catch (const cuda::DeviceError& error) {
        std::fputs(error.what(), stderr);
      }
      std::fflush(stderr);
      _exit(0);
    });
    QVERIFY2(ending.text.find(
                 "work on a GPU failed: unspecified launch failure (cudaErrorLaunchFailure) on /gpu:0; "
                 "in flight, the newest first: kernels trip,") != std::string::npos,
             ending.text.c_str());
  }

  // ---- memory ----
  void the_host_cannot_touch_a_devices_memory() {
    const Memory<int> place(1);
    const volatile int* wild = place.data();
    QVERIFY(ending_of([=] { static_cast<void>(*wild); }).died);
  }

  void a_kernel_cannot_touch_another_devices_memory() {
    const Memory<int> place(1, 1);
    const Ending ending = ending_of([&] {
      const cuda::OnDevice here(0);
      launch("write_number", {.threads = 1}, write_number, place.data(), 1);
      cudaStreamSynchronize(cuda::stream());
    });
    QVERIFY(ending.died);
  }

  void a_step_past_the_end_names_the_kernel() {
    const Memory<int> place(5);
    const auto run = [&](std::int64_t count, int before) {
      return ending_of([&] {
        const cuda::OnDevice here(0);
        launch("write_many", {.threads = 32}, write_many, place.data() - before, count);
        cudaStreamSynchronize(cuda::stream());
      });
    };
    QVERIFY(!run(5, 0).died);
    for (const auto& [count, before] : {std::pair{6, 0}, {64, 0}, {5, 1}}) {
      const Ending ending = run(count, before);
      QVERIFY(ending.died);
#if !defined(__SANITIZE_ADDRESS__)  // which tells it in its own words
      QVERIFY2(ending.text.find(
                   "write_many wrote past the end, or before the beginning, of an allocation of 20 bytes") !=
                   std::string::npos,
               ending.text.c_str());
#endif
    }
  }

  void a_step_past_the_end_is_found_among_many_allocations() {
    std::vector<std::unique_ptr<Memory<int>>> places;
    for (int i = 0; i < 1000; ++i) places.push_back(std::make_unique<Memory<int>>(5));
    const auto run = [&](int past) {
      return ending_of([&] {
        const cuda::OnDevice here(0);
        launch("write_many", {.threads = 32}, write_many, places[700]->data(), std::int64_t{5} + past);
        for (int i = 0; i < 4; ++i)
          launch("write_number", {.threads = 1}, write_number, places[0]->data(), i);
        cudaStreamSynchronize(cuda::stream());
      });
    };
    QVERIFY(!run(0).died);
    const Ending ending = run(1);
    QVERIFY(ending.died);
#if !defined(__SANITIZE_ADDRESS__)
    QVERIFY2(ending.text.find("or something before it, wrote past the end") != std::string::npos,
             ending.text.c_str());
#endif
  }

  void fresh_and_freed_memory_is_full_of_ones() {
    for (int i = 0; i < 2; ++i) {
      Memory<std::uint8_t> place(3);
      QCOMPARE(place.read(), (std::vector<std::uint8_t>{0xff, 0xff, 0xff}));
      place.set(1);
    }
  }

  void what_is_not_freed_is_listed() {
    const Memory<int> place(25, 1);
    QCOMPARE(emulation::leaks(), std::string("device 1: 100 bytes\n"));
  }

  void a_program_that_ends_without_freeing_fails() {
    setenv("TAPEDECK_EMULATED_GPU_LEAKS", "fail", 1);
    const auto run = [](bool frees) {
      return ending_of([frees] {
        auto place = std::make_unique<Memory<int>>(25, 1);
        if (!frees) static_cast<void>(place.release());
        place.reset();
        std::exit(0);
      });
    };
    const Ending leaking = run(false), clean = run(true);
    QVERIFY2(!clean.died, clean.text.c_str());
    QVERIFY(leaking.died);
    QVERIFY2(leaking.text.find("this was not freed:\ndevice 1: 100 bytes") != std::string::npos,
             leaking.text.c_str());
  }

  void a_second_free_ends_the_program() {
    const Memory<int> place(1);
    const Ending ending = ending_of([&] {
      cudaFreeAsync(place.data(), cuda::stream_of(0).handle);
      cudaFreeAsync(place.data(), cuda::stream_of(0).handle);
    });
    QVERIFY(ending.died);
    QVERIFY2(ending.text.find("a second free") != std::string::npos, ending.text.c_str());
  }
};

TAPEDECK_TEST(EmulationTest)
#include "tst_emulation.moc"
