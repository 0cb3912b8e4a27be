// From a key to its letter on the screen, one JSON line per case: while nothing else happens, while a cell
// prints as fast as it can, and while a cell runs ops that are recorded. The keys come from another thread,
// at moments of their own, as they do from a keyboard. Run it on a display (xvfb-run).
#include <QKeyEvent>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <deque>
#include <mutex>
#include <random>
#include <thread>

#include "app/notebook/view/cell_widget.h"
#include "app/notebook/view/code_editor.h"
#include "tests/app/window_fixture.h"

using namespace tapedeck;
using namespace tapedeck::app;

namespace {

using Clock = std::chrono::steady_clock;

constexpr int keys = 300;

/// Notices when the editor has painted what a key did.
class Program : public QApplication {
 public:
  using QApplication::QApplication;

  QWidget* editor = nullptr;
  std::vector<double> echoes;

  /// Forgets what an earlier case left.
  void begin() {
    const std::lock_guard lock(mutex_);
    pressed_.clear();
    handled_.clear();
    echoes.clear();
  }

  void press(QChar letter) {
    {
      const std::lock_guard lock(mutex_);
      pressed_.push_back(Clock::now());
    }
    postEvent(editor, new QKeyEvent(QEvent::KeyPress, letter.toUpper().unicode(), Qt::NoModifier, letter));
    postEvent(editor, new QKeyEvent(QEvent::KeyRelease, letter.toUpper().unicode(), Qt::NoModifier, letter));
  }

  bool notify(QObject* receiver, QEvent* event) override {
    const auto type = event->type();
    const bool own = editor && (receiver == editor || receiver->parent() == editor);
    const bool done = QApplication::notify(receiver, event);
    if (own && type == QEvent::KeyPress && receiver == editor) {
      const std::lock_guard lock(mutex_);
      if (!pressed_.empty()) {
        handled_.push_back(pressed_.front());
        pressed_.pop_front();
      }
    }
    if (own && type == QEvent::Paint)
      for (const auto& moment : std::exchange(handled_, {}))
        echoes.push_back(std::chrono::duration<double, std::milli>(Clock::now() - moment).count());
    return done;
  }

 private:
  std::mutex mutex_;
  std::deque<Clock::time_point> pressed_;
  std::vector<Clock::time_point> handled_;
};

void await(const std::function<bool()>& condition) {
  if (!waitFor(condition)) qFatal("gave up waiting");
}

void measure(Program& program, const char* name) {
  program.begin();
  std::atomic<bool> over = false;
  std::thread typist([&] {
    std::mt19937 random(1);
    for (int i = 0; i < keys; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(40 + random() % 60));
      program.press(i % 40 == 39 ? u' ' : QChar(u'a' + i % 26));
    }
    over = true;
  });
  (void)waitFor([&] { return over && program.echoes.size() >= std::size_t(keys); }, 60'000);
  typist.join();
  std::vector<double>& values = program.echoes;
  std::sort(values.begin(), values.end());
  if (values.empty()) qFatal("no key was painted");
  const auto at = [&](double share) {
    return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
  };
  std::printf(
      "{\"case\": \"key_echo_%s\", \"count\": %zu, \"median_ms\": %.1f, \"p95_ms\": %.1f, \"max_ms\": "
      "%.1f}\n",
      name, values.size(), at(.5), at(.95), values.back());
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  Program program(argc, argv);
  useOwnSettingsAndCache();
  QTemporaryDir folder;
  MainWindow window;
  window.setAttribute(Qt::WA_DeleteOnClose, false);
  window.resize(1280, 800);
  if (!showActive(&window)) return 1;
  window.openNotebook(
      writeNotebook(folder, "typing.ipynb",
                    {"", "i = 0\nwhile True:\n    print('step', i, 'loss', 1 / (i + 1))\n    i += 1",
                     "import tapedeck as tf\nx = tf.random.normal([64, 64])\nwhile True:\n    x = "
                     "tf.tanh(tf.matmul(x, x))"}));
  const auto type = [&](const char* name) {
    window.notebook()->setCurrentCell(0, true);
    await([] { return qobject_cast<CodeEditor*>(QApplication::focusWidget()) != nullptr; });
    program.editor = QApplication::focusWidget();
    measure(program, name);
    program.editor = nullptr;
    window.document()->setSource(0, {});
  };
  type("idle");
  window.kernel()->restart();
  await([&] { return isReady(window); });
  const std::pair<int, const char*> cases[] = {{1, "while_printing"}, {2, "while_ops_run"}};
  for (const auto& [cell, name] : cases) {
    window.notebook()->setCurrentCell(cell, false);
    window.notebook()->runCurrent();
    await([&, cell = cell] {
      return cell == 1 ? outputText(window, 1).contains("step 100") : window.session()->recordCount() > 100;
    });
    type(name);
    window.kernel()->interrupt();
    const QString id = window.document()->cell(cell).id;
    await([&] { return window.notebook()->cellState(id) == CellState::failed; });
  }
  window.kernel()->shutdown();
  return 0;
}
