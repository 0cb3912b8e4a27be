#include "app/shell/guide/guide_pages.h"

#include <QFile>
#include <QHash>
#include <QRegularExpression>
#include <algorithm>

namespace tapedeck::app {
namespace {

QString pageSource(const QString& file) {
  QFile page(":/guide/" + file);
  return page.open(QIODevice::ReadOnly) ? QString::fromUtf8(page.readAll()) : QString();
}

GuidePage readPage(const QString& file) {
  GuidePage page{file, file, pageSource(file)};
  static const QRegularExpression heading("^# (.+)$", QRegularExpression::MultilineOption);
  if (const auto match = heading.match(page.source); match.hasMatch())
    page.title = match.captured(1).trimmed();
  return page;
}

QList<GuidePage> readPages() {
  QList<GuidePage> pages{readPage("index.md")};
  static const QRegularExpression link(R"(\]\(([\w-]+\.md)\))");
  for (auto found = link.globalMatch(pages.first().source); found.hasNext();)
    pages << readPage(found.next().captured(1));
  return pages;
}

/// The visible text of a line of Markdown.
QString plainLine(QString line) {
  static const QRegularExpression link(R"(!?\[([^\]]*)\]\([^)]*\))"), signs(R"([*`]+)"),
      rule(R"(^\|[\s|:-]+\|$)");
  if (rule.match(line).hasMatch()) return {};
  line.replace(link, "\\1").remove(signs);
  if (line.startsWith('|')) line = line.mid(1, line.size() - 2).split('|').join(" – ");
  static const QRegularExpression item(R"(^(\d+\.|[-+])\s+)");
  return line.remove(item).simplified();
}

struct Part {
  QString heading, text;
};

/// Paragraphs, items and rows of tables, each with its heading.
QList<Part> partsOf(const GuidePage& page) {
  QList<Part> parts;
  QString heading, text;
  const auto end = [&] {
    if (!text.isEmpty()) parts << Part{heading, text};
    text.clear();
  };
  static const QRegularExpression begin(R"(^(\||[-+] |\d+\. ))");
  for (const QString& line : page.source.split('\n')) {
    if (line.startsWith('#')) {
      end();
      heading = line.startsWith("## ") ? plainLine(line.mid(3)) : QString();
      continue;
    }
    if (line.trimmed().isEmpty() || begin.match(line).hasMatch()) end();
    const QString plain = plainLine(line.trimmed());
    if (!plain.isEmpty()) text += (text.isEmpty() ? "" : " ") + plain;
  }
  end();
  return parts;
}

bool hasAll(const QString& text, const QStringList& words) {
  return std::all_of(words.begin(), words.end(),
                     [&](const QString& word) { return text.contains(word, Qt::CaseInsensitive); });
}

}  // namespace

const QList<GuidePage>& guidePages() {
  static const QList<GuidePage> pages = readPages();
  return pages;
}

int guidePage(const QString& file) {
  const auto& pages = guidePages();
  const auto at =
      std::find_if(pages.begin(), pages.end(), [&](const GuidePage& page) { return page.file == file; });
  return at == pages.end() ? -1 : static_cast<int>(at - pages.begin());
}

QString guideOfPanel(const QString& panel) {
  static const QHash<QString, QString> pages{
      {"ops", "stopping.md#conditions"},
      {"tape", "keys.md#navigating-the-tape"},
      {"tensor", "why.md#values-in-tensor"},
      {"breakpoints", "stopping.md#breakpoints"},
      {"vjp", "first-steps.md"},
      {"variables", "first-steps.md#values-of-the-past"},
      {"console", "first-steps.md#values-of-the-past"},
      {"why", "why.md"},
      {"what_if", "what-if.md"},
      {"time", "whole-runs.md#where-did-the-time-go-time-alt5"},
      {"memory", "whole-runs.md#where-did-the-memory-go-memory-alt6"},
      {"health", "whole-runs.md#how-does-the-training-do-health-alt7"},
      {"compare", "whole-runs.md#are-two-runs-alike-compare-alt8"},
      {"graph", "graph-functions.md"},
      {"plots", "first-steps.md#curves-histograms-and-images"},
      {"outline", "first-steps.md#the-notebook"},
      {guide_of_notebook, "first-steps.md#the-notebook"},
  };
  return pages.value(panel, "index.md");
}

QString anchorOf(const QString& heading) {
  QString anchor;
  for (const QChar letter : heading.toLower()) {
    if (letter.isLetterOrNumber() || letter == '-' || letter == '_') anchor += letter;
    if (letter == ' ') anchor += '-';
  }
  return anchor;
}

QList<GuideHit> searchGuide(const QString& text) {
  const QStringList words = text.split(' ', Qt::SkipEmptyParts);
  QList<GuideHit> headings, others;
  if (words.isEmpty()) return headings;
  for (int number = 0; number < guidePages().size(); ++number) {
    const GuidePage& page = guidePages()[number];
    QString first;  // of a heading that has all words one part is enough
    for (const Part& part : partsOf(page)) {
      const QString heading = page.title + ' ' + part.heading;
      if (!hasAll(heading + ' ' + part.text, words)) continue;
      const bool of_heading = hasAll(heading, words);
      if (of_heading && heading == first) continue;
      if (of_heading) first = heading;
      (of_heading ? headings : others) << GuideHit{number, part.heading, part.text};
    }
  }
  return headings + others;
}

}  // namespace tapedeck::app
