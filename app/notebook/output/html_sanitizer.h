// HTML of unknown origin, cut down to what may be shown.
#pragma once

#include <QString>

namespace tapedeck::app {

struct SanitizedHtml {
  QString html;
  bool visible = false;  ///< it has text or pictures
  bool scripts = false;  ///< scripts or embedded pages were left out
  int remotePictures = 0;
};

/// Keeps elements and attributes from a list: no scripts, no frames, no forms, no styles that name an
/// address, links to web addresses alone, pictures from data: alone. A picture from elsewhere becomes its
/// text.
SanitizedHtml sanitizeHtml(const QString& html);

}  // namespace tapedeck::app
