// Errors as values: `Status` for calls that return nothing else, `Result<T>` for the others.
//
// A Status is one pointer wide and null when all is well, so that the data path can return it at no
// cost. The text is written where the fact is known and is logged once, by the layer that stops
// propagating it. Values of these types may be moved between threads, not shared by them.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <variant>

namespace accl {

/// Class of an error. The numbers are those of ncclResult_t, so that the API boundary casts.
enum class Code : int {
  kOk = 0,
  kDevice = 1,
  kSystem = 2,
  kInternal = 3,
  kInvalidArgument = 4,
  kInvalidUsage = 5,
  kRemote = 6,
  kInProgress = 7,
};

struct Error {
  Code code;
  std::string text;
  bool logged = false;
};

/// OK, or an error with a text for people.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string text) : error_(new Error{code, std::move(text), false}) {}

  bool ok() const { return error_ == nullptr; }
  Code code() const { return error_ ? error_->code : Code::kOk; }
  /// The text; empty when ok.
  const std::string& text() const {
    static const std::string empty;
    return error_ ? error_->text : empty;
  }
  /// A second Status with the same contents (Status itself only moves).
  Status copy() const {
    Status same;
    if (error_) same.error_.reset(new Error(*error_));
    return same;
  }
  /// The log has the text already; nobody prints it a second time.
  bool logged() const { return error_ && error_->logged; }
  /// Says so. Ok stays ok.
  void set_logged() {
    if (error_) error_->logged = true;
  }

 private:
  std::unique_ptr<Error> error_;
};

inline Status invalid_argument(std::string text) {
  return {Code::kInvalidArgument, std::move(text)};
}
inline Status invalid_usage(std::string text) { return {Code::kInvalidUsage, std::move(text)}; }
inline Status system_error(std::string text) { return {Code::kSystem, std::move(text)}; }
inline Status remote_error(std::string text) { return {Code::kRemote, std::move(text)}; }
inline Status internal_error(std::string text) { return {Code::kInternal, std::move(text)}; }

/// A value, or the Status that says why there is none.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}       // NOLINT
  Result(Status error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT

  bool ok() const { return state_.index() == 0; }
  T& operator*() { return std::get<0>(state_); }
  const T& operator*() const { return std::get<0>(state_); }
  T* operator->() { return &std::get<0>(state_); }
  const T* operator->() const { return &std::get<0>(state_); }
  /// The error. Only when !ok().
  Status& status() { return std::get<1>(state_); }

 private:
  std::variant<T, Status> state_;
};

namespace detail {
inline Status take_error(Status& status) { return std::move(status); }
template <class T>
Status take_error(Result<T>& result) {
  return std::move(result.status());
}
inline void take_value(Status&) {}
template <class T>
T take_value(Result<T>& result) {
  return std::move(*result);
}
}  // namespace detail

}  // namespace accl

/// Evaluates to the value of a Result (or nothing, for a Status); on error returns it to the
/// caller.
#define ACCL_TRY(expression)                          \
  __extension__({                                     \
    auto try_result_ = (expression);                  \
    if (!try_result_.ok()) [[unlikely]]               \
      return ::accl::detail::take_error(try_result_); \
    ::accl::detail::take_value(try_result_);          \
  })
