// Long lines in the editor: what is shown in place of their rests, and how they come in and go out.
#include <QMimeData>

#include "app/notebook/view/code_editor.h"

namespace tapedeck::app {

void CodeEditor::drawAs(const QString& character, const QString& name) {
  SendScintilla(SCI_SETREPRESENTATION, character.toUtf8().constData(), name.toUtf8().constData());
}

bool CodeEditor::cutsLines() const {
  return !longLines_.empty() && longLines_.cuts(text());
}

// Pasted or dropped.
QByteArray CodeEditor::fromMimeData(const QMimeData* data, bool& rectangular) const {
  const QByteArray bytes = QsciScintilla::fromMimeData(data, rectangular);
  if (bytes.size() <= longest_line && !bytes.contains("\xf4")) return bytes;
  return longLines_.fold(QString::fromUtf8(bytes)).toUtf8();
}

// Copied, cut or dragged.
QMimeData* CodeEditor::toMimeData(const QByteArray& text, bool rectangular) const {
  if (longLines_.empty()) return QsciScintilla::toMimeData(text, rectangular);
  return QsciScintilla::toMimeData(longLines_.whole(QString::fromUtf8(text)).toUtf8(), rectangular);
}

}  // namespace tapedeck::app
