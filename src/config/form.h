// The forms that a setting's text may have: how each is read, printed and explained.
//
// A form has three functions: `read` (false if the text is not of the form), `print` (text that
// `read` takes back) and `allowed` (what to tell the user). Pure values; any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "src/base/log.h"

namespace accl::form {

/// True if the two are equal but for the case of ASCII letters.
bool same_word(std::string_view a, std::string_view b);

/// 0 or 1.
struct Flag {
  bool read(std::string_view text, bool* value) const;
  std::string print(bool value) const { return value ? "1" : "0"; }
  std::string allowed() const { return "0 or 1"; }
};

/// Seconds, with decimals if wanted; kept in milliseconds.
struct Seconds {
  int64_t least_ms = 0;
  std::string_view zero_means{};  ///< empty: 0 is nothing special
  bool read(std::string_view text, int64_t* value_ms) const;
  std::string print(int64_t value_ms) const;
  std::string allowed() const;
};

/// Any text. What it means is checked where it is used.
struct Text {
  std::string_view what;
  bool read(std::string_view text, std::string* value) const {
    *value = text;
    return true;
  }
  std::string print(const std::string& value) const { return value; }
  std::string allowed() const { return std::string(what); }
};

/// A whole number.
struct Number {
  int64_t least = 0;
  int64_t most = 0;
  bool read(std::string_view text, int64_t* value) const;
  std::string print(int64_t value) const { return std::to_string(value); }
  std::string allowed() const;
};

/// Ports to listen on: "42000-42031", or one.
struct Ports {
  bool read(std::string_view text, std::pair<uint16_t, uint16_t>* value) const;
  std::string print(const std::pair<uint16_t, uint16_t>& value) const;
  std::string allowed() const { return "a port or a range of them, such as 42000-42031"; }
};

/// One of a few words, in any case.
template <class T, size_t kCount>
struct Word {
  std::array<std::pair<std::string_view, T>, kCount> words;

  bool read(std::string_view text, T* value) const {
    for (const auto& [word, meaning] : words) {
      if (!same_word(text, word)) continue;
      *value = meaning;
      return true;
    }
    return false;
  }
  std::string print(T value) const {
    for (const auto& [word, meaning] : words) {
      if (meaning == value) return std::string(word);
    }
    return "?";
  }
  std::string allowed() const {
    std::string text = "one of ";
    for (const auto& entry : words) {
      if (entry != words.front()) text += ", ";
      text += entry.first;
    }
    return text;
  }
};

/// A list of logger subsystems, "INIT,NET" or "^COLL".
struct Subsystems {
  bool read(std::string_view text, uint32_t* mask) const;
  std::string print(uint32_t mask) const { return subsystem_names(mask); }
  std::string allowed() const;
};

}  // namespace accl::form
