// How the matrices of a batch are told to the libraries of GPUs: in as few calls as can be.
#include <QtTest>

#include "engine/cuda/linear_algebra/runs.h"
#include "tests/test_program.h"

using namespace tapedeck::cuda;

namespace {

std::vector<const void*> at(const float* first, const std::vector<std::int64_t>& places) {
  std::vector<const void*> pointers;
  for (const std::int64_t place : places) pointers.push_back(first + place);
  return pointers;
}

}  // namespace

class MatrixRunsTest : public QObject {
  Q_OBJECT
 private slots:
  void a_batch_over_two_axes_is_few_runs() {
    std::vector<std::int64_t> outer, inner;
    for (std::int64_t i = 0; i < 12; ++i) {
      outer.push_back(i / 4 * 100);
      inner.push_back(i % 4 * 7);
    }
    const std::vector<float> values(400);
    const auto a = at(values.data(), outer), b = at(values.data(), inner);
    const std::vector<Run> runs = runs_of(12, {a, b, {}});
    QCOMPARE(runs.size(), std::size_t{3});
    QCOMPARE(runs[1].first, 4);
    QCOMPARE(runs[1].count, 4);
    QCOMPARE(runs[1].step_of<float>(a), 0);
    QCOMPARE(runs[1].step_of<float>(b), 7);
    QVERIFY(runs_of(0, {}).empty());
    QCOMPARE(runs_of(5, {a}).size(), std::size_t{2});
    const auto backwards = at(values.data(), {30, 20, 10});
    QCOMPARE(runs_of(3, {backwards, {}}).size(), std::size_t{3});
  }
};

TAPEDECK_TEST(MatrixRunsTest)
#include "tst_matrix_runs.moc"
