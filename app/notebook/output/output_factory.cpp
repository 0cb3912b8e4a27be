#include "app/notebook/output/output_factory.h"

#include "app/notebook/document/json_text.h"
#include "app/notebook/document/nbformat.h"
#include "app/notebook/output/html/maths.h"
#include "app/notebook/output/image_output.h"
#include "app/notebook/output/rich_output.h"
#include "app/notebook/output/text/text_output.h"

namespace tapedeck::app {
namespace {

using nlohmann::ordered_json;

constexpr int largest_side = ImageOutput::largest_side;

QString toText(const ordered_json& value) {
  return QString::fromStdString(joinedText(value));
}

Block* plainText(const std::string& text, const NotebookTheme& theme, QWidget* parent) {
  auto* block = new TextOutput(TextOutput::Kind::plain, theme, parent);
  block->setText(text);
  return block;
}

Block* note(const QString& sentence, const NotebookTheme& theme, QWidget* parent) {
  auto* block = new RichOutput(theme, parent);
  block->setNote(sentence);
  return block;
}

int pixels(const ordered_json& metadata, const char* name) {
  const auto found = metadata.find(name);
  if (found == metadata.end()) return 0;
  double value = 0;
  if (found->is_number()) value = found->get<double>();
  if (found->is_string()) value = QString::fromStdString(found->get<std::string>()).toDouble();
  return value >= 1 && value <= largest_side ? static_cast<int>(value) : 0;
}

/// The size that the output's metadata asks for ("image/png": {"width": …, "height": …}); no side is longer
/// than a picture's own may be: of a narrow one the other side would take gigabytes to paint.
QSize wantedSize(const ordered_json& output, const std::string& mime, QSize own) {
  const auto metadata = output.find("metadata");
  if (metadata == output.end() || !metadata->is_object()) return {};
  const auto entry = metadata->find(mime);
  if (entry == metadata->end() || !entry->is_object() || own.isEmpty()) return {};
  const int width = pixels(*entry, "width");
  const int height = pixels(*entry, "height");
  if (width > 0 && height > 0) return {width, height};
  const auto inProportion = [](int side, int ownSide, int otherOwnSide) {
    return static_cast<int>(
        std::clamp(qint64{side} * otherOwnSide / ownSide, qint64{1}, qint64{largest_side}));
  };
  if (width > 0) return {width, inProportion(width, own.width(), own.height())};
  if (height > 0) return {inProportion(height, own.height(), own.width()), height};
  return {};
}

Block* bitmap(const ordered_json& output, const std::string& mime, const ordered_json& data,
              const NotebookTheme& theme, QWidget* parent) {
  auto* block = new ImageOutput(theme, parent);
  block->setBitmap(QByteArray::fromStdString(joinedText(data)));
  const QSize size = wantedSize(output, mime, block->naturalSize());
  if (!size.isEmpty()) block->setNaturalSize(size);
  return block;
}

Block* html(const QString& text, const ordered_json& bundle, const NotebookTheme& theme, QWidget* parent) {
  const bool has_plain = bundle.contains("text/plain");
  // Longer HTML is checked in a thread, which returns its plain text where it has nothing to show.
  constexpr qsizetype looked_at_once = 20'000;
  if (bool scripts = false; text.size() <= looked_at_once && !hasVisibleHtml(text, scripts)) {
    // Drawn by its script alone: the plain text says more than an empty box.
    if (has_plain) return plainText(joinedText(bundle["text/plain"]), theme, parent);
    return note(
        scripts ? "This output is drawn by a script; scripts are not run." : "This HTML output is empty.",
        theme, parent);
  }
  auto* block = new RichOutput(theme, parent);
  const QString plain = has_plain ? toText(bundle["text/plain"])
                                  : "This HTML output has nothing that can be shown without its scripts.";
  block->setText({RichText::Kind::html, text, plain, {}});
  return block;
}

/// As MathJax shows it: text with formulas between their marks; without marks all of it is one formula.
Block* latex(const QString& source, const NotebookTheme& theme, QWidget* parent) {
  auto* block = new RichOutput(theme, parent);
  std::vector<Formula> formulas;
  extractHtmlFormulas(source, formulas);
  const QString marked = formulas.empty() ? "$$" + source + "$$" : source;
  block->setText({RichText::Kind::html, "<p>" + marked.toHtmlEscaped() + "</p>", source, {}});
  return block;
}

Block* makeBundleBlock(const ordered_json& output, const NotebookTheme& theme, QWidget* parent) {
  static const ordered_json nothing = ordered_json::object();
  const auto found = output.find("data");
  const ordered_json& bundle = found != output.end() && found->is_object() ? *found : nothing;
  if (bundle.contains("text/html")) return html(toText(bundle["text/html"]), bundle, theme, parent);
  if (bundle.contains("text/markdown")) {
    auto* block = new RichOutput(theme, parent);
    block->setMarkdown(toText(bundle["text/markdown"]));
    return block;
  }
  if (bundle.contains("text/latex")) return latex(toText(bundle["text/latex"]).trimmed(), theme, parent);
  if (bundle.contains("image/svg+xml")) {
    auto* block = new ImageOutput(theme, parent);
    block->setSvg(QByteArray::fromStdString(joinedText(bundle["image/svg+xml"])));
    return block;
  }
  for (const char* mime : {"image/png", "image/jpeg", "image/gif", "image/bmp"}) {
    if (bundle.contains(mime)) return bitmap(output, mime, bundle[mime], theme, parent);
  }
  if (bundle.contains("application/json")) {
    std::string text;
    writeJson(bundle["application/json"], 0, {}, text);
    return plainText(text, theme, parent);
  }
  if (bundle.contains("text/plain")) return plainText(joinedText(bundle["text/plain"]), theme, parent);
  QStringList types;
  for (const auto& [mime, value] : bundle.items()) types += QString::fromStdString(mime);
  if (types.isEmpty()) return note("This output is empty.", theme, parent);
  return note(QString("This output can't be shown here. Its type is %1.").arg(types.join(", ")), theme,
              parent);
}

}  // namespace

std::string streamText(const ordered_json& output) {
  return output.contains("text") ? joinedText(output["text"]) : std::string();
}

std::string tracebackText(const ordered_json& output) {
  std::string text;
  if (output.contains("traceback") && output["traceback"].is_array()) {
    for (const ordered_json& line : output["traceback"]) {
      if (!line.is_string()) continue;
      if (!text.empty()) text += '\n';
      text += line.get_ref<const std::string&>();
    }
  }
  if (!text.empty()) return text;
  const auto part = [&](const char* name) {
    return output.contains(name) ? joinedText(output[name]) : std::string();
  };
  return part("ename") + ": " + part("evalue");
}

Block* makeOutputBlock(const ordered_json& output, const NotebookTheme& theme, QWidget* parent) {
  const std::string type = output.is_object() ? output.value("output_type", "") : "";
  if (type == "stream") {
    const bool error = output.contains("name") && output["name"] == "stderr";
    auto* block =
        new TextOutput(error ? TextOutput::Kind::standardError : TextOutput::Kind::plain, theme, parent);
    block->setText(streamText(output));
    return block;
  }
  if (type == "error") {
    auto* block = new TextOutput(TextOutput::Kind::traceback, theme, parent);
    block->setText(tracebackText(output));
    return block;
  }
  if (type == "execute_result" || type == "display_data") return makeBundleBlock(output, theme, parent);
  return note(QString("An output of the unknown kind “%1” is kept in the file and not shown.")
                  .arg(QString::fromStdString(type)),
              theme, parent);
}

}  // namespace tapedeck::app
