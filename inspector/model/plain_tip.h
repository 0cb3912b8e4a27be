// Tooltips that show foreign text literally.
#pragma once

#include <QString>

namespace tapedeck::inspector {

/// `text` for a tool tip. Qt takes a tip that looks like HTML for HTML, and reads any local file that an
/// image in it names, also one without an end: names in files and traces, and a session's answers, are
/// untrusted. Text that could be taken for HTML is escaped, other text is unchanged. Don't apply it twice.
inline QString plainTip(const QString& text) {
  // As Qt::mightBeRichText and more, for models do without QtGui.
  if (!text.contains(QLatin1Char('<')) && !text.contains(QLatin1String("&lt;"))) return text;
  return QStringLiteral("<qt><p style=\"white-space: pre-wrap\">") +
         text.toHtmlEscaped().replace(QLatin1Char('\n'), QStringLiteral("<br>")) +
         QStringLiteral("</p></qt>");
}

}  // namespace tapedeck::inspector
