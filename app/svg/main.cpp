// tapedeck-svg: checks SVG and draws it for the window, which ends it where one takes too long. It reads
// requests from its standard input and writes answers to its standard output
// (app/notebook/output/svg_drawing.h), until its input ends.
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <QGuiApplication>
#include <QPainter>
#include <QSvgRenderer>
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>

#include "app/notebook/output/html/svg_check.h"
#include "app/notebook/output/svg_drawing.h"

namespace {

using namespace tapedeck::app;

constexpr rlim_t most_memory = rlim_t{1} << 30;

SvgAnswer draw(const SvgRequest& request) {
  SvgAnswer answer;
  answer.clean = sanitizeSvg(request.svg, &answer.problem);
  if (answer.clean.isEmpty()) return answer;
  QSvgRenderer renderer;
  renderer.setFramesPerSecond(0);
  if (!renderer.load(answer.clean)) return {{}, {}, "it holds no picture that can be drawn"};
  renderer.setAspectRatioMode(Qt::KeepAspectRatio);
  answer.natural = renderer.defaultSize().boundedTo(QSize(largest_svg_side, largest_svg_side));
  if (answer.natural.isEmpty()) return {{}, {}, "it has no size"};
  const QSize shown = fittedSize(answer.natural, qMax(1, request.width));
  QSizeF wanted = QSizeF(shown) * request.ratio;
  const double share = std::sqrt(most_svg_pixels / std::max(1.0, wanted.width() * wanted.height()));
  const QSize pixels =
      (wanted * std::min(1.0, share)).toSize().boundedTo(QSize(largest_svg_side, largest_svg_side));
  answer.image = QImage(pixels.expandedTo(QSize(1, 1)), QImage::Format_ARGB32_Premultiplied);
  if (answer.image.isNull()) return {{}, {}, "it is too large"};
  answer.image.fill(Qt::transparent);
  QPainter painter(&answer.image);
  painter.setRenderHint(QPainter::Antialiasing);
  renderer.render(&painter, QRectF(QPointF(), QSizeF(answer.image.size())));
  return answer;
}

/// The sanitizers' own memory counts as data.
void bound_memory() {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  rlimit limit{};
  if (::getrlimit(RLIMIT_DATA, &limit) != 0) return;
  limit.rlim_cur = std::min(limit.rlim_max, most_memory);
  ::setrlimit(RLIMIT_DATA, &limit);
#endif
}

bool writeAll(const QByteArray& bytes) {
  for (qsizetype done = 0; done < bytes.size();) {
    const ssize_t written =
        ::write(STDOUT_FILENO, bytes.constData() + done, static_cast<std::size_t>(bytes.size() - done));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    done += written;
  }
  return true;
}

}  // namespace

int main(int count, char** texts) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);       // the window may end without a word, and a drawing take hours
  qputenv("QT_QPA_PLATFORM", "offscreen");  // for its fonts
  const QGuiApplication application(count, texts);
  bound_memory();
  if (!writeAll(framed(SvgAnswer{}))) return 1;  // it is ready
  QByteArray read, piece(1 << 16, '\0');
  while (true) {
    const ssize_t got = ::read(STDIN_FILENO, piece.data(), static_cast<std::size_t>(piece.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return 0;
    read.append(piece.constData(), got);
    SvgRequest request;
    bool ok = false;
    while (takeFramed(read, request, ok)) {
      if (!ok) return 1;
      if (!writeAll(framed(draw(request)))) return 1;
    }
  }
}
