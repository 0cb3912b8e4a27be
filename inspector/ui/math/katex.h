// KaTeX, run by Qt's JavaScript engine: TeX to KaTeX's markup. It has no access to files, the network or
// the notebook.
#pragma once

#include <QString>
#include <QStringList>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

namespace tapedeck::inspector {

/// Belongs to the thread that makes it. Loading takes a fifth of a second.
class Katex {
 public:
  /// Limits of one formula's length and time.
  static constexpr qsizetype longest_tex = 20'000;
  /// Of formulas that define the macros which one uses: characters in all, and how many.
  static constexpr qsizetype longest_definitions = 100'000;
  static constexpr qsizetype most_definitions = 100;
  static constexpr std::chrono::milliseconds longest_time{3'000};

  Katex();
  ~Katex();

  struct Answer {
    QString markup;
    QString error;  ///< a sentence; empty: there is markup
  };
  /// `before`: formulas whose macros hold in this one, in their order.
  Answer set(const QString& tex, bool display, std::chrono::milliseconds time = longest_time,
             const QStringList& before = {});

  /// Ends the running and all later calls; from any thread.
  void interrupt();

  /// The packages that are not installed and needed for formulas, in a sentence; empty: all are there.
  static QString missing();

 private:
  void load();
  void watch();
  void startClock(std::chrono::milliseconds time);
  bool stopClock();  ///< whether the time was up

  struct Engine;
  std::unique_ptr<Engine> engine_;
  QString broken_;  ///< why KaTeX itself does not run

  std::mutex mutex_;
  std::condition_variable changed_;
  std::chrono::steady_clock::time_point deadline_ = std::chrono::steady_clock::time_point::max();
  bool interrupted_ = false;
  bool ends_ = false;
  bool refuses_ = false;
  std::thread watchdog_;
};

}  // namespace tapedeck::inspector
