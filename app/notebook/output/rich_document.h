// Turns Markdown and HTML into a document that is ready to be painted.
#pragma once

#include <QStringList>
#include <QTextDocument>
#include <QTextOption>
#include <QThread>
#include <memory>

#include "app/notebook/output/html/html_writer.h"
#include "app/notebook/output/notebook_theme.h"
#include "app/notebook/output/picture_source.h"
#include "inspector/ui/math/formula_setter.h"

namespace tapedeck::app {

struct RichText {
  enum class Kind { markdown, html };
  Kind kind = Kind::markdown;
  QString source;
  /// Shown instead of HTML that has nothing to see without its scripts.
  QString plain;
  PictureSource pictures;
  inspector::SetFormulas formulas = {};  ///< those of it that are set
  QStringList macros = {};               ///< formulas before the text that define macros
  bool ownLinks = false;                 ///< as HtmlCleaner has it: for the program's own pages alone
};

/// The last reference to a document may be dropped on another thread; its own thread's event loop deletes it.
struct DeleteLater {
  void operator()(QObject* object) const {
    object->thread() == QThread::currentThread() ? delete object : object->deleteLater();
  }
};

struct RichDocument {
  std::unique_ptr<QTextDocument, DeleteLater> document;
  bool cut = false;   ///< there is more than the bounds allow
  QStringList notes;  ///< what was left out, in sentences
  /// Formulas that are shown as their source until they are rendered.
  std::vector<inspector::FormulaSource> unset = {};
};

struct RichLook {
  NotebookTheme theme;
  int width = 0;
  QTextOption::WrapMode wrap = QTextOption::WordWrap;
};

/// Cleans, parses, styles and lays out. In any thread: the document shares nothing with others, and
/// belongs to the thread that calls.
RichDocument makeRichDocument(const RichText& text, const RichLook& look, const TextBounds& bounds);

/// Makes a document that was laid out ready for another thread; to be called by the one it belongs to.
void giveToThread(QTextDocument& document, QThread* thread);

/// Pictures as wide as they are, or as there is room.
void fitPictures(QTextDocument& document, int width);

/// Whether it is laid out within a frame.
bool isSmall(const QTextDocument& document);

/// HTML with something to see without scripts.
bool hasVisibleHtml(const QString& html, bool& scripts);

}  // namespace tapedeck::app
