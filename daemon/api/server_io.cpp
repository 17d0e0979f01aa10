// SPDX-License-Identifier: Apache-2.0
#include "daemon/api/server_io.h"

#include <grp.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <lossless.grpc.pb.h>
#include <pwd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <filesystem>
#include <optional>
#include <vector>

#include "daemon/api/on_loop.h"
#include "loader/fd.h"

namespace lossless::api {
namespace {

constexpr auto kGrace = std::chrono::seconds(2);
constexpr int kMaxMessageBytes = 16 << 20;

struct Owner {
  uid_t uid = 0;
  gid_t gid = 0;
};

std::optional<unsigned> as_number(const std::string& text) {
  unsigned value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || rest != text.data() + text.size()) return std::nullopt;
  return value;
}

// A name of the user database, or a number.
Result<Owner> find_owner(const ApiConfig& config) {
  std::vector<char> buffer(16384);
  Owner owner;
  passwd user{};
  passwd* found_user = nullptr;
  getpwnam_r(config.owner.c_str(), &user, buffer.data(), buffer.size(), &found_user);
  const auto uid = found_user ? std::optional(user.pw_uid) : as_number(config.owner);
  if (!uid) return fail("api.owner \"" + config.owner + "\": no such user");
  owner.uid = *uid;
  group entry{};
  group* found_group = nullptr;
  getgrnam_r(config.group.c_str(), &entry, buffer.data(), buffer.size(), &found_group);
  const auto gid = found_group ? std::optional(entry.gr_gid) : as_number(config.group);
  if (!gid) return fail("api.group \"" + config.group + "\": no such group");
  owner.gid = *gid;
  return owner;
}

// gRPC says little about why it cannot listen, so the same steps are tried on a neighbouring name first.
Status try_socket(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  if (error) return fail("cannot create the folder of socket " + path + ": " + error.message());
  struct stat st{};
  if (lstat(path.c_str(), &st) == 0 && !S_ISSOCK(st.st_mode))
    return fail("cannot listen on " + path + ": something that is no socket is in its place");
  const std::string probe = path + "~";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (probe.size() >= sizeof address.sun_path) return {};  // gRPC will tell
  probe.copy(address.sun_path, probe.size());
  const Fd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd) return fail_errno("cannot open a socket", errno);
  unlink(probe.c_str());
  const int bound = bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address);
  const int reason = errno;
  unlink(probe.c_str());
  if (bound) return fail_errno("cannot create socket " + path, reason);
  return {};
}

}  // namespace

struct Server::Service final : v1::Lossless::CallbackService {
  Service(asio::io_context& event_loop, Context& call_context) : loop(event_loop), context(call_context) {}

  template <class Request, class Reply>
  grpc::ServerUnaryReactor* run(grpc::CallbackServerContext* call, const Request* request, Reply* reply,
                                grpc::Status (*function)(const Context&, const Request&, Reply&)) {
    return answer_on_loop(call, loop,
                          [this, request, reply, function] { return function(context, *request, *reply); });
  }

  grpc::ServerUnaryReactor* GetVersion(grpc::CallbackServerContext* call,
                                       const v1::GetVersionRequest* request,
                                       v1::GetVersionReply* reply) override {
    return run(call, request, reply, get_version);
  }
  grpc::ServerUnaryReactor* ListPorts(grpc::CallbackServerContext* call, const v1::ListPortsRequest* request,
                                      v1::ListPortsReply* reply) override {
    return run(call, request, reply, list_ports);
  }
  grpc::ServerUnaryReactor* ListQueues(grpc::CallbackServerContext* call,
                                       const v1::ListQueuesRequest* request,
                                       v1::ListQueuesReply* reply) override {
    return run(call, request, reply, list_queues);
  }
  grpc::ServerUnaryReactor* ListEcn(grpc::CallbackServerContext* call, const v1::ListEcnRequest* request,
                                    v1::ListEcnReply* reply) override {
    return run(call, request, reply, list_ecn);
  }
  grpc::ServerUnaryReactor* ListPfc(grpc::CallbackServerContext* call, const v1::ListPfcRequest* request,
                                    v1::ListPfcReply* reply) override {
    return run(call, request, reply, list_pfc);
  }
  grpc::ServerUnaryReactor* ListHookFlows(grpc::CallbackServerContext* call,
                                          const v1::ListHookFlowsRequest* request,
                                          v1::ListHookFlowsReply* reply) override {
    return run(call, request, reply, list_hook_flows);
  }
  grpc::ServerUnaryReactor* ListPfcWatchdogs(grpc::CallbackServerContext* call,
                                             const v1::ListPfcWatchdogsRequest* request,
                                             v1::ListPfcWatchdogsReply* reply) override {
    return run(call, request, reply, list_pfc_watchdogs);
  }
  grpc::ServerUnaryReactor* RecoverPfc(grpc::CallbackServerContext* call,
                                       const v1::RecoverPfcRequest* request,
                                       v1::RecoverPfcReply* reply) override {
    return run(call, request, reply, recover_pfc);
  }
  grpc::ServerUnaryReactor* SetPfcEscape(grpc::CallbackServerContext* call,
                                         const v1::SetPfcEscapeRequest* request,
                                         v1::SetPfcEscapeReply* reply) override {
    return run(call, request, reply, set_pfc_escape);
  }
  grpc::ServerUnaryReactor* ListBuffer(grpc::CallbackServerContext* call,
                                       const v1::ListBufferRequest* request,
                                       v1::ListBufferReply* reply) override {
    return run(call, request, reply, list_buffer);
  }
  grpc::ServerUnaryReactor* ClearWatermark(grpc::CallbackServerContext* call,
                                           const v1::ClearWatermarkRequest* request,
                                           v1::ClearWatermarkReply* reply) override {
    return run(call, request, reply, clear_watermark);
  }
  grpc::ServerUnaryReactor* ListPacketDrops(grpc::CallbackServerContext* call,
                                            const v1::ListPacketDropsRequest* request,
                                            v1::ListPacketDropsReply* reply) override {
    return run(call, request, reply, list_packet_drops);
  }
  grpc::ServerUnaryReactor* ListPriorityMaps(grpc::CallbackServerContext* call,
                                             const v1::ListPriorityMapsRequest* request,
                                             v1::ListPriorityMapsReply* reply) override {
    return run(call, request, reply, list_priority_maps);
  }
  grpc::ServerUnaryReactor* GetCapabilities(grpc::CallbackServerContext* call,
                                            const v1::GetCapabilitiesRequest* request,
                                            v1::GetCapabilitiesReply* reply) override {
    return run(call, request, reply, get_capabilities);
  }
  grpc::ServerUnaryReactor* SetEcn(grpc::CallbackServerContext* call, const v1::SetEcnRequest* request,
                                   v1::SetEcnReply* reply) override {
    return run(call, request, reply, set_ecn);
  }
  grpc::ServerUnaryReactor* DiffConfig(grpc::CallbackServerContext* call,
                                       const v1::DiffConfigRequest* request,
                                       v1::DiffConfigReply* reply) override {
    return run(call, request, reply, diff_config);
  }
  grpc::ServerUnaryReactor* Reload(grpc::CallbackServerContext* call, const v1::ReloadRequest* request,
                                   v1::ReloadReply* reply) override {
    return run(call, request, reply, reload);
  }
  grpc::ServerUnaryReactor* Detach(grpc::CallbackServerContext* call, const v1::DetachRequest* request,
                                   v1::DetachReply* reply) override {
    return run(call, request, reply, detach);
  }

  asio::io_context& loop;
  Context& context;
};

Server::Server(std::unique_ptr<Service> service, Services more, std::unique_ptr<grpc::Server> server,
               std::string socket)
    : service_(std::move(service)),
      more_(std::move(more)),
      server_(std::move(server)),
      socket_(std::move(socket)) {}
Server::Server(Server&&) noexcept = default;
Server& Server::operator=(Server&&) noexcept = default;
Server::~Server() = default;

Result<Server> Server::listen(const ApiConfig& config, asio::io_context& loop, Context& context,
                              Services more) {
  const auto owner = find_owner(config);
  if (!owner) return std::unexpected(owner.error());
  if (auto possible = try_socket(config.socket); !possible) return std::unexpected(possible.error());

  auto service = std::make_unique<Service>(loop, context);
  static const bool reflection = [] {
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
    return true;
  }();
  (void)reflection;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("unix:" + config.socket, grpc::InsecureServerCredentials());
  builder.RegisterService(service.get());
  for (const auto& other : more) builder.RegisterService(other.get());
  builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
  // Nobody may connect before owner and mode are right.
  const mode_t before = umask(0777);
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  umask(before);
  if (!server) return fail("cannot listen on " + config.socket);
  if (chown(config.socket.c_str(), owner->uid, owner->gid) || chmod(config.socket.c_str(), config.mode))
    return fail_errno("cannot set owner and mode of " + config.socket, errno);
  return Server(std::move(service), std::move(more), std::move(server), config.socket);
}

void Server::shutdown() {
  server_->Shutdown(std::chrono::system_clock::now() + kGrace);
  server_->Wait();
  unlink(socket_.c_str());
}

}  // namespace lossless::api
