// The pages of the guide: Markdown that is part of the program.
#pragma once

#include <QList>
#include <QString>

namespace tapedeck::app {

struct GuidePage {
  QString file;   ///< "why.md", as links name it
  QString title;  ///< its first heading
  QString source;
};

/// In the order of index.md, which is the first.
const QList<GuidePage>& guidePages();

/// Number of the page in guidePages(); -1: there is none.
int guidePage(const QString& file);

/// What guideOfPanel() takes for the notebook, which is no panel.
inline const QString guide_of_notebook = QStringLiteral("notebook");

/// The part of the guide on a panel, by its descriptor's id: "why.md", "whole-runs.md#…"; index.md where it
/// has no part of its own.
QString guideOfPanel(const QString& panel);

/// As links name a heading, which is how code hosts make it from the heading's text: lower case, spaces as
/// "-", other signs dropped.
QString anchorOf(const QString& heading);

/// A part of a page that every word occurs in.
struct GuideHit {
  int page = 0;
  QString heading;  ///< the nearest one above; empty: it is before the second heading
  QString text;     ///< the paragraph, without Markdown's signs
};

/// Parts with a word in their heading come first. Words are parts of words, in any case of letters.
QList<GuideHit> searchGuide(const QString& words);

}  // namespace tapedeck::app
