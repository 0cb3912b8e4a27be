// Campaigns: checks that are repeated over many cases, of which a default run makes a sample.
//
//   Campaign files{"record_file_damage", "damaged files", 300, 1'500, "further random damage"};
//   auto random = files.random();
//   for (std::uint64_t i = 0; i < files.count(); ++i) …
//
// Two environment variables rule all campaigns, here and in tests/python/helpers/campaign.py:
//   TAPEDECK_LONG=1   runs all cases; TAPEDECK_LONG=10 makes ten times as many random ones
//   TAPEDECK_SEED=N   chooses the sample, and what is random in it; without it each process draws a seed
//
// A campaign prints its sizes and its seed before its first case, so that a crash leaves them in the log.
// tests/README.md lists all campaigns; tests/scripts/test_campaigns.py compares it with their declarations.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace tapedeck {

class Campaign {
 public:
  /// `sample` and `all` count the cases of a default run and of a whole one; `cases` names them in the
  /// plural; `left_out` says what the sample does without.
  Campaign(const char* name, const char* cases, std::uint64_t sample, std::uint64_t all, const char* left_out)
      : name_(name), sample_(sample), all_(all), times_(from_environment("TAPEDECK_LONG", 0)) {
    std::printf("%s\n", sentence(cases, left_out).c_str());
    std::fflush(stdout);
  }

  bool is_whole() const { return times_ > 0; }
  /// How many random cases to make.
  std::uint64_t count() const { return is_whole() ? all_ * times_ : sample_; }

  /// The same for all campaigns of the process.
  static std::uint64_t seed() {
    static const std::uint64_t fresh = std::random_device()() % 1'000'000;
    return from_environment("TAPEDECK_SEED", fresh);
  }
  /// A generator that depends on the seed, the campaign's name and `stream`.
  template <class Generator = std::mt19937>
  Generator random(std::uint32_t stream = 0) const {
    std::seed_seq from{static_cast<std::uint32_t>(seed()), static_cast<std::uint32_t>(seed() >> 32),
                       hash_of_name(), stream};
    return Generator(from);
  }

  /// Of a list of `all` cases the next `sample`, in the list's order; the whole list in a whole run. As cards
  /// are dealt: no case comes a second time before each has come once.
  template <class List>
  auto some(const List& list) {
    using std::begin, std::size;
    if (size(list) != all_)
      throw std::logic_error(name_ + ": the list has " + std::to_string(size(list)) + " cases, not " +
                             std::to_string(all_));
    std::vector<std::decay_t<decltype(*begin(list))>> taken;
    for (const std::size_t place : next_places())
      taken.push_back(*std::next(begin(list), static_cast<std::ptrdiff_t>(place)));
    return taken;
  }
  template <class T>
  std::vector<T> some(std::initializer_list<T> list) {
    return some<std::initializer_list<T>>(list);
  }

 private:
  static std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
    const char* const text = std::getenv(name);
    return text && *text ? std::strtoull(text, nullptr, 10) : otherwise;
  }

  /// FNV-1a: std::hash may differ between libraries.
  std::uint32_t hash_of_name() const {
    std::uint32_t hash = 2166136261U;
    for (const char letter : name_) hash = (hash ^ static_cast<unsigned char>(letter)) * 16777619U;
    return hash;
  }

  std::string sentence(const char* cases, const char* left_out) const {
    const std::string again = "TAPEDECK_SEED=" + std::to_string(seed()) + " runs these again";
    if (is_whole()) return name_ + ": all " + grouped(count()) + " " + cases + " (" + again + ")";
    return name_ + ": " + grouped(sample_) + " of " + grouped(all_) + " " + cases +
           "; left out: " + left_out + " (" + again + ", TAPEDECK_LONG=1 all)";
  }
  /// "10,000"
  static std::string grouped(std::uint64_t number) {
    std::string digits = std::to_string(number);
    for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
    return digits;
  }

  std::vector<std::size_t> next_places() {
    std::vector<std::size_t> places(all_);
    std::iota(places.begin(), places.end(), std::size_t{0});
    if (is_whole() || sample_ >= all_) return places;
    std::vector<std::size_t> hand;
    while (hand.size() < sample_) {
      if (deck_.empty()) {
        // What is in the hand goes to the bottom: it has just been dealt.
        deck_ = hand;
        std::copy_if(places.begin(), places.end(), std::back_inserter(deck_), [&](std::size_t place) {
          return std::find(hand.begin(), hand.end(), place) == hand.end();
        });
        auto generator = random<>(++decks_);
        std::shuffle(deck_.begin() + std::ssize(hand), deck_.end(), generator);
      }
      hand.push_back(deck_.back());
      deck_.pop_back();
    }
    std::sort(hand.begin(), hand.end());
    return hand;
  }

  std::string name_;
  std::uint64_t sample_, all_, times_;
  std::vector<std::size_t> deck_;  ///< places that are still to be dealt
  std::uint32_t decks_ = 0;
};

}  // namespace tapedeck
