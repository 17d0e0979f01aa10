// SPDX-License-Identifier: Apache-2.0
#include "cli/context.h"

#include <google/protobuf/util/json_util.h>

namespace lossless::cli {
namespace {

bool wants_color(const Environment& env, const GlobalOptions& options) {
  if (options.json || options.color == "never") return false;
  if (options.color == "always") return true;
  // https://no-color.org: any value that isn't empty switches colour off.
  const auto no_color = env.variable("NO_COLOR");
  if (no_color && !no_color->empty()) return false;
  return env.out_is_terminal && env.variable("TERM").value_or("dumb") != "dumb";
}

}  // namespace

std::string to_json(const google::protobuf::Message& message, bool compact) {
  google::protobuf::util::JsonPrintOptions print;
  print.preserve_proto_field_names = true;
  print.always_print_primitive_fields = true;
  print.add_whitespace = !compact;
  std::string out;
  const auto status = google::protobuf::util::MessageToJsonString(message, &out, print);
  if (!status.ok()) out = "{}";  // only a message with broken UTF-8 gets here
  if (out.empty() || out.back() != '\n') out += '\n';
  return out;
}

Context::Context(Environment& env, GlobalOptions options)
    : env_(env),
      options_(std::move(options)),
      style_{.color = wants_color(env, options_), .columns = env.out_is_terminal ? env.out_columns : 0},
      target_{.instance = options_.instance,
              .socket = options_.socket.empty() ? env.run_dir + "/" + options_.instance + "/api.sock"
                                                : options_.socket,
              .run_dir = env.run_dir,
              .timeout = std::chrono::milliseconds(static_cast<long>(options_.timeout_s * 1000))} {}

}  // namespace lossless::cli
