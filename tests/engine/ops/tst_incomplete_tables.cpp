// The literals of engine/cpu/loops/incomplete_tables.h, derived.
#include <QtTest>
#include <cmath>
#include <numbers>

#include "engine/cpu/loops/incomplete_tables.h"
#include "tests/test_program.h"

using namespace tapedeck::cpu::incomplete_tables;

namespace {

/// c₀ = 1/μ − 1/η and cₖ = cₖ₋₁'/η − cₖ₋₁'(0)/μ as power series, where μ = λ − 1 = Σ αₙηⁿ with
/// μ·μ' = η·(1 + μ) (DLMF 8.12.7).
struct TemmeSeries {
  static constexpr int orders = temme_orders, terms = temme_terms, most = terms + 2 * orders;
  double c[orders][most + 1]{};

  TemmeSeries() {
    double alpha[most + 3]{}, beta[most + 3]{};  // beta: of η/μ
    alpha[1] = 1.0;
    for (int n = 2; n < most + 3; ++n) {
      double rest = alpha[n - 1];
      for (int i = 2; i < n; ++i) rest -= (n + 1 - i) * alpha[i] * alpha[n + 1 - i];
      alpha[n] = rest / (n + 1);
    }
    beta[0] = 1.0;
    for (int n = 1; n < most + 2; ++n)
      for (int i = 0; i < n; ++i) beta[n] -= beta[i] * alpha[n + 1 - i];
    for (int n = 0; n <= most; ++n) c[0][n] = beta[n + 1];
    for (int k = 1; k < orders; ++k)
      for (int n = 0; n + 2 * k <= most; ++n) c[k][n] = (n + 2) * c[k - 1][n + 2] - c[k - 1][1] * beta[n + 1];
  }
};

/// By Newton's method from (Abramowitz and Stegun, 22.16.6).
struct Quadrature {
  static constexpr int count = quadrature_count;
  double points[count]{}, weights[count]{};

  Quadrature() {
    for (int i = 0; i < count; ++i) {
      double x = std::cos(std::numbers::pi * (i + 0.75) / (count + 0.5)), slope = 0.0;
      for (int step = 0; step < 8; ++step) {
        double before = 1.0, here = x;
        for (int k = 2; k <= count; ++k) {
          const double next = ((2 * k - 1) * x * here - (k - 1) * before) / k;
          before = here;
          here = next;
        }
        slope = count * (x * here - before) / (x * x - 1.0);
        x -= here / slope;
      }
      points[i] = 0.5 * (1.0 - x);
      weights[i] = 1.0 / ((1.0 - x * x) * slope * slope);
    }
  }
};

bool near(double a, double b) {
  return std::abs(a - b) <= 1e-14 * std::abs(b);
}

}  // namespace

class IncompleteTablesTest : public QObject {
  Q_OBJECT
 private slots:
  void temmes_series_are_those_of_the_recurrence() {
    const TemmeSeries derived;
    for (int k = 0; k < temme_orders; ++k)
      for (int n = 0; n <= temme_terms; ++n)
        QVERIFY2(near(temme(k, n), derived.c[k][n]), qPrintable(QString("%1, %2").arg(k).arg(n)));
  }

  void the_quadrature_has_the_points_of_legendres_polynomial() {
    const Quadrature derived;
    double sum = 0;
    for (int i = 0; i < quadrature_count; ++i) {
      QVERIFY(near(quadrature_point(i), derived.points[i]));
      QVERIFY(near(quadrature_weight(i), derived.weights[i]));
      sum += quadrature_weight(i) * std::pow(quadrature_point(i), 79);
    }
    QVERIFY(near(sum, 1.0 / 80));  // exact up to degree 79
  }
};

TAPEDECK_TEST(IncompleteTablesTest)
#include "tst_incomplete_tables.moc"
