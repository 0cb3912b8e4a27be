// How long each question of Why takes on the autoencoder (784-196-784, tied weights, 10,000 images) after 50
// iterations of L-BFGS. One line of JSON per question: milliseconds, the number of reasons, and whether the
// answer is complete. `bench_why IMAGES ITERATIONS` measures a smaller one.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <random>

#include "engine/debug/why/why.h"
#include "engine/ops/core/ops.h"
#include "engine/record/replay/replay.h"
#include "engine/tape/tape.h"

using namespace tapedeck;
using protocol::Question;

namespace {

constexpr int history = 100;

Tensor random_values(const Shape& shape, double low, double high) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<float> uniform(static_cast<float>(low), static_cast<float>(high));
  std::vector<float> values(static_cast<std::size_t>(element_count(shape)));
  for (float& value : values) value = uniform(random);
  return Tensor::from_values<float>(values, shape);
}

struct Evaluation {
  Tensor loss, gradient;
};

/// `poison`: a term whose gradient is NaN is part of the loss.
Evaluation evaluate(const Tensor& data, const Variable& w, bool poison) {
  Tape tape;
  tape.start();
  const Tensor weights = w.read();
  const Tensor hidden = ops::sigmoid(ops::matmul(data, weights));
  const Tensor output = ops::sigmoid(ops::matmul(hidden, weights, false, true));
  Tensor loss = ops::reduce_mean(ops::square(output - data));
  if (poison) loss = loss + ops::sqrt(ops::reduce_sum(ops::square(weights - weights)));
  tape.stop();
  const Variable sources[] = {w};
  return {loss, tape.gradient(std::span(&loss, 1), sources)[0]};
}

Tensor inner(const Tensor& a, const Tensor& b) {
  return ops::reduce_sum(a * b);
}

/// The two loops of L-BFGS (Nocedal and Wright, Numerical Optimization, algorithm 7.4), learning rate 1.
Evaluation minimize(const Tensor& data, Variable& w, int iterations, bool poison) {
  struct Pair {
    Tensor s, y, rho;
  };
  std::deque<Pair> pairs;
  Evaluation now = evaluate(data, w, poison);
  for (int iteration = 0; iteration < iterations; ++iteration) {
    Tensor q = now.gradient;
    std::vector<Tensor> alphas(pairs.size());
    for (std::size_t i = pairs.size(); i-- > 0;) {
      alphas[i] = pairs[i].rho * inner(pairs[i].s, q);
      q = q - alphas[i] * pairs[i].y;
    }
    if (!pairs.empty())
      q = q * (inner(pairs.back().s, pairs.back().y) / inner(pairs.back().y, pairs.back().y));
    for (std::size_t i = 0; i < pairs.size(); ++i)
      q = q + pairs[i].s * (alphas[i] - pairs[i].rho * inner(pairs[i].y, q));
    const Tensor step = pairs.empty() ? q * -1e-3 : -q;
    w.assign(w.read() + step);
    const Evaluation next = evaluate(data, w, poison);
    const Tensor change = next.gradient - now.gradient;
    pairs.push_back({step, change, 1.0 / inner(step, change)});
    if (pairs.size() > history) pairs.pop_front();
    now = next;
  }
  return now;
}

void measure(Recorder& recorder, Question question, const char* name, std::uint64_t tensor,
             std::uint64_t record, const std::vector<std::int64_t>& element) {
  const auto start = std::chrono::steady_clock::now();
  std::string sentence;
  protocol::Because because;
  try {
    debug::Past past(recorder, [&](std::uint64_t id) { return find_value(recorder, id).value; }, nullptr, {});
    because = debug::answer(past, {question, tensor, element, record});
    sentence = because.sentence;
  } catch (const ValueError& error) {
    sentence = error.what();
  }
  const double ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  for (char& c : sentence)
    if (c == '"') c = '\'';
  std::printf(
      "{\"bench\": \"why\", \"question\": \"%s\", \"records\": %u, \"milliseconds\": %.0f, \"reasons\": %zu, "
      "\"complete\": %s, \"sentence\": \"%s\"}\n",
      name, recorder.trace().newest(), ms, because.reasons.size(), because.complete ? "true" : "false",
      sentence.c_str());
}

std::uint32_t newest_vjp(const Recorder& recorder, const std::string& op) {
  RecordView view;
  for (std::uint32_t number = recorder.trace().newest(); number > 0; --number)
    if (recorder.trace().read(number, view) && view.head.kind == EventKind::vjp && view.name() == op)
      return number;
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  const int images = count > 1 ? std::atoi(arguments[1]) : 10'000;
  const int iterations = count > 2 ? std::atoi(arguments[2]) : 50;
  for (const bool poison : {false, true}) {
    Recorder recorder;
    const Tensor data = random_values({images, 784}, 0, 1);
    Variable w(random_values({784, 196}, -0.08, 0.08), "w");
    recorder.set_recording(true);
    const Evaluation last = minimize(data, w, iterations, poison);
    recorder.set_recording(false);
    if (poison) {
      measure(recorder, Question::birth, "birth", last.loss.id(), 0, {});
      measure(recorder, Question::birth, "birth of a gradient", last.gradient.id(), 0, {});
      continue;
    }
    const std::uint32_t vjp = newest_vjp(recorder, "matmul");
    measure(recorder, Question::size, "size", last.gradient.id(), 0, {});
    measure(recorder, Question::gradient, "gradient", last.gradient.id(), 0, {});
    measure(recorder, Question::contributions, "contributions to a gradient", last.gradient.id(), 0, {});
    measure(recorder, Question::contributions, "contributions to an element", last.loss.id(), 0, {});
    measure(recorder, Question::check, "check", 0, vjp, {});
    measure(recorder, Question::exactness, "exactness of the loss", last.loss.id(), 0, {});
    measure(recorder, Question::exactness, "exactness of the gradient", last.gradient.id(), 0, {});
  }
  return 0;
}
