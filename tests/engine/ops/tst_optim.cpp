// Steps of optimisers: threads and instruction sets, memory that is taken over, what stays when a step fails.
#include <QtTest>
#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>

#include "engine/cpu/dispatch.h"
#include "engine/cpu/parallel.h"
#include "engine/optim/apply.h"
#include "engine/tensor/interrupt.h"
#include "tests/engine/expect_error.h"
#include "tests/engine/ops/rows/rows_optim.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::testing;

namespace {

const OpDef& op_of(const std::string& name) {
  return *Registry::instance().find(name);
}

/// A call of many elements, or rows, as float32 or float64.
Tensors long_call(const StepReference& reference, bool sparse, DType dtype) {
  Random random(7);
  const std::int64_t rows = 9011, width = 7;
  Tensors inputs = step_targets(random, reference, {rows, width});
  if (!sparse) {
    inputs.push_back(random_tensor(random, {rows, width}));
  } else {
    std::vector<std::int64_t> indices;
    for (std::int64_t i = 0; i < 10000; ++i) indices.push_back(i * 7919 % rows);
    inputs.push_back(random_tensor(random, {10000, width}));
    inputs.push_back(integers(indices, {10000}));
  }
  for (Tensor& input : inputs)
    if (input.dtype() == DType::float64) input = ops::cast(input, dtype);
  append_numbers(reference, inputs);
  return inputs;
}

bool all_bits_equal(const Tensors& a, const Tensors& b) {
  for (std::size_t k = 0; k < a.size(); ++k)
    if (std::memcmp(a[k].raw(), b[k].raw(), a[k].bytes()) != 0) return false;
  return a.size() == b.size();
}

Tensor ramp_of(std::int64_t count) {
  const Tensor tensor = Tensor::allocate(DType::float32, {count});
  for (std::int64_t i = 0; i < count; ++i) tensor.writable_data<float>()[i] = static_cast<float>(i % 97);
  return tensor;
}

struct Model {
  explicit Model(std::int64_t count = 1000)
      : targets{Variable(ramp_of(count), "w"), Variable(ops::zeros({count}), "m"),
                Variable(ops::zeros({count}), "v")},
        others{ops::ones({count})} {
    for (const double number : {0.1, 0.9, 0.999, 1e-7, 0.0})
      others.push_back(Tensor::scalar(number, DType::float64));
  }
  void step() { apply_update(op_of("adam"), targets, others); }
  const std::byte* memory(std::size_t k) const { return targets[k].peek().raw(); }

  std::vector<Variable> targets;
  Tensors others;
};

}  // namespace

class OptimTest : public QObject {
  Q_OBJECT

 private slots:
  void cleanup() { cpu::set_thread_count(2); }

  void steps_do_not_depend_on_threads_and_instruction_sets() {
    const auto widest = cpu::best_instruction_set();
    for (const StepReference& reference : step_references())
      for (const bool sparse : {false, true})
        for (const DType dtype : {DType::float32, DType::float64}) {
          const OpDef& op = op_of((sparse ? "sparse_" : "") + reference.op);
          const Tensors inputs = long_call(reference, sparse, dtype);
          const Attributes attributes(reference.attributes);
          cpu::set_thread_count(1);
          const Tensors expected = run_op(op, inputs, attributes);
          for (const int threads : {2, 4}) {
            cpu::set_thread_count(threads);
            QVERIFY2(all_bits_equal(run_op(op, inputs, attributes), expected), op.name.c_str());
          }
          for (int set = 0; set < static_cast<int>(widest); ++set) {
            cpu::use_instruction_set(static_cast<cpu::InstructionSet>(set));
            const Tensors other = run_op(op, inputs, attributes);
            cpu::use_instruction_set(widest);
            QVERIFY2(all_bits_equal(other, expected), op.name.c_str());
          }
        }
  }

  void a_step_in_place_has_the_bits_of_one_that_is_not() {
    for (const StepReference& reference : step_references())
      for (const bool sparse : {false, true}) {
        const OpDef& op = op_of((sparse ? "sparse_" : "") + reference.op);
        const Tensors inputs = long_call(reference, sparse, DType::float32);
        const Attributes attributes(reference.attributes);
        const Tensors expected = run_op(op, inputs, attributes);
        std::vector<Variable> targets;
        std::vector<const std::byte*> memory;
        for (std::size_t k = 0; k <= reference.slot_count; ++k) {
          targets.emplace_back(ops::add(inputs[k], Tensor::scalar(0.0)));
          memory.push_back(targets.back().peek().raw());
        }
        apply_update(op, targets, std::span<const Tensor>(inputs).subspan(targets.size()), attributes);
        for (std::size_t k = 0; k < targets.size(); ++k) {
          const Tensor value = targets[k].peek();
          QVERIFY2(value.raw() == memory[k], op.name.c_str());
          QVERIFY2(std::memcmp(value.raw(), expected[k].raw(), value.bytes()) == 0, op.name.c_str());
        }
      }
  }

  void a_step_past_the_cache_has_the_bits_of_one_in_place() {
    Model model((std::int64_t{17} << 20) / 4 + 5), other((std::int64_t{17} << 20) / 4 + 5);
    Tensors held;
    for (const Variable& target : model.targets) held.push_back(target.peek());
    model.step();
    other.step();
    for (std::size_t k = 0; k < 3; ++k) {
      const Tensor a = model.targets[k].peek(), b = other.targets[k].peek();
      QVERIFY(a.raw() != held[k].raw());
      QVERIFY(std::memcmp(a.raw(), b.raw(), a.bytes()) == 0);
    }
  }

  void values_that_somebody_holds_stay_what_they_were() {
    Model model;
    const Tensor before = model.targets[0].peek();
    const Tensor view = Tensor::view(model.targets[1].peek().storage(), DType::float32, {1}, {1}, 3);
    const std::byte* free_memory = model.memory(2);
    model.step();
    QCOMPARE(before.to_vector(), ramp_of(1000).to_vector());
    QCOMPARE(view.item(), 0.0);
    QVERIFY(model.memory(0) != before.raw());
    QVERIFY(model.memory(2) == free_memory);
    QVERIFY(model.targets[1].peek().to_vector()[3] > 0.09);
  }

  void a_step_in_place_is_not_interrupted_half_way() {
    static int asked = 0;
    HostHooks hooks;
    hooks.interrupted = [] { return ++asked > 0; };
    Model model(1 << 21);
    const HostHooks before = host_hooks();
    set_host_hooks(hooks);
    model.step();
    const int asked_by_the_step = asked;
    bool interrupted = false;
    try {
      check_interrupt();
    } catch (const Interrupted&) {
      interrupted = true;
    }
    set_host_hooks(before);
    QCOMPARE(asked_by_the_step, 0);
    QVERIFY(interrupted);
    QVERIFY(model.targets[2].peek().to_vector().back() > 0.0);
  }

  void steps_of_several_threads_all_count_and_readers_see_whole_values() {
    Variable value(ops::zeros({20000}), "w");
    const Tensors others{ops::ones({20000}), Tensor::scalar(1.0)};
    std::atomic<bool> done{false}, torn{false};
    std::thread reader([&] {
      while (!done) {
        const std::vector<double> seen = value.peek().to_vector();
        if (std::adjacent_find(seen.begin(), seen.end(), std::not_equal_to<>()) != seen.end()) torn = true;
      }
    });
    std::vector<std::thread> writers;
    for (int i = 0; i < 2; ++i)
      writers.emplace_back([&] {
        for (int step = 0; step < 300; ++step) apply_update(op_of("gradient_descent"), {&value, 1}, others);
      });
    for (std::thread& writer : writers) writer.join();
    done = true;
    reader.join();
    QVERIFY(!torn);
    QCOMPARE(value.peek().to_vector()[7], -600.0);
  }

  void memory_of_others_is_not_written() {
    std::vector<float> own(100, 5.0F);
    const auto release = [](void*) {};
    const Tensor borrowed = Tensor::view(StoragePointer::borrow(own.data(), 400, release, nullptr),
                                         DType::float32, {100}, {1}, 0);
    Model model(100);
    model.targets[0].assign(borrowed);
    model.step();
    QCOMPARE(own, std::vector<float>(100, 5.0F));
    QVERIFY(model.targets[0].peek().to_vector()[0] < 5.0);
  }

  void a_step_that_fails_changes_nothing() {
    Model model;
    model.others[0] = ops::ones({999});
    EXPECT_ERROR(InvalidArgumentError, model.step(), "adam: gradient has the shape (999,), value (1000,)");
    QCOMPARE(model.targets[0].peek().to_vector(), ramp_of(1000).to_vector());
    QCOMPARE(model.targets[2].peek().to_vector()[0], 0.0);
    model.others[0] = ops::ones({1000});
    model.step();
    QVERIFY(model.targets[2].peek().to_vector()[0] > 0.0);
  }

  void rows_outside_are_refused_before_anything_changes() {
    Variable value(ops::ones({3, 2}), "w");
    const Tensors others{ops::ones({2, 2}), integers({0, 3}, {2}), Tensor::scalar(0.1)};
    EXPECT_ERROR(OutOfRangeError, apply_update(op_of("sparse_gradient_descent"), {&value, 1}, others),
                 "sparse_gradient_descent: indices[1] is 3; must be in [0, 3)");
    QCOMPARE(value.peek().to_vector(), Doubles(6, 1.0));
  }

  void a_variable_is_no_slot_of_its_own() {
    Model model;
    model.targets[1] = model.targets[0];
    EXPECT_ERROR(InvalidArgumentError, model.step(), "variable w:0 occurs twice");
    QCOMPARE(model.targets[0].peek().to_vector(), ramp_of(1000).to_vector());
  }

  void arguments_that_do_not_fit_are_named() {
    const Tensor x = ops::ones({2}), rate = Tensor::scalar(0.1);
    EXPECT_ERROR(TypeMismatchError,
                 run_op(op_of("gradient_descent"), Tensors{x, ops::cast(x, DType::float64), rate}),
                 "gradient_descent: value is float32 and gradient is float64");
    EXPECT_ERROR(InvalidArgumentError, run_op(op_of("gradient_descent"), Tensors{x, x, x}),
                 "gradient_descent: learning_rate has the shape (2,); a scalar is needed");
    EXPECT_ERROR(InvalidArgumentError,
                 run_op(op_of("momentum"), Tensors{x, ops::ones({3}), x, rate, rate}, Attributes{false}),
                 "momentum: accumulator has the shape (3,), value (2,)");
    EXPECT_ERROR(InvalidArgumentError,
                 run_op(op_of("sparse_gradient_descent"),
                        Tensors{ops::ones({4, 3}), ops::ones({2, 2}), integers({0, 1}, {2}), rate}),
                 "it is (2, 3)");
  }

  void halves_are_computed_in_float32() {
    Variable value(ops::cast(ops::ones({8}), DType::float16), "w"), m(ops::zeros({8}, DType::float16), "m"),
        v(ops::zeros({8}, DType::float16), "v");
    const Variable targets[] = {value, m, v};
    Tensors others{ops::cast(ops::ones({8}), DType::float16)};
    for (const double number : {0.25, 0.9, 0.999, 1e-7, 0.0})
      others.push_back(Tensor::scalar(number, DType::float64));
    apply_update(op_of("adam"), targets, others);
    QCOMPARE(value.peek().dtype(), DType::float16);
    QVERIFY(std::abs(value.peek().to_vector()[0] - (1 - 0.25 * 0.1 / std::sqrt(0.001))) < 1e-3);
  }

  void nan_in_a_gradient_is_seen_in_the_value() {
    for (const StepReference& reference : step_references()) {
      Random random(3);
      Tensors inputs = step_targets(random, reference, {1});
      inputs.push_back(Tensor::from_values<double>(std::vector<double>{std::nan("")}, {1}));
      append_numbers(reference, inputs);
      const Tensors outputs = run_op(op_of(reference.op), inputs, Attributes(reference.attributes));
      QVERIFY2(std::isnan(outputs[0].to_vector()[0]), reference.op.c_str());
    }
  }
};

TAPEDECK_TEST(OptimTest)
#include "tst_optim.moc"
