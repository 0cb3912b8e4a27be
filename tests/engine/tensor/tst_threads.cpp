// Eight threads at once get, bit for bit, what one thread computes: every op with its gradient, long arrays,
// with a recorder and without.
#include <QtTest>
#include <atomic>
#include <cstring>
#include <thread>

#include "engine/cpu/parallel.h"
#include "engine/tensor/strings.h"
#include "tests/engine/ops/rows/all_rows.h"
#include "tests/engine/record/recording.h"
#include "tests/engine/same_bits.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::testing;

namespace {

constexpr std::size_t thread_count = 8;

/// What a job came to: its tensors, or how it was refused.
struct Answer {
  Tensors tensors;
  std::string refusal;
};

struct Job {
  std::string name;
  std::function<Tensors()> run;
  Answer expected = {};
};

Answer answer(const Job& job) {
  try {
    return {job.run(), {}};
  } catch (const Error& error) {
    return {{}, error.what()};
  }
}

bool same(const Answer& a, const Answer& b) {
  return a.refusal == b.refusal && same_bits(a.tensors, b.tensors);
}

/// The results, and the gradients of their sum with respect to all floating-point inputs.
Tensors values_and_gradients(const TensorsFunction& f, const Tensors& inputs) {
  Tape tape;
  tape.start();
  Tensors sources;
  for (const Tensor& input : inputs)
    if (is_floating(input.dtype())) {
      tape.watch(input);
      sources.push_back(input);
    }
  Tensors results = f(span_of(inputs));
  tape.stop();
  for (const Tensor& gradient : tape.gradient(span_of(results), span_of(sources)))
    results.push_back(gradient);
  return results;
}

/// Every call of every test row.
std::vector<Job> jobs_of_all_ops() {
  std::vector<Job> jobs;
  for (const Row& row : all_rows()) {
    const OpDef& op = *Registry::instance().find(row.op);
    Random random(std::hash<std::string>()(row.op));
    for (std::size_t k = 0; k < row.calls.size(); ++k) {
      const Call call = row.calls[k](random);
      const TensorsFunction f = [&op, call](std::span<const Tensor> inputs) {
        return run_op(op, inputs, Attributes(call.attributes));
      };
      jobs.push_back({row.op + ", call " + std::to_string(k),
                      [f, call] { return values_and_gradients(f, call.inputs); }});
    }
  }
  return jobs;
}

/// Ops on arrays long enough to be shared among the engine's own threads.
std::vector<Job> long_jobs() {
  using F = std::function<Tensor(const Tensor&)>;
  const std::vector<std::pair<std::string, F>> functions = {
      {"elementwise", [](const Tensor& x) { return ops::tanh(ops::exp(x) * x); }},
      {"sums", [](const Tensor& x) { return ops::reduce_sum(ops::square(x), ops::Integers{0}); }},
      {"softmax", [](const Tensor& x) { return ops::softmax(x); }},
      {"matmul", [](const Tensor& x) { return ops::matmul(x, x, true, false); }},
      {"sharing a view", [](const Tensor& x) { return ops::transpose(x) * ops::transpose(x); }}};
  std::vector<Job> jobs;
  for (const DType dtype : {DType::float32, DType::float64})
    for (const auto& [name, f] : functions) {
      Random random(7);
      const Tensor shared = ops::cast(random_tensor(random, {700, 120}), dtype);
      const TensorsFunction g = [f = f](std::span<const Tensor> inputs) { return Tensors{f(inputs[0])}; };
      jobs.push_back({name, [g, shared] { return values_and_gradients(g, {shared}); }});
    }
  return jobs;
}

void expect_answers(std::vector<Job>& jobs) {
  for (Job& job : jobs) job.expected = answer(job);
}

/// Each thread runs all jobs `rounds` times, from a place of its own on. Returns the names of those that came
/// out differently.
std::string run_on_threads(const std::vector<Job>& jobs, int rounds = 1) {
  std::mutex mutex;
  std::string different;
  std::atomic<std::size_t> ready{0};
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < thread_count; ++t)
    threads.emplace_back([&, t] {
      ++ready;
      while (ready < thread_count) std::this_thread::yield();
      for (std::size_t i = 0; i < jobs.size() * static_cast<std::size_t>(rounds); ++i) {
        const Job& job = jobs[(i + t * jobs.size() / thread_count) % jobs.size()];
        if (same(answer(job), job.expected)) continue;
        const std::lock_guard lock(mutex);
        different += job.name + "\n";
      }
    });
  for (std::thread& thread : threads) thread.join();
  return different;
}

}  // namespace

class TestThreads : public QObject {
  Q_OBJECT

  std::vector<Job> short_, long_;

 private slots:
  void initTestCase() {
    cpu::set_thread_count(3);
    short_ = jobs_of_all_ops();
    long_ = long_jobs();
    expect_answers(short_);
    expect_answers(long_);
    QVERIFY(short_.size() > 500);
  }

  void a_difference_would_be_seen() {
    std::vector<Job> jobs = {long_[0]};
    jobs[0].expected.tensors.back() = jobs[0].expected.tensors.back() * 2.0;
    QVERIFY(!run_on_threads(jobs).empty());
    jobs[0].expected = {{}, "refused"};
    QVERIFY(!run_on_threads(jobs).empty());
  }

  void every_op_and_its_gradient() {
    const std::string different = run_on_threads(short_);
    QVERIFY2(different.empty(), ("\n" + different).c_str());
  }

  void every_op_and_its_gradient_while_a_recorder_listens() {
    Recording recording;
    const std::string different = run_on_threads(short_);
    QVERIFY2(different.empty(), ("\n" + different).c_str());
    QVERIFY(recording.count() > short_.size() * thread_count);
  }

  void long_arrays_while_recording_and_the_number_of_threads_change() {
    Recording recording;
    std::atomic<bool> done{false};
    std::thread changes([&] {
      for (int i = 0; !done; ++i) {
        recording.recorder.set_recording(i % 2 == 0);
        cpu::set_thread_count(1 + i % 4);
        std::this_thread::yield();
      }
    });
    const std::string different = run_on_threads(long_, 3);
    done = true;
    changes.join();
    cpu::set_thread_count(3);
    QVERIFY2(different.empty(), ("\n" + different).c_str());
  }

  void records_are_read_while_they_are_made() {
    Recording recording;
    std::atomic<bool> done{false};
    std::thread reader([&] {
      while (!done)
        for (std::uint32_t number = recording.count(); number > 0 && number + 50 > recording.count();
             --number)
          (void)debug::describe(recording.recorder, number, true);
    });
    const std::string different = run_on_threads(long_);
    done = true;
    reader.join();
    QVERIFY2(different.empty(), ("\n" + different).c_str());
  }

  void a_variable_is_whole_whoever_reads_it() {
    Variable variable(ops::fill({1000}, Tensor::scalar(0, DType::float64)));
    std::atomic<int> torn{0};
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < thread_count; ++t)
      threads.emplace_back([&, t] {
        for (int i = 0; i < 200; ++i) {
          if (t % 2 == 0) variable.assign(ops::fill({1000}, Tensor::scalar(t, DType::float64)));
          Tape tape;
          tape.start();
          const Tensor y = variable.read() * 3.0;
          const std::vector<double> values = y.to_vector();
          if (std::any_of(values.begin(), values.end(), [&](double value) { return value != values[0]; }))
            ++torn;
          const Tensor gradient = tape.gradient(std::span(&y, 1), std::span<const Variable>(&variable, 1))[0];
          if (gradient.to_vector() != std::vector<double>(1000, 3.0)) ++torn;
        }
      });
    for (std::thread& thread : threads) thread.join();
    QCOMPARE(torn.load(), 0);
  }
};

TAPEDECK_TEST(TestThreads)
#include "tst_threads.moc"
