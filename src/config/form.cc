#include "src/config/form.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <system_error>

namespace accl::form {

namespace {

// Accepts the whole text or nothing, unlike strtoll.
bool read_decimal(std::string_view text, int64_t* value) {
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, *value);
  return result.ec == std::errc() && result.ptr == end;
}

}  // namespace

bool same_word(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) ==
           std::tolower(static_cast<unsigned char>(y));
  });
}

bool Flag::read(std::string_view text, bool* value) const {
  if (text != "0" && text != "1") return false;
  *value = text == "1";
  return true;
}

bool Seconds::read(std::string_view text, int64_t* value_ms) const {
  const std::string_view whole = text.substr(0, text.find('.'));
  std::string_view fraction = text.substr(std::min(text.size(), whole.size() + 1));
  int64_t seconds = 0;
  if (whole.starts_with('-') || !read_decimal(whole, &seconds) || seconds > INT32_MAX) {
    return false;
  }
  int64_t milliseconds = 0;
  if (whole.size() < text.size()) {
    if (fraction.empty() || fraction.size() > 3 || fraction.front() == '-') return false;
    if (!read_decimal(fraction, &milliseconds)) return false;
    for (size_t digits = fraction.size(); digits < 3; digits++) milliseconds *= 10;
  }
  const int64_t total_ms = seconds * 1000 + milliseconds;
  if (total_ms < least_ms) return false;
  *value_ms = total_ms;
  return true;
}

std::string Seconds::print(int64_t value_ms) const {
  if (value_ms % 1000 == 0) return std::to_string(value_ms / 1000);
  std::string text = fmt::format("{}.{:03}", value_ms / 1000, value_ms % 1000);
  text.erase(text.find_last_not_of('0') + 1);
  return text;
}

std::string Seconds::allowed() const {
  std::string text = "seconds, such as 30 or 0.5";
  if (least_ms > 0) text += fmt::format(", at least {}", print(least_ms));
  if (!zero_means.empty()) text += fmt::format("; 0: {}", zero_means);
  return text;
}

bool Subsystems::read(std::string_view text, uint32_t* mask) const {
  std::string unknown;
  return subsystems_named(text, mask, &unknown);
}

std::string Subsystems::allowed() const {
  constexpr auto kFirst = static_cast<uint32_t>(Subsystem::kInit);  // so that it is not just "ALL"
  return "a list of " + subsystem_names(kFirst) + "," + subsystem_names(kAllSubsystems & ~kFirst) +
         ", or ALL; a leading ^ means all others";
}

bool Number::read(std::string_view text, int64_t* value) const {
  int64_t number = 0;
  if (!read_decimal(text, &number) || number < least || number > most) return false;
  *value = number;
  return true;
}

std::string Number::allowed() const {
  return "a whole number from " + std::to_string(least) + " to " + std::to_string(most);
}

bool Ports::read(std::string_view text, std::pair<uint16_t, uint16_t>* value) const {
  const size_t dash = text.find('-');
  const Number port{1, 65535};
  int64_t first = 0;
  if (!port.read(text.substr(0, dash), &first)) return false;
  int64_t last = first;
  if (dash != std::string_view::npos && !port.read(text.substr(dash + 1), &last)) return false;
  if (last < first) return false;
  *value = {static_cast<uint16_t>(first), static_cast<uint16_t>(last)};
  return true;
}

std::string Ports::print(const std::pair<uint16_t, uint16_t>& value) const {
  if (value.first == 0) return {};
  return std::to_string(value.first) + "-" + std::to_string(value.second);
}

}  // namespace accl::form
