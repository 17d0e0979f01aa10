// SPDX-License-Identifier: Apache-2.0
// A server of the API with made-up state on a unix socket in a folder of its own, and losslessctl run
// against it in this process.
#pragma once

#include <grpcpp/grpcpp.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "cli/app.h"
#include "lossless.grpc.pb.h"
#include "tests/unit/temporary_folder.h"

namespace lossless::cli {

// Answers like losslessd for ports eth0 (attached) and eth1 (refused); remembers what was asked.
class FakeService final : public v1::Lossless::Service {
 public:
  using Context = grpc::ServerContext;

  grpc::Status GetVersion(Context*, const v1::GetVersionRequest*, v1::GetVersionReply* reply) override {
    reply->set_version("0.1.0");
    reply->set_abi(1);
    reply->set_instance("default");
    reply->set_kernel("6.12.0");
    reply->set_config_file("/etc/lossless/lossless.toml");
    reply->set_uptime_ms(93'784'000);
    reply->set_adopted(true);
    reply->set_pid(4242);
    return grpc::Status::OK;
  }

  grpc::Status ListPorts(Context*, const v1::ListPortsRequest* request, v1::ListPortsReply* reply) override {
    if (!known(request->port())) return no_port(request->port());
    if (request->port() != "eth1") {
      auto* port = reply->add_ports();
      port->set_name("eth0");
      port->set_ifindex(2);
      port->set_state(v1::Port::ATTACHED);
      port->set_link_up(true);
      port->set_rate_bps(100'000'000);
      port->set_trust("dscp");
      port->set_mtu(1500);
      port->set_driver("veth");
      port->set_xdp("native");
      port->set_untrusted(1'234'567);
      port->set_bad_ip_short(2);
      port->set_bad_remark(1);
    }
    if (request->port() != "eth0") {
      auto* port = reply->add_ports();
      port->set_name("eth1");
      port->set_ifindex(3);
      port->set_state(v1::Port::REFUSED);
      port->set_reason("a foreign root qdisc (fq_codel 8001:) is in place");
      port->set_trust("dot1p");
    }
    return grpc::Status::OK;
  }

  grpc::Status ListQueues(Context*, const v1::ListQueuesRequest* request,
                          v1::ListQueuesReply* reply) override {
    if (!known(request->port())) return no_port(request->port());
    ++queue_polls;
    auto* idle = reply->add_queues();
    idle->set_port("eth0");
    idle->set_schedule("strict");
    idle->set_limit_bytes(100'000);
    auto* busy = reply->add_queues();
    busy->set_port("eth0");
    busy->set_tc(3);
    busy->set_lossless(true);
    busy->set_schedule("wrr");
    busy->set_group(1);
    busy->set_weight(40);
    busy->set_limit_bytes(1'000'000);
    busy->set_backlog_bytes(250'000);
    busy->set_backlog_packets(250);
    busy->set_sent_packets(1'000 * queue_polls);
    busy->set_sent_bytes(1'250'000 * queue_polls);
    busy->set_dropped_packets(7);
    return grpc::Status::OK;
  }

  grpc::Status ListEcn(Context*, const v1::ListEcnRequest* request, v1::ListEcnReply* reply) override {
    if (!known(request->port())) return no_port(request->port());
    *reply->add_queues() = ecn_row();
    return grpc::Status::OK;
  }

  grpc::Status ListPriorityMaps(Context*, const v1::ListPriorityMapsRequest* request,
                                v1::ListPriorityMapsReply* reply) override {
    if (!known(request->port())) return no_port(request->port());
    for (const char* name : {"eth0", "eth1"}) {
      auto* map = reply->add_maps();
      map->set_port(name);
      map->set_trust("dscp");
      for (unsigned p = 0; p < 8; ++p) map->add_dot1p_tc(p);
      for (unsigned d = 0; d < 64; ++d) {
        map->add_dscp_dot1p(d == 26 ? 5 : d / 8);
        map->add_dscp_dscp(d == 10 ? 26 : d);
      }
    }
    return grpc::Status::OK;
  }

  grpc::Status GetCapabilities(Context*, const v1::GetCapabilitiesRequest*,
                               v1::GetCapabilitiesReply* reply) override {
    auto* tcx = reply->add_kernel();
    tcx->set_name("tcx");
    tcx->set_available(true);
    auto* port = reply->add_ports();
    port->set_port("eth0");
    auto* dcb = port->add_capabilities();
    dcb->set_name("dcb");
    dcb->set_detail("the driver veth has no DCB");
    return grpc::Status::OK;
  }

  grpc::Status SetEcn(Context*, const v1::SetEcnRequest* request, v1::SetEcnReply* reply) override {
    if (!known(request->port())) return no_port(request->port());
    if (request->has_kmin_bytes() && request->kmin_bytes() >= 400'000) {
      return {grpc::StatusCode::INVALID_ARGUMENT, "kmin 500KB is not below kmax 400KB"};
    }
    last_set = *request;
    *reply->mutable_ecn() = ecn_row();
    return grpc::Status::OK;
  }

  grpc::Status DiffConfig(Context*, const v1::DiffConfigRequest*, v1::DiffConfigReply* reply) override {
    for (const auto& change : changes) *reply->add_changes() = change;
    return grpc::Status::OK;
  }

  grpc::Status Reload(Context*, const v1::ReloadRequest*, v1::ReloadReply* reply) override {
    if (bad_file)
      return {grpc::StatusCode::FAILED_PRECONDITION, "x.toml:3:1: unknown key 'prots'; did you mean 'port'?"};
    for (const auto& change : changes) *reply->add_changes() = change;
    return grpc::Status::OK;
  }

  grpc::Status Detach(Context*, const v1::DetachRequest* request, v1::DetachReply* reply) override {
    last_detach = *request;
    for (const auto& port : request->ports()) {
      if (!known(port)) return no_port(port);
      reply->add_detached(port);
    }
    if (request->all()) reply->add_detached("eth0");
    return grpc::Status::OK;
  }

  std::uint64_t queue_polls = 0;
  std::vector<v1::ConfigChange> changes;
  bool bad_file = false;
  std::optional<v1::SetEcnRequest> last_set;
  std::optional<v1::DetachRequest> last_detach;

 private:
  static bool known(const std::string& port) { return port.empty() || port == "eth0" || port == "eth1"; }
  static grpc::Status no_port(const std::string& port) {
    return {grpc::StatusCode::NOT_FOUND, "no port " + port + "; ports are eth0, eth1"};
  }
  static v1::Ecn ecn_row() {
    v1::Ecn e;
    e.set_port("eth0");
    e.set_tc(3);
    e.set_enabled(true);
    e.set_lossless(true);
    e.set_kmin_bytes(100'000);
    e.set_kmax_bytes(400'000);
    e.set_pmax(0.2);
    e.set_ewma_shift(4);
    e.set_point("enqueue");
    e.set_ect0(9'000'000);
    e.set_selected(1'000);
    e.set_marked(990);
    e.set_failed(10);
    return e;
  }
};

struct Result {
  int code = -1;
  std::string out;
  std::string err;
};

// losslessctl with a run directory of its own; `serve` puts the fake server where instance `default` is.
class Bench {
 public:
  ~Bench() { stop(); }

  void serve(const std::string& instance = "default") {
    std::filesystem::create_directories(folder.path() / instance);
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + socket(instance), grpc::InsecureServerCredentials());
    builder.RegisterService(&service);
    server_ = builder.BuildAndStart();
    if (server_ == nullptr) throw std::runtime_error("no server on " + socket(instance));
  }

  void stop() {
    if (server_ == nullptr) return;
    server_->Shutdown(std::chrono::system_clock::now());
    server_->Wait();
    server_.reset();
  }

  std::string socket(const std::string& instance = "default") const {
    return (folder.path() / instance / "api.sock").string();
  }

  Result run(const std::vector<std::string>& args) {
    std::ostringstream out;
    std::ostringstream err;
    Environment env{.out = out,
                    .err = err,
                    .out_is_terminal = terminal,
                    .out_columns = columns,
                    .run_dir = folder.path().string(),
                    .netns_dir = (folder.path() / "netns").string(),
                    .variable = [this](const char* name) -> std::optional<std::string> {
                      const auto found = variables.find(name);
                      return found == variables.end() ? std::nullopt : std::optional(found->second);
                    },
                    .now = [this] { return clock; },
                    .sleep = [this](std::chrono::milliseconds time) { clock += time; }};
    const int code = cli::run(args, env);
    return {code, out.str(), err.str()};
  }

  TemporaryFolder folder;
  FakeService service;
  bool terminal = false;
  unsigned columns = 0;
  std::map<std::string, std::string> variables;
  std::chrono::steady_clock::time_point clock;

 private:
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace lossless::cli
