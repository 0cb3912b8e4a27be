// HTML of unknown origin, reduced to what is safe to show.
#pragma once

#include <QImage>
#include <QSet>
#include <QUrl>
#include <functional>

#include "app/notebook/output/html/html_tokens.h"
#include "app/notebook/output/html/html_writer.h"
#include "app/notebook/output/picture_source.h"

namespace tapedeck::app {

/// Of a link that leads somewhere, in characters.
constexpr qsizetype longest_address = 2'048;

/// Writes into an HtmlWriter: elements and attributes from a list; no scripts, no frames, no forms, no styles
/// that name an address, links to web addresses alone, pictures that the source has alone. Of everything else
/// the text stays; a picture that can't be shown becomes its description. Pictures are decoded as long as all
/// of them together have no more than the bounds' pixels; in place of others there is a link that asks for
/// it.
class HtmlCleaner {
 public:
  HtmlCleaner(HtmlWriter& writer, const PictureSource& pictures);

  /// Texts of the HTML go here instead of to the writer; entities are not resolved.
  std::function<void(QStringView)> onText;
  /// HTML comes in pieces: whether the end of this element may still come.
  std::function<bool(const QString&)> endFollows;
  /// Called on attributes' values before they are checked.
  std::function<QString(const QString&)> onAttribute;
  /// The text is the program's own: links to pages of the guide (why.md#heading, #heading), to commands
  /// (command:ID) and to samples (sample:FILE) stay.
  bool ownLinks = false;

  void html(QStringView html);
  /// `source` and `description` are plain text; sizes: 0 where none is wanted.
  void picture(const QString& source, const QString& description, int width = 0, int height = 0);
  void link(const QString& address);  ///< opens an <a>
  /// Inside an element whose text is hidden: for good, or until the user unfolds it.
  bool hides() const { return !hidden_.isEmpty() || folded_ > 0; }
  /// A picture is in what is folded: it keeps its place.
  void passPicture() { ++asked_; }

  bool scripts() const { return scripts_; }  ///< scripts or embedded pages were left out
  int pictureCount() const { return static_cast<int>(shown_.size()); }
  /// By the names that they have in the HTML.
  const QHash<QString, QImage>& shownPictures() const { return shown_; }

 private:
  void tag(HtmlTokens& tokens, const HtmlTag& tag);
  void passTag(HtmlTokens& tokens, const HtmlTag& tag);
  void openFold(HtmlTokens& tokens, const HtmlTag& tag);
  void closeFold();
  void beginSummary();
  void endSummary();
  void openDivision(const HtmlTag& tag);
  void closeDivision();
  void replaced(HtmlTokens& tokens, const HtmlTag& tag);
  void form(const HtmlTag& tag);
  QString attributes(const HtmlTag& tag) const;
  QString attribute(const HtmlTag& tag, const char* name) const;
  void note(const QString& text);
  void offer(int number, QSize size, const QString& description);
  void show(const QString& name, const QString& description, int width, int height);

  HtmlWriter& writer_;
  const PictureSource& pictures_;
  QHash<QString, QImage> shown_;
  QSet<QString> failed_;
  int asked_ = 0;      ///< pictures seen so far
  int read_ = 0;       ///< those of them whose bytes were read
  qint64 bytes_ = 0;   ///< that were read
  qint64 pixels_ = 0;  ///< of those that are shown, but for wanted ones
  QString hidden_;     ///< the element whose end is awaited
  int folded_ = 0;     ///< <details> that are open in the HTML from the outermost closed one on
  int folds_ = 0;      ///< <details> seen so far
  struct Fold {
    int number;
    bool open;
    enum class Summary { awaited, inside, done } summary = Summary::awaited;
  };
  enum class Division { plain, alert, fold };
  std::vector<Fold> openFolds_;
  std::vector<Division> divisions_;  ///< whose end is awaited
  bool scripts_ = false;
};

/// The link in place of a picture: which one it asks for; -1: it is another link.
int wantedPicture(const QUrl& link);
/// The address that a page of the guide names, with a scheme that foreign text can't have.
QString ownLinkAddress(const QUrl& link);  ///< empty: it is another link
/// The link of a <summary>: which <details> it folds or unfolds; -1: it is another link.
int wantedFold(const QUrl& link);

struct SanitizedHtml {
  QString html;
  bool visible = false;  ///< it has text or pictures
  bool scripts = false;
};

/// Without pictures but those in data: addresses.
SanitizedHtml sanitizeHtml(const QString& html);

}  // namespace tapedeck::app
