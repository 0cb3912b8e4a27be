#include "inspector/ui/math/katex.h"

#include <QFile>
#include <QFileInfo>
#include <QLoggingCategory>
#ifdef TAPEDECK_QT_QML
#include <QJSEngine>
#include <QJSValue>
#endif

#include "inspector/ui/math/formula_fonts.h"

namespace tapedeck::inspector {
namespace {

using Clock = std::chrono::steady_clock;

QString scriptPath() {
  static const QString found = [] {
    for (const QString& path : {QStringLiteral(TAPEDECK_KATEX_SCRIPT),
                                QStringLiteral("/usr/share/javascript/katex/katex.min.js")}) {
      if (!path.isEmpty() && QFileInfo::exists(path)) return path;
    }
    return QString();
  }();
  return found;
}

/// Nothing of a formula is trusted: no links, pictures or attributes of its own, a bound on expansions and on
/// sizes. Notebooks are written for MathJax: it lets \newcommand define a macro again, knows a few
/// environments more, and takes labels.
// clang-format off
constexpr char render_function[] = R"js((function (tex, display) {
  const adapted = tex
    .replace(/\\newcommand\s*\{?\s*(\\[A-Za-z@]+)\s*\}?/g, "\\providecommand{$1}{}\\renewcommand{$1}")
    .replace(/\\(?:begin|end)\{(?:displaymath|math)\*?\}/g, "")
    .replace(/\\(begin|end)\{multline\*?\}/g, "\\$1{gather*}")
    .replace(/\\begin\{eqnarray\*?\}/g, "\\begin{array}{rcl}")
    .replace(/\\end\{eqnarray\*?\}/g, "\\end{array}")
    .replace(/\\label\{[^{}]*\}/g, "")
    .replace(/\\(?:eq)?ref\{([^{}]*)\}/g, "(\\text{$1})");
  const options = {displayMode: display, output: "html", throwOnError: true, strict: "ignore", trust: false,
                   maxExpand: 1000, maxSize: 100, globalGroup: false, macros: {}};
  try {
    return [katex.renderToString(adapted, options), ""];
  } catch (error) {
    return ["", (error.name || "Error") + ": " + error.message];
  }
}))js";
// clang-format on

/// Qt's compiler has remarks on KaTeX's source that are no matter of ours.
void silenceCompiler() {
  static QLoggingCategory::CategoryFilter others = nullptr;
  static std::once_flag once;
  std::call_once(once, [] {
    others = QLoggingCategory::installFilter([](QLoggingCategory* category) {
      if (qstrcmp(category->categoryName(), "qt.qml.compiler") == 0)
        category->setEnabled(QtWarningMsg, false);
      else if (others != nullptr)
        others(category);
    });
  });
}

/// As a sentence that a reader of the formula understands.
QString asSentence(QString error) {
  error.remove(QChar(0x0332));  // underlines where it happened
  if (error.startsWith(QLatin1String("RangeError")))
    return QStringLiteral("The formula is nested too deeply to be shown.");
  for (const char* prefix : {"ParseError: ", "KaTeX parse error: ", "Error: "})
    if (error.startsWith(QLatin1String(prefix))) error.remove(0, static_cast<qsizetype>(qstrlen(prefix)));
  constexpr qsizetype longest = 300;
  return error.size() > longest ? error.left(longest) + QStringLiteral("…") : error;
}

}  // namespace

#ifdef TAPEDECK_QT_QML

struct Katex::Engine {
  QJSEngine script;
  QJSValue render;

  /// Why KaTeX does not run; empty: it does.
  QString load(const QString& source, const QString& path) {
    const QJSValue loaded = script.evaluate(source, path);
    render = script.evaluate(QLatin1String(render_function));
    if (loaded.isError()) return QStringLiteral("KaTeX can't be run: %1").arg(loaded.toString());
    if (!script.globalObject().hasProperty(QStringLiteral("katex")) || !render.isCallable())
      return QStringLiteral("KaTeX can't be run: %1 defines no katex.").arg(path);
    return {};
  }
  void setInterrupted(bool on) { script.setInterrupted(on); }

  struct Result {
    QString markup, error;
    bool failed = false;  ///< the engine itself: out of stack, interrupted
  };
  Result run(const QString& tex, bool display) {
    const QJSValue answer = render.call({tex, display});
    if (answer.isError()) return {{}, answer.toString(), true};
    return {answer.property(0).toString(), answer.property(1).toString(), false};
  }
};

#else

/// Built without Qt's JavaScript engine.
struct Katex::Engine {
  QString load(const QString&, const QString&) { return missing(); }
  void setInterrupted(bool) {}
  struct Result {
    QString markup, error;
    bool failed = false;
  };
  Result run(const QString&, bool) { return {{}, missing(), false}; }
};

#endif

QString Katex::missing() {
  static const QString sentence = [] {
    QStringList packages;
    if (scriptPath().isEmpty()) packages += QStringLiteral("libjs-katex");
    if (formulaFontFolder().isEmpty()) packages += QStringLiteral("fonts-katex");
#ifndef TAPEDECK_QT_QML
    packages += QStringLiteral("qt6-declarative-dev (and build again)");
#endif
    if (packages.isEmpty()) return QString();
    return QStringLiteral("Formulas are shown as their TeX source. To set them, install the Debian %1 %2.")
        .arg(packages.size() == 1 ? QStringLiteral("package") : QStringLiteral("packages"),
             packages.join(QStringLiteral(" and ")));
  }();
  return sentence;
}

Katex::Katex() : watchdog_([this] { watch(); }) {
  load();
}

Katex::~Katex() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  watchdog_.join();
}

void Katex::load() {
  silenceCompiler();
  broken_.clear();
  {
    const std::lock_guard lock(mutex_);
    engine_ = std::make_unique<Engine>();
  }
  QFile file(scriptPath());
  if (!missing().isEmpty())
    broken_ = missing();
  else if (!file.open(QFile::ReadOnly))
    broken_ = QStringLiteral("KaTeX can't be read from %1.").arg(scriptPath());
  else
    broken_ = engine_->load(QString::fromUtf8(file.readAll()), scriptPath());
}

Katex::Answer Katex::set(const QString& tex, bool display, std::chrono::milliseconds time) {
  if (!broken_.isEmpty()) return {{}, broken_};
  if (tex.size() > longest_tex)
    return {{},
            QStringLiteral("The formula has %1 characters; more than %2 are not set.")
                .arg(tex.size())
                .arg(longest_tex)};
  // Markup has no place for control characters, and TeX no use for them.
  QString clean = tex;
  for (QChar& c : clean)
    if (c.unicode() < 0x20 || c.unicode() == 0x7f || c.unicode() >= 0xfffe) c = u' ';
  startClock(time);
  const Engine::Result result = engine_->run(clean, display);
  const bool late = stopClock();
  // What the engine was in the middle of is not to be relied on.
  if (late || result.failed) load();
  if (late) return {{}, QStringLiteral("The formula takes too long to be set.")};
  if (!result.error.isEmpty()) return {{}, asSentence(result.error)};
  return {result.markup, {}};
}

void Katex::startClock(std::chrono::milliseconds time) {
  const std::lock_guard lock(mutex_);
  interrupted_ = false;
  engine_->setInterrupted(false);
  deadline_ = refuses_ ? Clock::now() : Clock::now() + time;
  changed_.notify_all();
}

bool Katex::stopClock() {
  const std::lock_guard lock(mutex_);
  deadline_ = Clock::time_point::max();
  engine_->setInterrupted(false);
  return interrupted_;
}

void Katex::interrupt() {
  const std::lock_guard lock(mutex_);
  refuses_ = true;
  if (deadline_ != Clock::time_point::max()) deadline_ = Clock::now();
  changed_.notify_all();
}

void Katex::watch() {
  std::unique_lock lock(mutex_);
  while (!ends_) {
    if (deadline_ == Clock::time_point::max()) {
      changed_.wait(lock);
    } else if (changed_.wait_until(lock, deadline_) == std::cv_status::timeout && Clock::now() >= deadline_ &&
               deadline_ != Clock::time_point::max()) {
      interrupted_ = true;
      deadline_ = Clock::time_point::max();
      engine_->setInterrupted(true);
    }
  }
}

}  // namespace tapedeck::inspector
