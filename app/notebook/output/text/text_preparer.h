// The thread that prepares texts which would block the window.
#pragma once

#include <QPointer>
#include <functional>

#include "app/notebook/output/rich_document.h"

namespace tapedeck::app {

/// One job at a time, the smallest first. The answer comes to the thread that asked, by its event loop.
class TextPreparer {
 public:
  using Answer = std::function<void(RichDocument)>;

  /// No answer comes once `context` is gone, or after cancel() with the number that is returned. A job that
  /// has begun is still finished: the bounds keep it short.
  static quint64 prepare(const RichText& text, const RichLook& look, const TextBounds& bounds,
                         QObject* context, Answer answer);
  static void cancel(quint64 job);
};

}  // namespace tapedeck::app
