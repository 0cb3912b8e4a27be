// Cells and outputs that once blocked the window for seconds or minutes: for tests and for the benchmark.
#pragma once

#include <vector>

#include "tests/notebook/sample_notebook.h"

namespace tapedeck::app {

struct HeavyContent {
  const char* name;
  nlohmann::json cell;
  const char* first;  ///< a word that is to be seen of it
  const char* told;   ///< part of the note on what is left out; empty: nothing is
};

inline std::string repeated(const std::string& text, int count) {
  std::string out;
  out.reserve(text.size() * static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) out += text;
  return out;
}

inline std::string numbered(const std::string& before, const std::string& after, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += before + std::to_string(i) + after;
  return out;
}

inline std::vector<HeavyContent> heavyContents() {
  const auto html = [](const std::string& text) {
    return codeCell("c", "show()", nlohmann::json::array({display({{"text/html", text}})}), 1);
  };
  const auto markdown = [](const std::string& text) { return markdownCell("m", text); };
  const std::string table =
      "<table>" + numbered("<tr><td>row", "</td><td>x</td><td>y</td></tr>", 20'000) + "</table>";
  std::string nested = "deep";
  for (int i = 0; i < 20; ++i) nested = "<table><tr><td>" + nested + "</td><td>side</td></tr></table>";
  const std::string links = numbered("[link", "]: http://host/page\n", 20'000);
  return {
      {"formulas_1000", markdown(repeated("$a$ ", 1000) + "end"), "end", ""},
      {"markdown_table_2000", markdown("| a | b |\n|---|---|\n" + numbered("| row", " | x |\n", 2000)),
       "row7", "The first 500 of 2,001 table rows"},
      {"html_tables_nested_20", html(nested), "deep", "Tables within tables"},
      {"colspan_30000",
       html("<table><tr><td colspan=30000>wide</td></tr><tr><td>a</td><td>b</td></tr></table>"), "wide", ""},
      {"html_divs_20000", html(numbered("<div>word", " ", 20'000)), "word7", "paragraphs"},
      {"paragraph_10mb", markdown(repeated("words of a paragraph ", 500'000)), "paragraph", "characters"},
      {"html_text_10mb", html(repeated("words of a paragraph ", 500'000)), "paragraph",
       "of 10,500,000 characters"},
      {"backticks_100000", markdown("begin " + repeated("`", 100'000)), "begin", "characters"},
      {"backtick_runs", markdown([] {
         std::string runs = "begin ";
         for (int i = 1; i < 450; ++i) runs += std::string(static_cast<std::size_t>(i), '`') + " ";
         return runs;
       }()),
       "begin", "characters"},
      {"link_definitions_20000", markdown(links + "\n[text][link7]"), "text", ""},
      {"links_20000", markdown(numbered("[word", "][link] ", 20'000) + "\n\n[link]: http://host/"), "word7",
       "characters"},
      {"html_table_20000", html(table), "row7", "The first 500 of 20,000 table rows"},
      {"html_columns_5000", html("<table><tr>" + numbered("<td>col", "", 5000) + "<tr><td>x</table>"), "col7",
       "The first 1 of 2 table rows"},
      {"quotes_5000_deep", markdown(repeated("> ", 5000) + "end"), "end", "nested"},
      {"unclosed_tags_30000", html("begin " + repeated("<a \"x", 30'000)), "begin", "characters"},
  };
}

}  // namespace tapedeck::app
